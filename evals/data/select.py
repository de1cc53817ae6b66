"""Which cases of a dataset are run: by id, by tag, a seeded part that is spread evenly over conversations, and one of n shares."""

from __future__ import annotations

import difflib
import random
from collections.abc import Sequence
from dataclasses import dataclass

from evals.data.dataset import Cases
from evals.errors import WorkbenchError


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to run of a split. All that is given holds at once: first ids and tags, then the limit, then the share.

    Attributes:
        ids: Only these cases; () for all.
        tags: Only cases with one of these tags; () for all.
        limit: At most so many, from 1; None for all.
        shard: (k, n): the k-th of n shares, k from 1 to n; None for all.
        seed: Decides which cases a limit leaves.
    """

    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    limit: int | None = None
    shard: tuple[int, int] | None = None
    seed: int = 0


def select(cases: Cases, selection: Selection, *, whole: bool = False) -> Cases:
    """Return the selected cases, in their own order.

    Args:
        cases: The cases of a split.
        selection: Which.
        whole: Whether to leave the share aside, for what all shares make together.

    Raises:
        WorkbenchError: An id or tag does not occur, nothing is left, or a number is out of range.
    """
    chosen = _with_ids(cases, selection.ids)
    if selection.tags:
        chosen = _with_tags(chosen, selection.tags)
    chosen = sample(chosen, selection.limit, selection.seed)
    if selection.shard is None or whole:
        return chosen
    number, count = selection.shard
    if not 1 <= number <= count:
        raise WorkbenchError(f"a share must be k/n with k from 1 to n, got {number}/{count}")
    if count > len(chosen):
        raise WorkbenchError(f"{len(chosen)} cases cannot be cut into {count} shares; use --shard k/n with n up to {len(chosen)}")
    return chosen.pick(range(number - 1, len(chosen), count))


def _with_ids(cases: Cases, ids: Sequence[str]) -> Cases:
    if not ids:
        return cases
    there = set(cases.ids)
    for name in ids:
        if name not in there:
            near = difflib.get_close_matches(name, there, 3)
            raise WorkbenchError(f"there is no case {name!r} in this split" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    wanted = set(ids)
    return cases.pick(i for i, name in enumerate(cases.ids) if name in wanted)


def _with_tags(cases: Cases, tags: Sequence[str]) -> Cases:
    seen: set[str] = set()
    wanted = set(tags)
    places = []
    for i, case in enumerate(cases):
        seen.update(case.tags)
        if not wanted.isdisjoint(case.tags):
            places.append(i)
    absent = [tag for tag in tags if tag not in seen]
    if absent:
        raise WorkbenchError(f"no chosen case has the tag {absent[0]!r}; there are: {', '.join(sorted(seen)) or 'none'}")
    return cases.pick(places)


def sample(cases: Cases, limit: int | None, seed: int) -> Cases:
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
        return cases
    queues: dict[str, list[int]] = {}
    for index, conversation in enumerate(cases.conversations):
        queues.setdefault(conversation, []).append(index)
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
    return cases.pick(sorted(chosen))
