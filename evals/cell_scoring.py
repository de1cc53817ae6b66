"""One cell of a run -> its row of the report: replies read, candidates matched, outcomes counted, figures computed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from evals.calibration.figures import Items, consistency_band, keep_figures, reliability
from evals.calibration.grade import Graded, grade_figures
from evals.cases import Case
from evals.data.dataset import Cases
from evals.errors import RunError
from evals.matching.base import Matcher
from evals.matching.tables import VerdictTables, score_grids
from evals.metrics.counts import count_case
from evals.metrics.dates import date_counts
from evals.metrics.figures import FIGURES, f_beta
from evals.metrics.intervals import intervals_of, salience_statistics
from evals.metrics.leaks import LeakFinder
from evals.metrics.outcomes import FALSE_POSITIVES, MATCHED, CaseOutcome, Table, decide, unsaid, with_support
from evals.metrics.slices import SliceTallies
from evals.metrics.tables import match_cases
from evals.metrics.tally import Tally
from evals.prices import Price
from evals.requests import RequestHasher, input_hash
from evals.results import CaseResults, CellResult, Excluded, Salience, Scored, Slice
from evals.rubric import Rubric
from evals.runindex import RunIndex
from evals.runlog import Record
from evals.signature import MatcherId, Signature
from evals.stats import Figure, Interval
from evals.stats.bootstrap import Statistic
from evals.support import Claim, SupportJudge
from evals.usage import Usage
from salience import Candidate, Policy, Reply, RequestBuilder, Turn, read_results

_CHUNK = 256
"""Cases whose pairs go to the matcher in one call: enough for vectors and judges to work in batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """How to score.

    Attributes:
        matcher: Decides which prediction is which memory.
        matcher_id: What signatures say of it.
        rubric: Which labels count.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
        tables: A file where verdicts are looked up and kept, or None.
        by: What to slice by, each of `evals.metrics.slices.BY`.
        support: Is asked whether the conversation bears out a prediction that matches nothing; None leaves that open.
    """

    matcher: Matcher
    matcher_id: MatcherId
    rubric: Rubric = Rubric()  # noqa: RUF009  (an immutable value)
    resamples: int = 2000
    seed: int = 0
    tables: Path | None = None
    by: tuple[str, ...] = ()
    support: SupportJudge | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """A completed case with its candidates and the matcher's verdicts on them."""

    case: Case
    candidates: tuple[Candidate, ...]
    table: Table


Watch = Callable[[Matched], None]


@dataclass(frozen=True, slots=True)
class _Read:
    """A completed case before matching."""

    case: Case
    place: int
    repeat: int
    status: str
    candidates: tuple[Candidate, ...]
    reply: str | None
    turn: Turn


@dataclass(frozen=True, slots=True)
class _Decided:
    """A case with what became of its predictions: of those above the operating threshold, and of all."""

    read: _Read
    outcome: CaseOutcome
    whole: CaseOutcome
    answers: tuple[bool | None, ...] = ()  # of a judge of support, for the counted predictions that match no label


class CellScoring:
    """Scores one cell.

    Args:
        model: The cell's model.
        policy: Its policy, None for a baseline.
        cases: The run's cases.
        scorer: How to score.
        price: What the model's tokens cost, None where it is not known.
        watch: Sees each case that is scored, or None.
    """

    def __init__(
        self, model: str, policy: Policy | None, cases: Cases, scorer: Scorer, price: Price | None, watch: Watch | None = None
    ) -> None:
        self.model, self.policy, self.cases, self.scorer, self.watch = model, policy, cases, scorer, watch
        self.leaks = LeakFinder(policy) if policy is not None else None
        self.hasher, self.builder = RequestHasher(), None if policy is None else RequestBuilder(policy)
        self.excluded: dict[str, list[Excluded]] = {name: [] for name in ("missing", "failed", "unscored")}
        self.usage, self.repeats = Usage(price), 1
        self.tally = Tally(len(set(cases.conversations)))
        self.slices = SliceTallies(scorer.by, len(set(cases.conversations)))
        self.graded = array("d")  # of each matched memory in turn: given, labelled, length, and the number of its conversation
        self.results = CaseResults(cases)
        self.completed = bytearray(len(cases))
        self.found: dict[int, tuple[object, bool]] = {}  # only with repeats: what a case's first one found, and whether others differ

    def result(self, index: RunIndex, row: int, sign: Callable[[str, Policy | None, int, int, bool], Signature]) -> CellResult:
        """Return the row.

        Args:
            index: Finds the records of the run.
            row: Which of its cells this is.
            sign: Makes the signature from model, policy, the numbers of cases and conversations, and whether replies are lacking.

        Raises:
            RunError: What was sent for a case is not what its messages give now.
        """
        reads, self.repeats = self._reads(index, row), index.repeats
        scorer = self.scorer
        match = partial(score_grids, scorer.matcher) if scorer.tables is None else VerdictTables(scorer.matcher, scorer.tables).score
        while chunk := list(islice(reads, _CHUNK)):
            tables = match_cases([(read.case, read.candidates) for read in chunk], match)
            decided = [self._decide(read, table) for read, table in zip(chunk, tables, strict=True)]
            for one in self._judged([one for one in decided if one is not None]):
                self._add(one)
        figures, salience = self._figures()
        cost, spent = self.usage.costs
        tokens = self.usage.tokens
        return CellResult(
            model=self.model, policy=self.policy.name if self.policy else None,
            signature=sign(self.model, self.policy, sum(self.completed), len(self.tally), bool(self.excluded["missing"])),
            figures=figures, macro_f1=figures["macro_f1"].value, salience=salience,
            cases=self.results, totals=self.tally.totals,
            failed=tuple(self.excluded["failed"]), missing=tuple(self.excluded["missing"]), unscored=tuple(self.excluded["unscored"]),
            input_tokens=tokens[0], output_tokens=tokens[1], seconds=self.usage.seconds, cached=self.usage.cached, cost=cost, spent=spent,
            fallbacks=dict(self.usage.fallbacks), reasoning_only=self.usage.reasoning_only,
            flip_rate=sum(flip for _, flip in self.found.values()) / len(self.found) if self.found else None,
            slices=tuple(
                Slice(by=by, name=name, conversations=len(tally), figures=self._intervals(tally), totals=tally.totals)
                for by, name, tally in self.slices.all()
            ),
        )  # fmt: skip

    def _reads(self, index: RunIndex, row: int) -> Iterator[_Read]:
        for place, case in enumerate(self.cases):
            for repeat in range(index.repeats):
                read = self._read(case, place, repeat, index, row)
                if read is not None:
                    yield read

    def _read(self, case: Case, place: int, repeat: int, index: RunIndex, row: int) -> _Read | None:
        """A completed case, or None for one that is excluded."""
        turn = case.turn()
        hashes = [input_hash(case)] if self.builder is None else [self.hasher.hash(one) for one in self.builder.parts(turn)]
        found = [index.read(row, place, repeat, part) for part in range(len(hashes))]
        records = [record for record in found if record is not None]
        for record in records:  # what was answered was paid, whatever becomes of the case
            self.usage.add(record)
        for record in records:
            if record.error is not None and not record.answered:
                self.excluded["failed"].append(Excluded(case.id, record.error.kind, record.error.message))
                return None
        if len(records) < len(hashes):
            self.excluded["missing"].append(Excluded(case.id, "missing", "there is no reply yet"))
            return None
        for record, hashed in zip(records, hashes, strict=True):
            if record.request_hash != hashed:
                raise RunError(
                    f"case {case.id!r}: what was sent for it is not what its messages give now, so its reply answers another question; "
                    f"run it again, or score it with the data it was made from"
                )
        return self._read_replies(case, place, repeat, records, turn)

    def _read_replies(self, case: Case, place: int, repeat: int, records: Sequence[Record], turn: Turn) -> _Read:
        if any(record.error is not None for record in records):  # beyond the model's context: its limit, scored as nothing returned
            return _Read(case, place, repeat, "too_long", (), None, turn)
        rules = self.policy or Policy()
        # `observed` is scored as the model gave it, so the policy's default for it is kept out; a case's turn has none
        options = replace(rules.options, default_observed=None)
        replies = [Reply(record.reply or "", record.finish_reason) for record in records]
        result = read_results(rules, turn, replies, options)
        return _Read(case, place, repeat, result.status, result.candidates, result.reply.text, turn)

    def _decide(self, read: _Read, table: Table) -> _Decided | None:
        if table.unscored is not None:
            self.excluded["unscored"].append(Excluded(read.case.id, "unscored", table.unscored))
            return None
        if self.watch is not None:
            self.watch(Matched(read.case, read.candidates, table))
        rubric, margin = self.scorer.rubric, self.scorer.matcher.tie_margin
        threshold = (self.policy or Policy()).threshold
        outcome = decide(read.case, read.candidates, table, threshold=threshold, rubric=rubric, tie_margin=margin)
        whole = outcome
        if any(candidate.salience < threshold for candidate in read.candidates):
            whole = decide(read.case, read.candidates, table, threshold=0.0, rubric=rubric, tie_margin=margin)
        return _Decided(read, outcome, whole)

    def _judged(self, decided: Sequence[_Decided]) -> Sequence[_Decided]:
        """The cases with `unsupported` in place of `unmatched` where a judge says so."""
        judge = self.scorer.support
        if judge is None:
            return decided
        asked = [(place, row) for place, one in enumerate(decided) for row in unsaid(one.outcome)]
        said = judge.supported([Claim(decided[place].outcome.predictions[row].content, decided[place].read.case) for place, row in asked])
        answers: list[dict[int, bool | None]] = [{} for _ in decided]
        for (place, row), answer in zip(asked, said, strict=True):
            answers[place][row] = answer
        return [
            replace(one, outcome=with_support(one.outcome, known, judge.name), answers=tuple(known.values()))
            for one, known in zip(decided, answers, strict=True)
        ]

    def _add(self, one: _Decided) -> None:
        read, outcome, scorer = one.read, one.outcome, self.scorer
        extras = self._extras(read, outcome)
        if scorer.support is not None:
            matched = sum(entry.counted and entry.outcome in MATCHED for entry in outcome.predictions)
            extras["support_known"] = matched + sum(answer is not None for answer in one.answers)
            extras["support_lacking"] = one.answers.count(False)
        relations = scorer.matcher.tells_relations
        counts = count_case(read.case, outcome, status=read.status, rubric=scorer.rubric, extras=extras, relations=relations)
        items = [
            (prediction.salience, prediction.outcome == "hit")
            for prediction in one.whole.predictions
            if prediction.outcome == "hit" or (prediction.outcome in FALSE_POSITIVES and prediction.outcome != "duplicate")
        ]
        self.tally.add(read.case.conversation, counts, items)
        self.slices.add(read.case, counts, items)
        place = self.tally.place(read.case.conversation)
        for graded in graded_memories(read.case, one.whole):
            self.graded.extend((*graded, place))
        self.results.append(Scored(read.place, read.repeat, read.status, outcome, read.reply, tuple(counts.tolist()), tuple(items)))
        self.completed[read.place] = True
        if self.repeats > 1:
            self._compare(read.place, outcome)

    def _compare(self, place: int, outcome: CaseOutcome) -> None:
        """Note whether a repeat finds what the first one found."""
        false = any(prediction.counted and prediction.outcome in FALSE_POSITIVES for prediction in outcome.predictions)
        found = (frozenset(outcome.matched), false)
        first, _ = self.found.setdefault(place, (found, False))
        if first != found:
            self.found[place] = (first, True)

    def _extras(self, read: _Read, outcome: CaseOutcome) -> dict[str, float]:
        matcher = self.scorer.matcher
        counted = [candidate for candidate, entry in zip(read.candidates, outcome.predictions, strict=True) if entry.counted]
        leaked = self.leaks.leaks(counted, read.turn) if self.leaks else []
        golds = {memory.id: memory for memory in read.case.memories}
        kept = 0
        hits = []
        for entry in outcome.predictions:
            if entry.outcome == "hit" and entry.label is not None:
                gold = golds[entry.label]
                written = matcher.language_of(entry.content, read.case.language)
                hits.append((entry.content, written, gold))
                kept += written == matcher.language_of(gold.content, read.case.language)
        dated, right = date_counts(hits)
        extras: dict[str, float] = {"leaks": len(leaked), "leak_cases": float(bool(leaked)), "language_kept": kept}
        return extras | {"dated": dated, "dated_right": right}

    def _intervals(self, tally: Tally, more: Mapping[str, Statistic] | None = None) -> dict[str, Interval]:
        scorer = self.scorer
        wanted: dict[str, Figure] = {**FIGURES, "f_beta": f_beta(scorer.rubric.beta)}
        return intervals_of(tally, wanted, resamples=scorer.resamples, seed=scorer.seed, more=more)

    def _figures(self) -> tuple[dict[str, Interval], Salience]:
        """The figures of the whole cell, and what its salience is worth; one resampling serves both."""
        tally, seed = self.tally, self.scorer.seed
        items = Items(np.array(tally.salience), np.array(tally.good, dtype=np.float64), np.array(tally.owner, dtype=np.int64))
        graded = np.array(self.graded).reshape(-1, 4)
        statistics = salience_statistics(items.salience, items.kept, items.owner, graded[:, [0, 1, 3]], len(tally))
        figures = self._intervals(tally, statistics)
        bounds = {name: figures.pop(name) for name in statistics}
        keep, grade = keep_figures(items, seed=seed), grade_figures(graded[:, :3])
        if not len(items):
            return figures, Salience(keep, grade, {}, {})
        return figures, Salience(keep, grade, reliability(items), consistency_band(items, seed=seed), bounds)


def graded_memories(case: Case, outcome: CaseOutcome) -> list[Graded]:
    """Return the matched memories of a case with their salience beside the labelled."""
    memories = {memory.id: memory for memory in case.memories}
    return [
        Graded(outcome.predictions[place].salience, memories[label].salience, len(memories[label].content))
        for label, place in outcome.matched.items()
    ]
