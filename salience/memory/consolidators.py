"""What is asked of a consolidator, and what is counted of its answers.

A `salience.Consolidator` is enough: `consolidate(fact, existing)` gets the fact's text and the memories nearest to it (`Known`), and
returns a decision. Beyond that, and as `salience.ModelConsolidator` does:

1. It may return a result that has the decision as `decision`, and perhaps `calls` (model calls), `invented` (ids that were never offered),
   `known_by` (the id of the memory behind NONE), and `fallback` (whether the decision is an ADD for want of a better one) with its
   `reason`. `consolidate_result`, where there is that, is used in place of `consolidate`.
2. It may have `consolidate_many(facts, existing)` for several at once: as many decisions, or something with them as `results`, and `calls`.
   They are applied in that order; a later one may name a memory that an earlier one updated.
3. Methods may be coroutine methods under an asynchronous host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """What the extractor and consolidator of a turn answered, and what they tell about it.

    Attributes:
        calls: Model calls that were told.
        known: Whether all answers told theirs.
        invented: Ids that a model named without having been offered them, as far as told.
        fallbacks: Facts that are added because no decision on them could be used. Whoever takes the decisions counts them.
        answers: The answers, in order.
    """

    calls: int = 0
    known: bool = True
    invented: int = 0
    fallbacks: int = 0
    answers: list[object] = field(default_factory=list)

    def add(self, answer: object) -> None:
        """Take in an answer."""
        self.answers.append(answer)
        invented = getattr(answer, "invented", 0)
        self.invented += invented if isinstance(invented, int) else 0
        calls = getattr(answer, "calls", None)
        if isinstance(calls, int):
            self.calls += calls
        else:
            self.known = False

    @property
    def total(self) -> int | None:
        """All calls, or None where not all were told."""
        return self.calls if self.known else None


def best_of(owner: object, *names: str) -> Callable[..., Any] | None:
    """Return the first of these methods that an object has, or None."""
    return next((method for name in names if callable(method := getattr(owner, name, None))), None)
