"""From messages to the body of a chat completion, and how to ask where a server refuses a parameter of it. Nothing is sent here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from salience.errors import OptionError
from salience.protocols import Message
from salience.providers.openai_errors import ProviderError
from salience.providers.openai_faults import UNSUPPORTED

WRAPPER_KEY = "items"
"""OpenAI takes only an object at a schema's root: another goes into one under this key, which the reading of replies unwraps."""

Form = Literal["bare", "wrapped", "loose", "none"]
Limit = Literal["max_tokens", "max_completion_tokens"]
_OTHER: Mapping[Limit, Limit] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_SCHEMA = re.compile(r"response_?format|json[ _-]?(?:schema|mode|object)|\bschema|guided|grammar|structured", re.IGNORECASE)
_REFUSALS, _MAYBE_REFUSALS = frozenset({400, 404, 422}), frozenset({500, 501})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for, as `chat` gets it.

    Raises:
        OptionError: A value is of the wrong type or out of range; the message names it.
    """

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.messages, str | Mapping) or not self.messages:
            raise OptionError(f"messages must be a non-empty sequence of {{role, content}} mappings, got {type(self.messages).__name__}")
        for position, message in enumerate(self.messages):
            if not isinstance(message, Mapping) or not all(isinstance(message.get(key), str) for key in ("role", "content")):
                raise OptionError(f"messages[{position}] must be a mapping with role and content, both strings")
        limit, heat = self.max_tokens, self.temperature
        if limit is not None and (type(limit) is not int or limit < 1):
            raise OptionError(f"max_tokens must be None or a whole number from 1 up, got {limit!r}")
        if heat is not None and (isinstance(heat, bool) or not isinstance(heat, int | float) or not 0 <= heat < math.inf):
            raise OptionError(f"temperature must be None or a number from 0 up, got {heat!r}")
        if self.schema is not None and not isinstance(self.schema, Mapping):
            raise OptionError(f"schema must be None or a mapping (a JSON schema), got {type(self.schema).__name__}")

    @property
    def schema_text(self) -> str:
        """The schema as text, to know it again."""
        return json.dumps(self.schema, default=str)


@dataclass(frozen=True, slots=True)
class Style:
    """How a call is put to the server.

    Attributes:
        limit: The name of the limit of tokens.
        form: The schema as it is, in an object where its root is none, the same but not strict, or left out.
        temperature: Whether the temperature is sent.
        is_other_limit: Whether the limit goes under its other name already, which is tried once.
    """

    limit: Limit = "max_tokens"
    form: Form = "bare"
    temperature: bool = True
    is_other_limit: bool = False


def encode(entry: Mapping[str, Any]) -> bytes:
    """Return a body as compact JSON in UTF-8; with escapes where it holds a lone surrogate, which UTF-8 cannot.

    Raises:
        OptionError: It holds what is no JSON.
    """
    try:
        try:
            return json.dumps(entry, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except UnicodeEncodeError:
            return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(f"the request is no JSON: {error}; check the schema, which must hold JSON values only") from None


def chat_body(model: str, asked: Asked, style: Style) -> bytes:
    """Return the body of a chat completion. What is None is not sent, nor are keys of a message other than role, content and name."""
    messages = [{key: message[key] for key in ("role", "content", "name") if key in message} for message in asked.messages]
    entry: dict[str, Any] = {"model": model, "messages": messages}
    if asked.max_tokens is not None:
        entry[style.limit] = asked.max_tokens
    if asked.temperature is not None and style.temperature:
        entry["temperature"] = asked.temperature
    if asked.schema is not None and style.form != "none":
        entry["response_format"] = _response_format(dict(asked.schema), style.form)
    return encode(entry)


def _response_format(schema: dict[str, Any], form: Form) -> dict[str, Any]:
    if form != "bare" and schema.get("type") != "object":
        schema = {"type": "object", "properties": {WRAPPER_KEY: schema}, "required": [WRAPPER_KEY], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": form != "loose" and is_strict(schema), "schema": schema}}


def is_strict(schema: Any) -> bool:
    """Return whether OpenAI may take a schema as strict: every object closed, and all its properties required."""
    if isinstance(schema, list | tuple):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    is_open = schema.get("additionalProperties") is not False
    if isinstance(properties, Mapping) and (is_open or set(schema.get("required", ())) != set(properties)):
        return False
    return all(map(is_strict, schema.values()))


def next_style(model: str, asked: Asked, style: Style, error: ProviderError) -> Style | None:
    """Return how to ask instead after a refusal, or None where the refusal is about nothing that could be done without.

    The parameter that the error names decides; where it names none, the parameter that its text mentions first.
    """
    if error.status not in _REFUSALS and not (error.status in _MAYBE_REFUSALS and UNSUPPORTED.search(error.said)):
        return None
    said = error.param or re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "", error.said)  # a model may be called after a parameter
    found = sorted((place, number, other) for number, (place, other) in enumerate(_steps(asked, style, said)))
    return found[0][2] if found else None


def _steps(asked: Asked, style: Style, said: str) -> Iterator[tuple[int, Style]]:
    """Yield each step that a text speaks of, with the place where it does."""
    if asked.max_tokens is not None and not style.is_other_limit and (match := re.search(rf"\b{style.limit}\b", said)):
        yield match.start(), replace(style, limit=_OTHER[style.limit], is_other_limit=True)
    if asked.schema is not None and style.form != "none" and (match := _SCHEMA.search(said)):
        yield match.start(), replace(style, form=_next_form(asked.schema, style.form))
    if asked.temperature is not None and style.temperature and (match := re.search(r"\btemperature\b", said, re.IGNORECASE)):
        yield match.start(), replace(style, temperature=False)


def _next_form(schema: Mapping[str, Any], form: Form) -> Form:
    if form == "bare" and schema.get("type") != "object":
        return "wrapped"
    if form in {"bare", "wrapped"} and is_strict(schema):
        return "loose"
    return "none"


class Learned:
    """What a server is known to take, from calls that succeeded after a refusal. Each schema and temperature is remembered for itself.

    Args:
        usual: How to ask where nothing is known.
    """

    def __init__(self, usual: Style) -> None:
        self._usual = usual
        self._limit = usual.limit
        self._refused_temperatures: set[float] = set()
        self._forms: dict[str, Form] = {}

    def style(self, asked: Asked) -> Style:
        """Return how to ask at first."""
        form = self._forms.get(asked.schema_text, self._usual.form) if asked.schema is not None else self._usual.form
        is_hot = asked.temperature not in self._refused_temperatures
        return Style(self._limit, form, is_hot, self._limit != self._usual.limit)

    def keep(self, asked: Asked, style: Style) -> None:
        """Remember what a call succeeded with after a refusal."""
        if asked.max_tokens is not None:
            self._limit = style.limit
        if asked.schema is not None:
            self._forms[asked.schema_text] = style.form
        if asked.temperature is not None and not style.temperature:
            self._refused_temperatures.add(asked.temperature)


def changes(asked: Asked, style: Style) -> tuple[str, ...]:
    """Return the names of what a request leaves out of what is asked for: "loose-schema", "no-schema", "no-temperature".

    The name of the limit and the wrapping of a schema change nothing. A loose schema is sent, but OpenAI does not promise to follow it.
    """
    left_out = (
        ("loose-schema", asked.schema is not None and style.form == "loose"),
        ("no-schema", asked.schema is not None and style.form == "none"),
        ("no-temperature", asked.temperature is not None and not style.temperature),
    )
    return tuple(name for name, is_so in left_out if is_so)
