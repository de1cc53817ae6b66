"""Which labels count, and how. A rubric is a value; its name stands in every signature."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any, Literal, get_args

from evals.cases import OPTIONAL_FROM, REQUIRED_FROM, About, Memory, Speaker
from evals.errors import WorkbenchError

Grade = Literal["required", "optional", "trivial"]


@dataclass(frozen=True, slots=True)
class Rubric:
    """What a team wants remembered.

    Attributes:
        name: Stands in signatures; two rubrics with different contents need different names.
        speakers: Statements of these speakers are due.
        abouts: Statements about these are due.
        required_from: From this labelled salience on a memory is required.
        optional_from: From this on it is optional, below it trivial.
        beta: How many times as much recall weighs as precision in `f_beta`; above 0, 1 gives F1.
    """

    name: str = "default"
    speakers: frozenset[str] = frozenset(get_args(Speaker))
    abouts: frozenset[str] = frozenset(get_args(About))
    required_from: float = REQUIRED_FROM
    optional_from: float = OPTIONAL_FROM
    beta: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.beta < float("inf"):
            raise WorkbenchError(f"a rubric needs a finite beta above 0, got {self.beta!r}")
        if not 0 <= self.optional_from <= self.required_from <= 1:
            raise WorkbenchError(
                f"a rubric needs 0 <= optional_from <= required_from <= 1, got {self.optional_from!r} and {self.required_from!r}"
            )

    def grade(self, memory: Memory) -> Grade:
        """Return how a memory counts. One that the rubric does not ask for is optional: returning it is no error."""
        if memory.speaker not in self.speakers or memory.about not in self.abouts:
            return "optional"
        if memory.salience >= self.required_from:
            return "required"
        return "optional" if memory.salience >= self.optional_from else "trivial"


RUBRICS = {
    rubric.name: rubric
    for rubric in (
        Rubric(),
        Rubric("user-only", speakers=frozenset({"user"})),
        Rubric("both-speakers", speakers=frozenset({"user", "assistant"})),
    )
}
"""The rubrics that ship, by name."""


def rubric_named(name: str) -> Rubric:
    """Return a rubric that ships, or one from a file.

    Args:
        name: A name, or the path of a TOML file (ending .toml) with any of the fields of `Rubric`; what it leaves out is as in the default.

    Raises:
        WorkbenchError: There is none of that name, or the file is none; the message tells what is allowed.
    """
    if name.endswith(".toml"):
        return _read(Path(name))
    if name not in RUBRICS:
        raise WorkbenchError(f"there is no rubric {name!r}; choose one of: {', '.join(RUBRICS)}, or write one in a file that ends in .toml")
    return RUBRICS[name]


_ALLOWED = {"speakers": get_args(Speaker), "abouts": get_args(About)}
_NUMBERS = ("required_from", "optional_from", "beta")


def _read(path: Path) -> Rubric:
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise WorkbenchError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise WorkbenchError(f"{path} cannot be read as UTF-8 text ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise WorkbenchError(f"{path} is not TOML: {error}") from None
    fields = [field.name for field in dataclass_fields(Rubric)]
    for name in content:
        if name not in fields:
            raise WorkbenchError(f"{path}: field {name} is not known; a rubric has {', '.join(fields)}")
    values: dict[str, Any] = {}
    for name, value in content.items():
        values[name] = _checked(path, name, value)
    given = values.get("name", path.stem)
    digest = hashlib.sha256(repr(sorted((key, sorted(one) if isinstance(one, frozenset) else one) for key, one in values.items())).encode())
    values["name"] = f"{given}-{digest.hexdigest()[:8]}"  # two rubrics of one name and other contents are not compared
    try:
        return Rubric(**values)
    except WorkbenchError as error:
        raise WorkbenchError(f"{path}: {error}") from None


def _checked(path: Path, name: str, value: object) -> object:
    if name in _ALLOWED:
        allowed = _ALLOWED[name]
        if not isinstance(value, list) or not value or not all(one in allowed for one in value):
            raise WorkbenchError(f"{path}: field {name} must be a list of one or more of {', '.join(allowed)}, got {value!r}")
        return frozenset(value)
    if name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise WorkbenchError(f"{path}: field {name} must be a number, got {value!r}")
        return float(value)
    if not isinstance(value, str) or not re.fullmatch(r"[\w.\-]{1,60}", value):
        raise WorkbenchError(f"{path}: field {name} must be 1 to 60 letters, digits, dots and dashes, got {value!r}")
    return value
