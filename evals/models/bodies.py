"""Request bodies in the words of OpenAI's interface. What the requests of a model share, prompt and schema, is written out once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evals.models.fallbacks import Asked, Style, sent_parameters

_KEPT = 256


class Bodies:
    """Writes the bodies of one model's requests.

    Args:
        model: The name that the server knows the model by.
    """

    def __init__(self, model: str) -> None:
        self._start = f'{{"model": {_text(model)}, "messages": ['
        self._messages: dict[tuple[tuple[str, str], ...], str] = {}
        self._asked: tuple[Any, ...] = ()
        self._rest = ""

    def body(self, asked: Asked, style: Style) -> bytes:
        """Return the body of a request, as UTF-8."""
        *before, last = asked.messages
        messages = ", ".join([*map(self._shared, before), _text(dict(last))])
        whole = f"{self._start}{messages}]{self._parameters(asked, style)}}}"
        try:
            return whole.encode()
        except UnicodeEncodeError:  # a lone surrogate, which only JSON's own escape can carry
            return json.dumps(json.loads(whole)).encode()

    def _shared(self, message: Mapping[str, str]) -> str:
        key = tuple(message.items())
        if key not in self._messages:
            if len(self._messages) >= _KEPT:
                self._messages.clear()
            self._messages[key] = _text(dict(message))
        return self._messages[key]

    def _parameters(self, asked: Asked, style: Style) -> str:
        """The members after the messages, each with a comma before it."""
        wanted = (asked.schema, asked.max_tokens, asked.temperature, asked.seed, style)
        if wanted != self._asked:
            self._rest = "".join(f", {_text(name)}: {_text(value)}" for name, value in sent_parameters(asked, style).items())
            self._asked = wanted
        return self._rest


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
