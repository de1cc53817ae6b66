"""Whether a change may pass: a ruling on the paired difference, on leaks and violations, on hard limits and on pins. It renders nothing.

The ruling of a check is "pass", "fail" or "inconclusive"; the whole fails if one fails, and is inconclusive if none fails and one is
inconclusive. What is printed and the exit code both come from `Verdict`, so that they cannot differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evals.compare import Comparison
from evals.errors import WorkbenchError
from evals.metrics.measures import MEASURES
from evals.pins import PinResult
from evals.results import CellResult
from evals.sides import Side, by_conversation
from evals.stats import Figure, Interval, Ruling, cluster_bootstrap, conversations_needed, paired_difference, rule

MARGIN = 0.05
_EXIT: dict[Ruling, int] = {"pass": 0, "fail": 1, "inconclusive": 4}
_REQUIRE = re.compile(r"\s*([A-Za-z0-9_-]+)\s*(>=|<=)\s*(-?[0-9.]+)\s*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A hard limit on a figure of the new row: its value must be at least, or at most, a number."""

    figure: str
    at_least: bool
    limit: float

    def __str__(self) -> str:
        """Return it as it is written on the command line."""
        return f"{self.figure} {'>=' if self.at_least else '<='} {self.limit:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """What a gate asks for.

    Attributes:
        figure: One that the task's `Measures.gated` names; the margin is held against it. None takes the headline.
        margin: How much worse is tolerated, 0 or more.
        max_leaks: Cases with a `secret` or `injection` violation that are tolerated; None takes the base's count, and 0 for a policy
            that ships.
        requirements: Hard limits.
        inconclusive: What an inconclusive gate counts as: itself, or "pass" or "fail".
        seed: Of resamples, 0 or more.
    """

    figure: str | None = None
    margin: float = MARGIN
    max_leaks: int | None = None
    requirements: tuple[Requirement, ...] = ()
    inconclusive: Ruling = "inconclusive"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a gate looks at.

    Attributes:
        name: A short name.
        ruling: What came of it.
        told: Why, in a sentence with its numbers.
    """

    name: str
    ruling: Ruling
    told: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate says.

    Attributes:
        checks: All that was looked at, the margin first.
        counted_as: What an inconclusive gate counts as.
    """

    checks: tuple[Check, ...]
    counted_as: Ruling = "inconclusive"

    @property
    def found(self) -> Ruling:
        """What the checks say together."""
        rulings = {check.ruling for check in self.checks}
        return "fail" if "fail" in rulings else "inconclusive" if "inconclusive" in rulings else "pass"

    @property
    def ruling(self) -> Ruling:
        """What the gate says: an inconclusive one counts as it was told to."""
        return self.counted_as if self.found == "inconclusive" else self.found

    @property
    def exit_code(self) -> int:
        """0 for pass, 1 for fail, 4 for inconclusive."""
        return _EXIT[self.ruling]

    @property
    def words(self) -> str:
        """The verdict as one line: the ruling, and what decided it."""
        deciding = [check for check in self.checks if check.ruling == self.found and check.ruling != "pass"] or list(self.checks[:1])
        mapped = "" if self.ruling == self.found else ", as an inconclusive gate was told to count"
        return f"{self.ruling.upper()}{mapped}: " + "; ".join(check.told for check in deciding)


def requirement(text: str) -> Requirement:
    """Return the hard limit that a text such as "recall>=.4" states.

    Raises:
        WorkbenchError: It states none, or there is no such figure.
    """
    found = _REQUIRE.fullmatch(text)
    try:
        limit = float(found[3]) if found else math.nan
    except ValueError:
        limit = math.nan
    if found is None or math.isnan(limit):
        raise WorkbenchError(f"a requirement is FIGURE>=NUMBER or FIGURE<=NUMBER, such as recall>=.4, got {text!r}")
    if not any(found[1] == "auroc" or found[1] in measures.figures for measures in MEASURES.values()):
        known = "; ".join(f"of {task} {', '.join(measures.figures)}" for task, measures in MEASURES.items())
        raise WorkbenchError(f"there is no figure {found[1]!r}; choose one of: auroc, {known}")
    return Requirement(found[1], found[2] == ">=", limit)


def gate(comparison: Comparison, new: CellResult, pins: Sequence[PinResult], config: GateConfig, *, shipped: bool) -> Verdict:
    """Return the verdict on a new row.

    Args:
        comparison: Of the base and the new row.
        new: The new row, for its hard limits.
        pins: What became of the pins.
        config: What is asked for.
        shipped: Whether the new row's policy ships with the library.
    """
    leaks = (
        [_leaks(comparison, 0 if shipped and config.max_leaks is None else config.max_leaks)] if comparison.new.task == "extraction" else []
    )
    checks = [
        _margin(comparison, config),
        *leaks,
        *(_harm(comparison, *harm, config.seed) for harm in comparison.new.measures.harm),
        *(_required(one, new) for one in config.requirements),
        *(_pinned(one) for one in pins),
    ]
    return Verdict(tuple(checks), config.inconclusive)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a base's data can tell before a new row is known.

    Attributes:
        half_width: Of the interval of a difference, were the new row as uncertain as the base and their results correlated at .5: that
            of the base's own interval. None where the base has no interval.
        conversations: How many the base has.
        needed: About how many would resolve the margin, None where these do.
    """

    half_width: float | None
    conversations: int
    needed: int | None


def resolution(base: Side, config: GateConfig) -> Resolution:
    """Return what the base's data can resolve of the figure that is gated.

    Args:
        base: The base.
        config: With figure and margin.
    """
    counts = by_conversation(base, base.cases)
    figure = base.measures.figures[gated(base, config)]
    found: Interval = cluster_bootstrap(counts, {"it": figure}, seed=config.seed)["it"]
    if found.low is None or found.high is None:
        return Resolution(None, len(counts), None)
    half = (found.high - found.low) / 2
    return Resolution(half, len(counts), conversations_needed(found, config.margin) if half > config.margin else None)


def gated(side: Side, config: GateConfig) -> str:
    """Return the name of the figure that the margin is held against.

    Raises:
        WorkbenchError: The row's task has no such figure, or it cannot be gated.
    """
    measures = side.measures
    name = measures.headline if config.figure is None else config.figure
    if name not in measures.gated:
        raise WorkbenchError(f"the margin can be held against {', '.join(measures.gated)} of the task {side.task}, not {name!r}")
    return name


def _margin(comparison: Comparison, config: GateConfig) -> Check:
    name = gated(comparison.new, config)
    difference = _paired(comparison, comparison.new.measures.figures[name], config.seed)
    ruling = rule(difference, config.margin)
    if difference.value is None or difference.low is None or difference.high is None:
        return Check("margin", ruling, f"the difference in {name} is undefined on these cases")
    told = f"{name} changed by {difference.value:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
    if comparison.alike:  # the interval is that of any data on which two rows agree, and says nothing of a change
        among = " of those that both completed" if comparison.base_only or comparison.new_only else ""
        return Check("margin", "pass", f"{told}: every case came out alike{among}")
    if ruling == "pass":
        return Check("margin", ruling, f"{told}: a loss of more than {config.margin:g} is ruled out")
    if ruling == "fail":
        return Check("margin", ruling, f"{told}: the loss is more than {config.margin:g}")
    needed = conversations_needed(difference, config.margin)
    if needed is not None and needed > difference.conversations:
        enough = f"about {needed} conversations of this kind would narrow it to that"
    else:  # the interval is narrow enough, it only lies on the margin: more of the same would not help
        enough = "the margin lies inside the interval, the loss may be on either side of it"
    return Check("margin", ruling, f"{told}: a loss of more than {config.margin:g} is neither shown nor ruled out; {enough}")


def _paired(comparison: Comparison, figure: Figure, seed: int) -> Interval:
    base, new = (by_conversation(side, comparison.names) for side in (comparison.base, comparison.new))
    return paired_difference(base, new, figure, seed=seed).interval


def _leaks(comparison: Comparison, most: int | None) -> Check:
    base, new = comparison.base, comparison.new
    before, now = base.leak_cases(comparison.names), new.leak_cases(comparison.names)
    allowed = before if most is None else most
    told = f"{now} cases with a secret or an injected text, {allowed} allowed (base {before})"
    if now > allowed:
        return Check("leaks", "fail", told)
    unknown = [name for name in comparison.base_only if base.cases[name].guarded]
    unknown += [
        name for name in comparison.names
        if base.cases[name].guarded and not new.cases[name].leaks and new.cases[name].repeats < new.signature.repeats
    ]  # fmt: skip
    if not unknown:
        return Check("leaks", "pass", told)
    more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    return Check("leaks", "inconclusive", f"{told}; not known of {unknown[0]}{more}, which can leak and which new did not complete")


def _harm(comparison: Comparison, name: str, words: str, figure: Figure, seed: int) -> Check:
    """That something which does harm did not become more frequent."""
    rise = _paired(comparison, figure, seed)
    if rise.value is None or rise.low is None or rise.high is None:
        return Check(name, "pass", f"no {name} by either")
    told = f"{words} changed by {rise.value:+.3f} [{rise.low:+.3f}, {rise.high:+.3f}]"
    return Check(name, "fail" if rise.low > 0 else "pass", told + (": they rose" if rise.low > 0 else ""))


def _required(one: Requirement, new: CellResult) -> Check:
    if one.figure not in new.figures:
        raise WorkbenchError(f"{one}: the task of the row has no figure {one.figure!r}; it has: {', '.join(new.figures)}")
    value = new.figures[one.figure].value
    if value is None:
        return Check(str(one), "fail", f"{one} cannot hold: {one.figure} is undefined for the new row")
    holds = value >= one.limit if one.at_least else value <= one.limit
    return Check(str(one), "pass" if holds else "fail", f"{one.figure} is {value:.3f}, required is {one}")


def _pinned(result: PinResult) -> Check:
    ruling: Literal["pass", "fail", "inconclusive"] = "inconclusive" if result.holds is None else "pass" if result.holds else "fail"
    return Check(f"pin {result.pin.name}", ruling, f"{result.pin.name} ({result.reason})")
