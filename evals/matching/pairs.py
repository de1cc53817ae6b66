"""Reads the labelled pairs that matchers are tuned and measured on. It says nothing about how to match.

The file is JSON Lines: one object a line with `predicted`, `gold`, `match`, `phenomenon`, `language` (of the gold),
`predicted_language` and `half`. Thresholds and guards see the `dev` half only; agreement is reported on the `report` half.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from evals.errors import DataError
from evals.matching.base import Pair

Half = Literal["dev", "report"]
FILES = ("pairs", "hard", "natural")
"""The files of pairs that ship, without their ending: written to test matchers, written to be hard, and of what models returned."""
HALVES: tuple[str, ...] = get_args(Half)
PHENOMENA = (
    "paraphrase", "subject-naming", "negation", "number", "date", "unit", "entity-swap", "antonym", "tense-status", "hedging",
    "partial", "over-general", "merged", "role-order", "ordinal", "passive", "cross-language", "unrelated", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A prediction and a gold statement with people's answer to "do they say the same?".

    Attributes:
        predicted: The prediction.
        gold: The labelled statement.
        match: Whether a fair judge gives full credit.
        phenomenon: What the pair tests, one of `PHENOMENA`.
        language: ISO 639-1 code of the gold.
        predicted_language: ISO 639-1 code of the prediction.
        half: "dev" (for choosing thresholds) or "report" (for measuring).
    """

    predicted: str
    gold: str
    match: bool
    phenomenon: str
    language: str
    predicted_language: str
    half: Half

    @property
    def cross(self) -> bool:
        """Whether prediction and gold are in different languages."""
        return self.language != self.predicted_language

    @property
    def near_miss(self) -> bool:
        """Whether the two are close in wording and not the same fact; pairs with nothing in common are "unrelated"."""
        return not self.match and self.phenomenon != "unrelated"

    def pair(self) -> Pair:
        """Return the pair as a matcher gets it."""
        return Pair(self.predicted, (self.gold,), self.language)


def bundled_pairs(name: str = "pairs") -> Path:
    """Return where labelled pairs that ship lie: in a checkout's `datasets/matching`, else inside the installed package.

    Args:
        name: One of `FILES`.

    Raises:
        DataError: They are in neither place.
    """
    package = Path(__file__).resolve().parents[1]
    places = [folder / "matching" / f"{name}.jsonl" for folder in (package.parent / "datasets", package / "_data")]
    for place in places:
        if place.is_file():
            return place
    raise DataError(f"The labelled pairs are missing: neither {places[0]} nor {places[1]} exists. Reinstall, or pass --pairs FILE.")


def weights_at(pairs: Sequence[LabelledPair], near_misses: float) -> list[float]:
    """Return a weight for each pair such that near misses have this share of all weight, and matches keep theirs beside the others.

    Args:
        pairs: Labelled pairs.
        near_misses: The share, 0 to 1.

    Returns:
        Weights that add up to the number of pairs; all 1 where there are no near misses, or nothing else.
    """
    near = sum(pair.near_miss for pair in pairs)
    if not 0 < near < len(pairs):
        return [1.0] * len(pairs)
    each, other = len(pairs) * near_misses / near, len(pairs) * (1 - near_misses) / (len(pairs) - near)
    return [each if pair.near_miss else other for pair in pairs]


def pairs_hash(pairs: Iterable[LabelledPair]) -> str:
    """Return the SHA-256 of the pairs' content in order, hexadecimal; the layout of the file does not enter."""
    digest = hashlib.sha256()
    for pair in pairs:
        row = [getattr(pair, field.name) for field in fields(pair)]
        digest.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def read_pairs(path: Path) -> list[LabelledPair]:
    """Read a file of labelled pairs.

    Args:
        path: A JSON Lines file in UTF-8; blank lines are skipped. A line needs `predicted`, `gold`, `match` and `language`; without
            them `predicted_language` is the language, `phenomenon` "other" and `half` "report".

    Returns:
        The pairs in the file's order.

    Raises:
        DataError: The file cannot be read, is empty, a line is not a pair, or a pair comes twice; the message names file, line and
            field, what was given and what is allowed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}; give a JSON Lines file of labelled pairs.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} cannot be read as UTF-8 text ({error}); give a JSON Lines file of labelled pairs.") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise DataError(f"{path} holds no pairs; it must have one JSON object a line.")
    pairs = [_pair(line, f"{path}, line {number}") for number, line in lines]
    first: dict[tuple[str, str], int] = {}
    for (number, _), pair in zip(lines, pairs, strict=True):
        before = first.setdefault((pair.predicted, pair.gold), number)
        if before != number:
            raise DataError(f"{path}, line {number}: this is the pair of line {before}; a pair may come once.")
    return pairs


_NEEDED = ("predicted", "gold", "match", "language")


def _pair(line: str, where: str) -> LabelledPair:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: this is not JSON ({error}).") from error
    if not isinstance(row, dict):
        raise DataError(f"{where}: a line must hold one object, got {type(row).__name__}.")
    names = [field.name for field in fields(LabelledPair)]
    for name in row:
        if name not in names:
            raise DataError(f"{where}, field {name!r}: is not known; a pair has {', '.join(names)}.")
    for name in _NEEDED:
        if name not in row:
            raise DataError(f"{where}, field {name}: is missing; a pair needs {', '.join(_NEEDED)}.")
    row = {"predicted_language": row["language"], "phenomenon": "other", "half": "report"} | row
    _check(row, where)
    return LabelledPair(**row)


def _check(row: dict[str, Any], where: str) -> None:
    for name in ("predicted", "gold"):
        if not isinstance(row[name], str) or not row[name].strip():
            raise DataError(f"{where}, field {name}: must be a non-empty string, got {row[name]!r}.")
    if not isinstance(row["match"], bool):
        raise DataError(f"{where}, field match: must be true or false, got {row['match']!r}.")
    for name in ("language", "predicted_language"):
        value = row[name]
        if not (isinstance(value, str) and len(value) == 2 and value.isascii() and value.isalpha() and value.islower()):
            raise DataError(f'{where}, field {name}: must be an ISO 639-1 code such as "en", got {value!r}.')
    for name, allowed in (("phenomenon", PHENOMENA), ("half", HALVES)):
        if row[name] not in allowed:
            raise DataError(f"{where}, field {name}: must be one of {', '.join(allowed)}; got {row[name]!r}.")
