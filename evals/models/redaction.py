"""Keys and credentials out of every text: those that are known, and whatever looks like one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

_TextOrBytes = TypeVar("_TextOrBytes", str, bytes)

_LOOKS_SECRET = re.compile(
    r"\b(?:sk|rk|pk)-[\w-]{6,}|\bAIza[\w-]{16,}|\b(?:gsk_|hf_|xai-|r8_|nvapi-)[\w-]{16,}"
    r"|(?<=Bearer )[^\s\"',]+|(?<=[?&]key=)[^&\s\"']+|(?<=://)[^/@\s]+(?=@)"
)
_SECRET_NAMES = ("_API_KEY", "_TOKEN", "_SECRET", "_KEY")
_SHORTEST = 8
_HIDDEN = "[redacted]"


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """Return the values of variables whose name says that they are a secret (`_API_KEY`, `_TOKEN`, `_SECRET`, `_KEY` at its end)."""
    return [value.strip() for name, value in environ.items() if name.upper().endswith(_SECRET_NAMES)]


class Secrets:
    """Values that no text may show. Placeholders under 8 characters are none.

    Args:
        values: The secrets; None and "" are left out.
    """

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        known = {value for value in values if value and len(value) >= _SHORTEST}
        known |= {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for value in known for ascii_only in (True, False)}
        self._texts = sorted(known, key=len, reverse=True)  # a longer one first, as it may hold a shorter
        self._bytes = [text.encode("utf-8", "surrogateescape") for text in self._texts]

    def __repr__(self) -> str:
        """Return how many, and none of them."""
        return f"Secrets({len(self._texts)})"

    def and_also(self, values: Iterable[str]) -> Secrets:
        """Return these and more."""
        return Secrets([*self._texts, *values])

    def hide(self, text: _TextOrBytes) -> _TextOrBytes:
        """Return text without the known secrets, and otherwise word for word."""
        if isinstance(text, bytes):
            for data in self._bytes:
                text = text.replace(data, _HIDDEN.encode())
            return text
        for secret in self._texts:
            text = text.replace(secret, _HIDDEN)
        return text

    def redact(self, text: str) -> str:
        """Return text without the known secrets, without what looks like one, and without credentials in addresses."""
        return _LOOKS_SECRET.sub(_HIDDEN, self.hide(text))
