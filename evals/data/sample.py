"""A seeded part of a dataset, spread evenly over conversations."""

from __future__ import annotations

import random
from collections.abc import Sequence

from evals.cases import Case
from evals.errors import WorkbenchError


def sample(cases: Sequence[Case], limit: int | None, seed: int) -> tuple[Case, ...]:
    """Return at most `limit` cases, in their own order.

    Conversations are shuffled by the seed and give one case each in turn, so that a small limit touches as many as it can.

    Args:
        cases: All cases.
        limit: How many at the most, from 1; None for all.
        seed: Decides which.

    Raises:
        WorkbenchError: The limit is below 1.
    """
    if limit is not None and limit < 1:
        raise WorkbenchError(f"the limit must be 1 or more, got {limit}")
    if limit is None or limit >= len(cases):
        return tuple(cases)
    queues: dict[str, list[int]] = {}
    for index, case in enumerate(cases):
        queues.setdefault(case.conversation, []).append(index)
    chooser = random.Random(seed)
    order = sorted(queues)
    chooser.shuffle(order)
    for name in order:
        chooser.shuffle(queues[name])
    chosen: list[int] = []
    while len(chosen) < limit:
        for name in order:
            if queues[name] and len(chosen) < limit:
                chosen.append(queues[name].pop())
    return tuple(cases[index] for index in sorted(chosen))
