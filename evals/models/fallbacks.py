"""What to do where a server refuses a parameter: ask under its other name, in another form, or without it, and say so. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from evals.models.http_faults import ErrorBody
from salience.protocols import Message

WRAPPER_KEY = "memories"
"""OpenAI refuses an array at the root of a schema: the array goes into an object under this key, which the reading of replies unwraps."""
REFUSALS = frozenset({400, 404, 422})
"""The statuses with which servers refuse a parameter."""
MAYBE_REFUSALS = frozenset({500, 501})
"""Statuses with which some servers do so too; only the message tells."""
UNSUPPORTED = re.compile(
    r"not (?:yet )?(?:supported|implemented|allowed)|unsupported|unrecogni[sz]ed|unknown (?:field|param)", re.IGNORECASE
)

Form = Literal["bare", "wrapped", "none"]
LimitName = Literal["max_tokens", "max_completion_tokens"]
_OTHER_LIMIT: Mapping[LimitName, LimitName] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_SCHEMA = re.compile(r"response_?format|json[ _-]?(?:schema|mode|object)|\bschema|guided|grammar|structured", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for, as `Model.chat` gets it."""

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    max_tokens: int | None
    temperature: float | None
    seed: int | None


@dataclass(frozen=True, slots=True)
class Style:
    """How a call is put to the server.

    Attributes:
        limit: The name of the limit of tokens.
        form: The form of the schema: as it is, in an object where its root is none, or left out.
        temperature: Whether the temperature is sent.
        seed: Whether the seed is sent.
        is_other_limit: Whether the limit goes under the other name already, which is tried once.
    """

    limit: LimitName = "max_tokens"
    form: Form = "bare"
    temperature: bool = True
    seed: bool = True
    is_other_limit: bool = False


def sent_parameters(asked: Asked, style: Style) -> dict[str, Any]:
    """Return all of a request but model and messages, in the words of OpenAI's interface. What is None is not sent."""
    temperature, seed = asked.temperature if style.temperature else None, asked.seed if style.seed else None
    pairs = ((style.limit, asked.max_tokens), ("temperature", temperature), ("seed", seed))
    sent: dict[str, Any] = {key: value for key, value in pairs if value is not None}
    if asked.schema is not None and style.form != "none":
        sent["response_format"] = _response_format(dict(asked.schema), style.form)
    return sent


def _response_format(schema: dict[str, Any], form: Form) -> dict[str, Any]:
    if form == "wrapped" and schema.get("type") != "object":
        schema = {"type": "object", "properties": {WRAPPER_KEY: schema}, "required": [WRAPPER_KEY], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": WRAPPER_KEY, "strict": is_strict(schema), "schema": schema}}


def is_strict(schema: Any) -> bool:
    """Return whether OpenAI takes a schema as strict: every object closed, and all its properties required."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    return all(map(is_strict, schema.values()))


def next_style(asked: Asked, style: Style, told: ErrorBody) -> Style | None:
    """Return how to ask instead after a refusal, or None where the refusal is about nothing that could be done without.

    The parameter that the error names decides; where it names none, the parameter that its message mentions first.
    """
    found = sorted((place, number, other) for number, (place, other) in enumerate(_steps(asked, style, told.param or told.message)))
    return found[0][2] if found else None


def _steps(asked: Asked, style: Style, said: str) -> Iterator[tuple[int, Style]]:
    """Yield each step that a text speaks of, with the place where it does."""
    if asked.max_tokens is not None and not style.is_other_limit and (match := re.search(rf"\b{style.limit}\b", said)):
        yield match.start(), replace(style, limit=_OTHER_LIMIT[style.limit], is_other_limit=True)
    if asked.schema is not None and style.form != "none" and (match := _SCHEMA.search(said)):
        wrapping = style.form == "bare" and asked.schema.get("type") != "object"
        yield match.start(), replace(style, form="wrapped" if wrapping else "none")
    if asked.temperature is not None and style.temperature and (match := re.search(r"\btemperature\b", said, re.IGNORECASE)):
        yield match.start(), replace(style, temperature=False)
    if asked.seed is not None and style.seed and (match := re.search(r"\b(?:random_)?seed\b", said, re.IGNORECASE)):
        yield match.start(), replace(style, seed=False)


class Learned:
    """What a server is known to take, from calls that succeeded.

    A schema and a temperature are remembered each for itself: that one policy's schema is refused says nothing about another's, and what
    a call is asked with must not depend on which policy came before.

    Args:
        usual: How to ask where nothing is known.
    """

    def __init__(self, usual: Style) -> None:
        self._usual = usual
        self._limit = usual.limit
        self._takes_seed = True
        self._refused_temperatures: set[float] = set()
        self._forms: dict[str, Form] = {}

    def style(self, asked: Asked) -> Style:
        """Return how to ask at first."""
        if not (self._forms or self._refused_temperatures) and self._takes_seed and self._limit == self._usual.limit:
            return self._usual
        form = self._forms.get(json.dumps(asked.schema), self._usual.form)
        return replace(
            self._usual,
            limit=self._limit,
            form=form,
            temperature=asked.temperature not in self._refused_temperatures,
            seed=self._takes_seed,
            is_other_limit=self._limit != self._usual.limit,
        )

    def keep(self, asked: Asked, style: Style) -> None:
        """Remember what a call succeeded with after a refusal."""
        if asked.max_tokens is not None:
            self._limit = style.limit
        if asked.schema is not None and style.form != self._usual.form:
            self._forms[json.dumps(asked.schema)] = style.form
        if asked.temperature is not None and not style.temperature:
            self._refused_temperatures.add(asked.temperature)
        if asked.seed is not None and not style.seed:
            self._takes_seed = False

    def fallbacks(self, asked: Asked, style: Style) -> tuple[str, ...]:
        """Return the names of what a request leaves out or changes of what is asked for. The name of the limit changes nothing."""
        left_out = (
            ("wrapped-schema", asked.schema is not None and style.form == "wrapped" != self._usual.form),
            ("no-schema", asked.schema is not None and style.form == "none"),
            ("no-temperature", asked.temperature is not None and not style.temperature),
            ("no-seed", asked.seed is not None and not style.seed),
        )
        return tuple(name for name, is_so in left_out if is_so)
