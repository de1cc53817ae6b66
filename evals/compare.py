"""Two rows on the same cases: paired differences, the cases that won and lost and why, slices. What follows from it is `evals.gate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evals.errors import IncompleteError, RunError
from evals.metrics.intervals import ENOUGH, undefined
from evals.sides import FalseMemory, Side, SideCase, by_conversation
from evals.stats import (
    FEW,
    Figure,
    Interval,
    PairedDifference,
    WeightedAuroc,
    cluster_bootstrap_items,
    holm,
    paired_difference,
    smallest_detectable,
)
from evals.stats.figures import Floats
from evals.stats.resampling import rows_per_chunk

FALL_OUT = 0.05
"""Above this share of cases that only one of the two completed, the two are not compared."""
_SAME = 1e-9
_AUROC_SWAPS = 2000


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure of both sides.

    Attributes:
        name: As in `evals.metrics.measures`, or "auroc".
        base: Its value on the cases that both completed; None where undefined.
        new: Likewise.
        difference: New minus base, with its paired interval.
        p: Two-sided permutation p; None where undefined.
        detectable: The smallest true difference that these cases show as significant four times in five.
    """

    name: str
    base: float | None
    new: float | None
    difference: Interval
    p: float | None
    detectable: float | None


@dataclass(frozen=True, slots=True)
class SliceChange:
    """The headline of both sides (F1) over some of the cases.

    Attributes:
        by: "tag", "language" or "length".
        name: Which.
        cases: Of both, in it.
        conversations: Likewise.
        change: The difference; its interval is not adjusted.
        adjusted_p: P after Holm over all slices large enough to test; None for the others.
    """

    by: str
    name: str
    cases: int
    conversations: int
    change: FigureChange
    adjusted_p: float | None

    @property
    def too_small(self) -> bool:
        """Whether it has too few conversations to test."""
        return self.conversations < FEW


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case whose score, or what was found or wrongly returned in it, is another.

    Attributes:
        case: Its id.
        base: F1 within the case, or whether a case without memories is clean, 0 to 1.
        new: Likewise.
        gained: Required memories that are found now (in more repeats than before).
        lost: Those that are not found any more (or in fewer repeats).
        added: False memories that were not there before.
        removed: Those that are gone.
        statuses: How replies could be read, before and now, where that differs; else empty.
    """

    case: str
    base: float
    new: float
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    added: tuple[FalseMemory, ...]
    removed: tuple[FalseMemory, ...]
    statuses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows on the cases that both completed.

    Attributes:
        base: The first.
        new: The second.
        cases: How many are compared.
        conversations: Likewise.
        base_only: Cases that only the first completed.
        new_only: Cases that only the second completed.
        figures: What changed, the headline first.
        slices: Likewise by slice.
        changes: The cases that changed, the worst losses first, then the best gains.
        wins: Cases with a higher score.
        losses: Cases with a lower one.
        ties: The others.
    """

    base: Side
    new: Side
    cases: int
    conversations: int
    base_only: tuple[str, ...]
    new_only: tuple[str, ...]
    figures: tuple[FigureChange, ...]
    slices: tuple[SliceChange, ...]
    changes: tuple[CaseChange, ...]
    wins: int
    losses: int
    ties: int

    @property
    def worse(self) -> tuple[CaseChange, ...]:
        """The cases with a lower score, the worst first."""
        return tuple(one for one in self.changes if one.new - one.base < -_SAME)

    @property
    def better(self) -> tuple[CaseChange, ...]:
        """The cases with a higher score, the best first."""
        return tuple(one for one in self.changes if one.new - one.base > _SAME)

    @property
    def moved(self) -> tuple[CaseChange, ...]:
        """The cases that changed at one and the same score, as where one memory was lost and another found."""
        return tuple(one for one in self.changes if abs(one.new - one.base) <= _SAME)

    @property
    def alike(self) -> bool:
        """Whether no compared case differs in anything that is counted."""
        return all(self.base.cases[name].counts == self.new.cases[name].counts for name in self.names)

    @property
    def names(self) -> list[str]:
        """The cases that are compared."""
        return [name for name in self.base.cases if name in self.new.cases]

    def figure(self, name: str) -> FigureChange:
        """Return one figure's change."""
        return next(one for one in self.figures if one.name == name)


def compare(
    base: Side, new: Side, *, by: Sequence[str] = (), seed: int = 0, resamples: int = 2000, permutations: int = 10_000
) -> Comparison:
    """Compare two rows, paired by conversation.

    Args:
        base: What was.
        new: What is.
        by: What to slice by: "tag", "language", "length".
        seed: Of resamples and permutations, 0 or more.
        resamples: Of each interval.
        permutations: Of each p; AUROC's is worked out from 2,000 at most.

    Raises:
        RunError: They cannot be compared: other data, split, rubric or matcher, or too many cases that only one of them holds.
        IncompleteError: Too many cases failed or are missing on one side.
    """
    common, base_only, new_only = _paired_cases(base, new)

    def change(name: str, figure: Figure, names: Sequence[str]) -> FigureChange:
        one, other = by_conversation(base, names), by_conversation(new, names)
        found = paired_difference(one, other, figure, resamples=resamples, permutations=permutations, seed=seed)
        return _change(name, _value(figure, one), _value(figure, other), found)

    measures = base.measures
    figures = [change(name, measures.figures[name], common) for name in measures.compared]
    always = measures.compared[: measures.always]
    measured = [one for one in figures if one.name in always or not (one.base is None and one.new is None)]
    if base.task == "extraction":
        measured.append(_auroc(base, new, common, seed, (resamples, permutations)))
    changes = [found for name in common if (found := _case_change(base.cases[name], new.cases[name])) is not None]
    scores = [new.cases[name].score - base.cases[name].score for name in common]
    return Comparison(
        base=base, new=new, cases=len(common), conversations=len({base.cases[name].conversation for name in common}),
        base_only=base_only, new_only=new_only, figures=tuple(measured),
        slices=_slices(base, common, by, lambda names: change(measures.headline, measures.figures[measures.headline], names)),
        changes=tuple(sorted(changes, key=lambda one: (one.new - one.base >= 0, -abs(one.new - one.base), one.case))),
        wins=sum(score > _SAME for score in scores), losses=sum(score < -_SAME for score in scores),
        ties=sum(abs(score) <= _SAME for score in scores),
    )  # fmt: skip


def check_comparable(base: Side, new: Side) -> None:
    """Raise if the signatures forbid a comparison.

    Raises:
        RunError: Data, split, rubric or matcher differ; the message says how, and what to do.
    """
    if base.task != new.task:
        raise RunError(f"{base.label} and {new.label} cannot be compared: the task of one is {base.task}, of the other {new.task}")
    obstacles = base.signature.obstacles(new.signature)
    if not obstacles:
        return
    one, other = base.signature, new.signature
    told = {
        "data": [f"{side.data.name} {side.data.version} ({side.data.hash})" for side in (one, other)],
        "split": [one.split, other.split],
        "rubric": [one.rubric, other.rubric],
        "matcher": [f"{side.matcher.id} {side.matcher.version}" for side in (one, other)],
    }
    differ = "; ".join(f"{name}: {' and '.join(told[name])}" for name in obstacles)
    raise RunError(
        f"{base.label} and {new.label} cannot be compared, they differ in {differ}. Scores are comparable on one data set, split, rubric "
        "and matcher only: run or score both alike"
    )


def _paired_cases(base: Side, new: Side) -> tuple[list[str], tuple[str, ...], tuple[str, ...]]:
    check_comparable(base, new)
    common = [name for name in base.cases if name in new.cases]
    base_only = tuple(name for name in base.cases if name not in new.cases)
    new_only = tuple(name for name in new.cases if name not in base.cases)
    alone, union = len(base_only) + len(new_only), len(common) + len(base_only) + len(new_only)
    if not common:
        raise RunError(f"{base.label} and {new.label} have no completed case in common")
    if alone > FALL_OUT * union:
        failed = any(side.left_out.get(name) for side, names in ((base, new_only), (new, base_only)) for name in names)
        raise (IncompleteError if failed else RunError)(
            f"{alone} of {union} cases were completed by one side only ({len(base_only)} by {base.label}, {len(new_only)} by {new.label}), "
            f"more than {FALL_OUT:.0%}: what is left may not stand for the whole. {_why(base, new_only)}{_why(new, base_only)}"
            "Run both on the same cases, or repeat failed calls with --retry-errors"
        )
    return common, base_only, new_only


def _why(side: Side, names: Iterable[str]) -> str:
    kinds = [side.left_out.get(name, "not in the run") for name in names]
    told = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    return f"In {side.label}: {told}. " if told else ""


def _value(figure: Figure, counts: Floats) -> float | None:
    value = float(figure(counts.sum(axis=0)[None])[0])
    return None if np.isnan(value) else value


def _change(name: str, base: float | None, new: float | None, found: PairedDifference) -> FigureChange:
    return FigureChange(name, base, new, found.interval, found.p, smallest_detectable(found.interval))


def _auroc(base: Side, new: Side, names: Sequence[str], seed: int, draws: tuple[int, int]) -> FigureChange:
    places: dict[str, int] = {}
    for name in names:
        places.setdefault(base.cases[name].conversation, len(places))

    def items(side: Side, first: int = 0) -> list[tuple[float, bool, int]]:
        return [
            (salience, hit, first + places[side.cases[name].conversation]) for name in names for salience, hit in side.cases[name].items
        ]

    if any(min(hits, count - hits) < ENOUGH for hits, count in (_hits(base, names), _hits(new, names))):
        return FigureChange("auroc", None, None, undefined(len(places)), None, None)
    one, other = _area(items(base)), _area(items(new))

    def gained(weights: Floats) -> Floats:
        return np.asarray(other(weights) - one(weights), dtype=np.float64)

    found = cluster_bootstrap_items({"auroc": gained}, len(places), resamples=draws[0], seed=seed)["auroc"]
    whole = np.ones((1, len(places)))
    before, after = (None if np.isnan(value) else value for value in (float(one(whole)[0]), float(other(whole)[0])))
    p = None
    if found.value is not None:
        p = _swapped_p(_area(items(base) + items(new, len(places))), len(places), abs(found.value), min(draws[1], _AUROC_SWAPS), seed)
    return FigureChange("auroc", before, after, found, p, smallest_detectable(found))


def _area(items: Sequence[tuple[float, bool, int]]) -> WeightedAuroc:
    return WeightedAuroc([one[0] for one in items], [one[1] for one in items], [one[2] for one in items])


def _swapped_p(both: WeightedAuroc, conversations: int, seen: float, permutations: int, seed: int) -> float:
    """Two-sided p as of `evals.stats.paired`, by swapping whole conversations; `both` holds the items of base, then those of new."""
    generator = np.random.default_rng([seed, 2])  # a stream apart from those of resamples and of other figures' swaps
    chunk = rows_per_chunk(max(2 * conversations, both.width))
    reached = defined = 0
    for start in range(0, permutations, chunk):
        swapped = generator.integers(0, 2, size=(min(chunk, permutations - start), conversations)).astype(np.float64)
        values = np.abs(both(np.hstack([swapped, 1 - swapped])) - both(np.hstack([1 - swapped, swapped])))
        defined += int(np.isfinite(values).sum())
        reached += int((values >= seen - _SAME).sum())
    return (reached + 1) / (defined + 1)


def _hits(side: Side, names: Sequence[str]) -> tuple[int, int]:
    items = [hit for name in names for _, hit in side.cases[name].items]
    return sum(items), len(items)


def _slices(
    side: Side, names: Sequence[str], by: Sequence[str], change: Callable[[Sequence[str]], FigureChange]
) -> tuple[SliceChange, ...]:
    members: dict[tuple[str, str], list[str]] = {}
    for name in names:
        case = side.cases[name]
        of: Mapping[str, tuple[str, ...]] = {"tag": case.tags, "language": (case.language,), "length": (case.length,)}
        for one in by:
            for slice_name in dict.fromkeys(of[one]):
                members.setdefault((one, slice_name), []).append(name)
    ordered = sorted(members.items(), key=lambda item: (by.index(item[0][0]), -len(item[1]), item[0][1]))
    found = [(key, inside, len({side.cases[name].conversation for name in inside}), change(inside)) for key, inside in ordered]
    adjusted = holm([one.p if conversations >= FEW else None for _, _, conversations, one in found])
    return tuple(
        SliceChange(*key, len(inside), conversations, one, p) for (key, inside, conversations, one), p in zip(found, adjusted, strict=True)
    )


def _case_change(base: SideCase, new: SideCase) -> CaseChange | None:
    """Return what changed in a case; repeats are compared as shares, so that the two sides may have different numbers of them."""
    names = dict.fromkeys([*base.found, *new.found])
    shares = {name: (base.found.get(name, 0) / base.repeats, new.found.get(name, 0) / new.repeats) for name in names}
    gained = tuple(name for name, (one, other) in shares.items() if other > one)
    lost = tuple(name for name, (one, other) in shares.items() if other < one)
    added = tuple(one for one in new.false if one not in base.false)
    removed = tuple(one for one in base.false if one not in new.false)
    statuses = (
        () if set(base.statuses) == set(new.statuses) else (", ".join(sorted(set(base.statuses))), ", ".join(sorted(set(new.statuses))))
    )
    if not (gained or lost or added or removed or statuses) and abs(new.score - base.score) <= _SAME:
        return None
    return CaseChange(base.id, base.score, new.score, gained, lost, added, removed, statuses)
