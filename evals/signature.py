"""Where a score comes from, as one short line that parses back. It records; whether a run is good is not its business.

A line is fields `key:value` joined by `|`, always all of them and in one order:

    salience|data:core-0.1.0-1a2b3c4d5e6f|split:test|n:90/36|rubric:user-only|matcher:embedding-1|kappa:0.84,provisional|...

Within a value, a percent sign, a bar, white space and whatever does not print is percent-escaped as UTF-8, and in the last
parts of a value joined by hyphens the hyphen is too, so that any content comes back: `Signature.parse(str(signature)) == signature`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import unquote

from evals.errors import WorkbenchError

_HEAD = "salience"
_NONE = "none"
_KEYS = (
    "data", "split", "n", "rubric", "matcher", "kappa", "policy", "model", "max_tokens", "temperature",
    "repeats", "seed", "openings", "version",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DatasetId:
    """Which data.

    Attributes:
        name: The dataset's name.
        version: Its version.
        hash: The first 12 hexadecimal digits, in lower case, of the hash of its cases.
    """

    name: str
    version: str
    hash: str


@dataclass(frozen=True, slots=True)
class MatcherId:
    """Which matcher, and how well it agrees with people.

    Attributes:
        id: The matcher's name.
        version: Its version, a dot, and a digest of all that decides its verdicts: thresholds, weights, encoders, a judge's model.
        kappa: Agreement with the labelled pairs, -1 to 1, or None where it was not measured.
        provisional: Whether the pairs behind `kappa` and the thresholds are still few.
    """

    id: str
    version: str
    kappa: float | None
    provisional: bool


@dataclass(frozen=True, slots=True)
class PolicyId:
    """Which policy.

    Attributes:
        name: The policy's name.
        hash: The hash of its content.
    """

    name: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Everything that a score depends on.

    Attributes:
        data: The dataset.
        split: "train", "dev" or "test", or another name.
        cases: Cases scored; 0 or more.
        conversations: Conversations they belong to; 0 or more.
        limited: Whether the run covers a part of the split only.
        rubric: The name of the rubric.
        matcher: The matcher.
        policy: The policy, or None where there is none, as for a baseline.
        model: The model's name ("openai/gpt-x", "gguf:model.gguf").
        max_tokens: The longest reply asked for; 1 or more, or None where none was asked for.
        temperature: Of sampling; 0 or more, or None where none was asked for.
        repeats: Replies a case; 1 or more.
        seed: Of the model's sampling and the resampling.
        openings: How often this project's log says that the test data was opened, this time included; None on other splits.
        version: The workbench's version.

    Raises:
        WorkbenchError: A number is out of range, or the data's hash is not 12 hexadecimal digits; the message names the field.
    """

    data: DatasetId
    split: str
    cases: int
    conversations: int
    limited: bool
    rubric: str
    matcher: MatcherId
    policy: PolicyId | None
    model: str
    max_tokens: int | None
    temperature: float | None
    repeats: int
    seed: int
    openings: int | None
    version: str

    def __post_init__(self) -> None:
        _require("data", re.fullmatch("[0-9a-f]{12}", self.data.hash), self.data.hash, "a hash of 12 hexadecimal digits in lower case")
        _require("n", min(self.cases, self.conversations) >= 0, f"{self.cases}/{self.conversations}", "two numbers from 0 up")
        kappa = self.matcher.kappa
        _require("kappa", kappa is None or -1 <= kappa <= 1, kappa, "a number from -1 to 1, or none")
        _require("max_tokens", self.max_tokens is None or self.max_tokens >= 1, self.max_tokens, "a number from 1 up, or none")
        heat = self.temperature
        _require("temperature", heat is None or (math.isfinite(heat) and heat >= 0), heat, "a number from 0 up, or none")
        _require("openings", self.openings is None or self.openings >= 0, self.openings, "a number from 0 up, or none")
        _require("repeats", self.repeats >= 1, self.repeats, "a number from 1 up")

    def __str__(self) -> str:
        """Return the signature as one line that `parse` reads."""
        data, matcher, policy = self.data, self.matcher, self.policy
        values = (
            _joined(data.name, data.version, data.hash),
            _escape(self.split),
            f"{self.cases}/{self.conversations}" + (",limited" if self.limited else ""),
            _escape(self.rubric),
            _joined(matcher.id, matcher.version),
            _number(matcher.kappa) + (",provisional" if matcher.provisional else ""),
            _joined(policy.name, policy.hash) if policy else _NONE,
            _escape(self.model),
            _number(self.max_tokens),
            _number(self.temperature),
            str(self.repeats),
            str(self.seed),
            _number(self.openings),
            _escape(self.version),
        )
        return "|".join([_HEAD, *(f"{key}:{value}" for key, value in zip(_KEYS, values, strict=True))])

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Read a signature.

        Args:
            text: A line as `str(signature)` gives it.

        Returns:
            The signature.

        Raises:
            WorkbenchError: The text is no such line; the message names the field.
        """
        fields = _Fields(text)
        name, version, digest = fields.parts("data", 3)
        matcher, matcher_version = fields.parts("matcher", 2)
        size, limited = fields.flagged("n", "limited")
        kappa, provisional = fields.flagged("kappa", "provisional")
        cases, slash, conversations = size.partition("/")
        _require("n", slash, size, "cases/conversations, such as 90/36")
        policy = None if fields.raw["policy"] == _NONE else PolicyId(*fields.parts("policy", 2))
        tokens, temperature, openings = (fields.raw[key] for key in ("max_tokens", "temperature", "openings"))
        signature = cls(
            data=DatasetId(name, version, digest),
            split=fields.text("split"),
            cases=_whole("n", cases),
            conversations=_whole("n", conversations),
            limited=limited,
            rubric=fields.text("rubric"),
            matcher=MatcherId(matcher, matcher_version, None if kappa == _NONE else _real("kappa", kappa), provisional),
            policy=policy,
            model=fields.text("model"),
            max_tokens=None if tokens == _NONE else _whole("max_tokens", tokens),
            temperature=None if temperature == _NONE else _real("temperature", temperature),
            repeats=_whole("repeats", fields.raw["repeats"]),
            seed=_whole("seed", fields.raw["seed"]),
            openings=None if openings == _NONE else _whole("openings", openings),
            version=fields.text("version"),
        )
        for key, value in _Fields(str(signature)).raw.items():  # one spelling only: equal signatures are equal lines
            _require(key, fields.raw[key] == value, fields.raw[key], f"spelled {value!r}")
        return signature

    def obstacles(self, other: Signature) -> list[str]:
        """Return what forbids comparing scores under the two signatures: of "data", "split", "rubric" and "matcher" those that differ.

        The data's hash and the matcher's id and version count; names and agreement do not. Empty if they can be compared.
        """
        pairs = {
            "data": (self.data.hash, other.data.hash),
            "split": (self.split, other.split),
            "rubric": (self.rubric, other.rubric),
            "matcher": ((self.matcher.id, self.matcher.version), (other.matcher.id, other.matcher.version)),
        }
        return [name for name, (mine, theirs) in pairs.items() if mine != theirs]


class _Fields:
    """The fields of a line as they stand, and how to read one."""

    def __init__(self, text: str) -> None:
        head, *fields = text.split("|")
        _require("the head", head == _HEAD, head, f"{_HEAD!r}, as in 'salience|data:...'")
        pairs = [field.partition(":") for field in fields]
        for position, key in enumerate(_KEYS):
            found = pairs[position][0] if position < len(pairs) else "nothing"
            _require(key, found == key and pairs[position][1], found, f"'{key}:...' as field {position + 1}")
        _require("the end", len(pairs) == len(_KEYS), "|".join(fields[len(_KEYS) :]), f"nothing after {_KEYS[-1]!r}")
        self.raw = {key: value for key, _, value in pairs}

    def text(self, key: str) -> str:
        return _unescape(key, self.raw[key])

    def parts(self, key: str, count: int) -> list[str]:
        parts = self.raw[key].rsplit("-", count - 1)
        _require(key, len(parts) == count, self.raw[key], f"{count} parts joined by hyphens")
        return [_unescape(key, part) for part in parts]

    def flagged(self, key: str, flag: str) -> tuple[str, bool]:
        value, comma, found = self.raw[key].partition(",")
        _require(key, found == flag or not comma, self.raw[key], f"a value, and ',{flag}' or nothing after it")
        return value, bool(comma)


def _require(field: str, holds: object, given: object, allowed: str) -> None:
    if not holds:
        raise WorkbenchError(f"signature: {field} must be {allowed}, got {given!r}. Copy the whole line as the report prints it.")


def _escape(text: str, extra: str = "") -> str:
    def one(character: str) -> str:
        if character.isprintable() and not character.isspace() and character not in "%|" + extra:
            return character
        return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))

    return "".join(map(one, text))


def _joined(first: str, *rest: str) -> str:
    return "-".join([_escape(first), *(_escape(part, "-") for part in rest)])


def _unescape(field: str, text: str) -> str:
    try:
        return unquote(text, errors="surrogatepass")
    except UnicodeDecodeError:
        raise WorkbenchError(f"signature: {field} holds a percent escape that is no UTF-8: {text!r}") from None


def _number(value: float | None) -> str:
    return _NONE if value is None else repr(value).removesuffix(".0")


def _whole(field: str, text: str) -> int:
    _require(field, re.fullmatch("-?[0-9]{1,4000}", text), text, "a whole number")
    return int(text)


def _real(field: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise WorkbenchError(f"signature: {field} must be a number or none, got {text!r}") from None
