"""Which labels count, and how. A rubric is a value; its name stands in every signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

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
    """Return a rubric that ships.

    Raises:
        WorkbenchError: There is none of that name; the message lists the names.
    """
    if name not in RUBRICS:
        raise WorkbenchError(f"there is no rubric {name!r}; choose one of: {', '.join(RUBRICS)}")
    return RUBRICS[name]
