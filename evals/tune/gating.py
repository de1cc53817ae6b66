"""Whether a tuned prompt may be called better: paired differences on test against everything it has to beat, and what may not rise.

Pure: rows in, rulings out. Opening test, and the log of that, is up to the command.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from evals.compare import Comparison, FigureChange, compare
from evals.errors import WorkbenchError
from evals.metrics.measures import MEASURES
from evals.setups import Task
from evals.sides import Side, by_conversation
from evals.stats import holm, paired_difference

Verdict = Literal["pass", "fail", "inconclusive"]
LEVEL = 0.05
"""Of the adjusted p, below which a gain counts."""
_FEWEST = 10
"""Conversations in a language below which nothing is ruled on it."""
_EXIT: Mapping[str, int] = {"pass": 0, "fail": 1, "inconclusive": 4}


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain over one policy.

    Attributes:
        over: Its name.
        change: Of the headline, on the primary cases.
        whole: The same on all languages.
        adjusted_p: After Holm over everything judged together; None where undefined.
        harm: What rose that may not, in words, "" for nothing.
    """

    over: str
    change: FigureChange
    whole: FigureChange
    adjusted_p: float | None = None
    harm: str = ""

    @property
    def shown(self) -> bool:
        """Whether there is a gain: the lower bound is above zero, and the adjusted p below `LEVEL`."""
        low, p = self.change.difference.low, self.adjusted_p
        return low is not None and low > 0 and p is not None and p < LEVEL

    @property
    def refuted(self) -> bool:
        """Whether a gain is ruled out."""
        high = self.change.difference.high
        return high is not None and high <= 0


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the gate says of one tuned prompt.

    Attributes:
        figure: The headline that was looked at.
        primary: The language of the primary cases, or "all".
        cases: How many primary cases.
        conversations: Likewise.
        gains: Over each policy.
        baselines: Baseline -> its value and the tuned prompt's, on the primary cases.
        languages: Language -> base and tuned values, for all that have cases.
    """

    figure: str
    primary: str
    cases: int
    conversations: int
    gains: tuple[Gain, ...]
    baselines: Mapping[str, tuple[float | None, float | None]]
    languages: Mapping[str, tuple[float | None, float | None]]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not passed, in words; empty where it is."""
        told = [f"no gain over {one.over} is shown: {gain_text(one)}" for one in self.gains if not one.shown]
        told += [f"against {one.over} {one.harm}" for one in self.gains if one.harm]
        for name, (value, own) in self.baselines.items():
            if _value(own) <= _value(value):
                told.append(f"{name} scores {_value(value):.3f}, the tuned prompt {_value(own):.3f}")
        return tuple(told)

    @property
    def verdict(self) -> Verdict:
        """Pass where nothing speaks against it; fail where harm is seen, a gain is ruled out or a baseline is better; else inconclusive."""
        if not self.reasons:
            return "pass"
        beaten = any(_value(own) <= _value(value) for value, own in self.baselines.values())
        return "fail" if beaten or any(one.harm or one.refuted for one in self.gains) else "inconclusive"

    @property
    def exit_code(self) -> int:
        """Of the command."""
        return _EXIT[self.verdict]

    @property
    def called(self) -> str:
        """What the prompt may be called: "tuned", "few-shot" where it beats only one of the policies, or "" for nothing."""
        if self.verdict == "pass":
            return "tuned"
        return "few-shot" if any(one.shown and not one.harm for one in self.gains) else ""


def judge(task: Task, base: Mapping[str, Side], tuned: Side, baselines: Mapping[str, Side], *, seed: int, primary: str = "en") -> Ruling:
    """Return the ruling on one tuned prompt, p not yet adjusted.

    Args:
        task: "extraction" or "consolidation".
        base: The policies that it must beat, by name, on the test cases.
        tuned: The tuned prompt's row.
        baselines: The rows without a model.
        seed: Of resamples and permutations.
        primary: The language of the primary cases; where it has too few conversations all cases are.

    Raises:
        WorkbenchError: The rows cannot be compared.
    """
    figure = MEASURES[task].headline
    chosen = {name for name, case in tuned.cases.items() if case.language == primary}
    enough = len({tuned.cases[name].conversation for name in chosen}) >= _FEWEST
    names = chosen if enough else set(tuned.cases)
    own = _only(tuned, names)
    gains = []
    for name, side in base.items():
        found, whole = compare(_only(side, names), own, seed=seed), compare(side, tuned, seed=seed)
        gains.append(Gain(name, found.figure(figure), whole.figure(figure), None, _harm(whole)))
    if not gains:
        raise WorkbenchError("there is no policy to beat: give one with --against")
    measure = tuned.measures.figures[figure]
    values = {name: (_figure(measure, _only(side, names)), _figure(measure, own)) for name, side in baselines.items()}
    first = next(iter(base.values()))
    spoken = sorted({case.language for case in tuned.cases.values()})
    languages = {one: (_figure(measure, _of_language(first, one)), _figure(measure, _of_language(tuned, one))) for one in spoken}
    conversations = len({tuned.cases[name].conversation for name in names})
    return Ruling(figure, primary if enough else "all", len(names), conversations, tuple(gains), values, languages)


def together(rulings: Sequence[Ruling]) -> list[Ruling]:
    """Return rulings with p adjusted (Holm) over all gains of all of them."""
    adjusted = iter(holm([one.change.p for ruling in rulings for one in ruling.gains]))
    return [replace(ruling, gains=tuple(replace(one, adjusted_p=next(adjusted)) for one in ruling.gains)) for ruling in rulings]


def _only(side: Side, names: set[str]) -> Side:
    return replace(side, cases={name: case for name, case in side.cases.items() if name in names}, left_out={})


def _of_language(side: Side, language: str) -> Side:
    return _only(side, {name for name, case in side.cases.items() if case.language == language})


def _figure(measure: Any, side: Side) -> float | None:
    if not side.cases:
        return None
    value = float(measure(by_conversation(side, list(side.cases)).sum(axis=0)))
    return None if math.isnan(value) else value


def _harm(comparison: Comparison) -> str:
    """What rose significantly that may not, or a secret that leaks and did not."""
    told = []
    names = comparison.names
    sides = [by_conversation(side, names) for side in (comparison.base, comparison.new)]
    for _, words, figure in comparison.new.measures.harm:
        found = paired_difference(sides[0], sides[1], figure, seed=0)
        if found.interval.low is not None and found.interval.low > 0:
            told.append(f"{words} rose by {found.interval.value:.3f} [{found.interval.low:.3f}, {found.interval.high:.3f}]")
    leaks = [side.leak_cases(names) for side in (comparison.base, comparison.new)]
    if leaks[1] > leaks[0]:
        told.append(f"secrets or injected texts were kept in {leaks[1]} cases, before in {leaks[0]}")
    return "; ".join(told)


def gain_text(gain: Gain) -> str:
    """Return a gain with its interval and p."""
    interval = gain.change.difference
    if interval.value is None or interval.low is None or interval.high is None:
        return "undefined"
    p = "" if gain.adjusted_p is None else f", p {gain.adjusted_p:.3f}"
    return f"{interval.value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]{p}"


def detectable(comparison: Comparison, figure: str, conversations: int) -> float | None:
    """Return the smallest true gain that a test of so many conversations shows four times in five, told from dev.

    Args:
        comparison: Base and tuned on dev.
        figure: The headline.
        conversations: Of test; the standard error shrinks with the root of their number.
    """
    found = comparison.figure(figure).detectable
    return None if found is None or not conversations else found * math.sqrt(comparison.conversations / conversations)


def _value(value: float | None) -> float:
    return 0.0 if value is None else value
