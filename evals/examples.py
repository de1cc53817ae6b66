"""Examples for a policy, drawn from labelled train cases. No text is written: a case becomes an example as it stands."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from evals.cases import Case
from evals.errors import WorkbenchError
from evals.rubric import Rubric
from salience import Example

MOST_BYTES = 500
"""Longer turns (in UTF-8) are left out: eight examples must leave room in a small model's context."""
MOST_MEMORIES = 4


def as_example(case: Case) -> Example:
    """Return a case as an example: its turn, and a reply with its required memories, the most salient first."""
    due = sorted((memory for memory in case.memories if Rubric().grade(memory) == "required"), key=lambda memory: -memory.salience)
    items = [{"content": memory.content, "salience": memory.salience} for memory in due]
    return Example(case.turn(), json.dumps(items, ensure_ascii=False))


def suitable(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Return the (positive, negative) cases that are short enough; a positive one requires at most four memories."""
    short = [case for case in cases if len(case.turn().text.encode()) <= MOST_BYTES]
    required = {case.id: sum(Rubric().grade(memory) == "required" for memory in case.memories) for case in short}
    positive = [case for case in short if 1 <= required[case.id] <= MOST_MEMORIES]
    return positive, [case for case in short if case.negative]


def draw(cases: Sequence[Case], *, sets: int, size: int, negatives: int, seed: int) -> list[list[Case]]:
    """Return seeded, different sets of examples, each in shuffled order and with at most one case a conversation where that is possible.

    Args:
        cases: Train cases.
        sets: How many sets at the most.
        size: Examples in a set.
        negatives: How many of them are negative.
        seed: Decides which.

    Raises:
        WorkbenchError: There are not enough suitable cases.
    """
    if not 0 <= negatives <= size:
        raise WorkbenchError(f"negatives must be from 0 to the size of a set, {size}, got {negatives}")
    positive, negative = suitable(cases)
    if len(positive) < size - negatives or len(negative) < negatives:
        raise WorkbenchError(f"too few suitable train cases: {len(positive)} positive and {len(negative)} negative")
    chooser = random.Random(seed)
    found = []
    for _ in range(sets):
        chosen = _spread(positive, size - negatives, chooser) + _spread(negative, negatives, chooser)
        chooser.shuffle(chosen)
        if chosen not in found:
            found.append(chosen)
    return found


def _spread(cases: Sequence[Case], count: int, chooser: random.Random) -> list[Case]:
    shuffled = chooser.sample(list(cases), len(cases))
    firsts = {case.conversation: case.id for case in reversed(shuffled)}
    return sorted(shuffled, key=lambda case: firsts[case.conversation] != case.id)[:count]
