"""A key that shows nowhere, and texts without it. Nothing here knows where a key comes from or where it goes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NoReturn
from urllib.parse import quote

from salience.errors import OptionError

KEY_VARIABLE = "OPENAI_API_KEY"
_LOOKS_SECRET = re.compile(r"\b(?:sk|rk|pk)-[\w-]{6,}|(?<=Bearer )[^\s\"',]+|(?<=[?&]key=)[^&\s\"']+|(?<=://)[^/@\s]+(?=@)", re.IGNORECASE)
_HIDDEN = "[redacted]"
_SHORTEST_IN_REPLIES, _SHORTEST_IN_ERRORS = 8, 4


class Key:
    """A key that no repr shows and nothing pickles. It holds whatever it is given, so that no frame that raises has a key for a variable.

    Args:
        value: The key, or None for none given.
    """

    __slots__ = ("_value", "is_given")

    def __init__(self, value: str | None) -> None:
        self.is_given = value is not None
        self._value = value.strip() if isinstance(value, str) else value

    def __repr__(self) -> str:
        """Return whether there is one."""
        return "Key(hidden)" if self._value else "Key(none)"

    def __bool__(self) -> bool:
        """Return whether there is one."""
        return bool(self._value)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a client with a key cannot be pickled or copied, so that the key gets into no file: make one where it is used")

    def check(self) -> None:
        """Refuse what no HTTP header can hold.

        Raises:
            OptionError: It is no string, or holds such a character; the message does not show it.
        """
        if self._value is not None and not isinstance(self._value, str):
            raise OptionError(f"api_key must be a string or None, got {type(self._value).__name__}")
        if self._value and not (self._value.isascii() and self._value.isprintable() and " " not in self._value):
            raise OptionError(f"the key (api_key or {KEY_VARIABLE}) holds spaces, line breaks or letters that no key has; set it again")

    def reveal(self) -> str:
        """Return the key itself, "" for none: for the header of a request, never for a variable of a frame that may raise."""
        return self._value or ""


class Secrets:
    """Values that no text may show.

    Args:
        key: The key.
        values: What else is secret.
    """

    __slots__ = ("_values",)

    def __init__(self, key: Key, values: Iterable[str] = ()) -> None:
        known = {value for value in (key.reveal(), *values) if len(value) >= _SHORTEST_IN_ERRORS}
        forms = {form for value in known for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))}
        self._values = tuple(sorted(forms, key=len, reverse=True))  # a longer one first, as it may hold a shorter

    def __repr__(self) -> str:
        """Return how many, and none of them."""
        return f"Secrets({len(self._values)})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied.

        Raises:
            TypeError: Always.
        """
        raise TypeError("what is secret cannot be pickled or copied")

    def hide(self, text: str) -> str:
        """Return a model's text without the secrets, else word for word. Under 8 characters a key is a placeholder, and stays."""
        for value in self._values:
            if len(value) >= _SHORTEST_IN_REPLIES:
                text = text.replace(value, _HIDDEN)
        return text

    def redact(self, text: str, limit: int = 600) -> str:
        """Return the start of a text for an error's message: one line, without secrets, what looks like one, and control characters."""
        for value in self._values:
            text = text.replace(value, _HIDDEN)
        shown = _LOOKS_SECRET.sub(_HIDDEN, " ".join(text.split()))[:limit]  # hidden before it is cut, as cutting could leave a part
        return "".join(letter if letter.isprintable() else "\ufffd" for letter in shown)
