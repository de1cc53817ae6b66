"""A run folder and labelled cases -> a report. No model is called; the same run can be scored again at any time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evals.cases import Case
from evals.data.files import Dataset
from evals.errors import RunError
from evals.matching.base import Matcher, Pair
from evals.metrics.counts import COLUMNS, count_case, sum_by_conversation
from evals.metrics.dates import date_counts
from evals.metrics.figures import F1, FIGURES, f_beta
from evals.metrics.leaks import LeakFinder
from evals.metrics.outcomes import FALSE_POSITIVES, CaseOutcome, Table, decide
from evals.openings import count_openings
from evals.requests import baseline_hash, request_hash
from evals.results import CaseResult, CellResult, Excluded, Report
from evals.rubric import Rubric
from evals.runlog import Record, latest, read_manifest, read_records
from evals.signature import DatasetId, MatcherId, PolicyId, Signature
from evals.stats import Interval, WeightedAuroc, cluster_bootstrap, cluster_bootstrap_items
from evals.version import VERSION
from salience import Candidate, ExtractionResult, Policy, PolicyError, Reply, build_request, read_result
from salience.policy_file import policy_from_text

_OUT_OF_FIGURES = ("missing", "failed", "unscored")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """How to score.

    Attributes:
        matcher: Decides which prediction is which memory.
        matcher_id: What signatures say of it.
        rubric: Which labels count.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    matcher: Matcher
    matcher_id: MatcherId
    rubric: Rubric = Rubric()  # noqa: RUF009  (an immutable value)
    resamples: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Read:
    """A completed case before matching."""

    case: Case
    status: str
    candidates: tuple[Candidate, ...]
    record: Record


def score_run(folder: Path, dataset: Dataset, scorer: Scorer) -> Report:
    """Score every cell of a run.

    Args:
        folder: The run folder.
        dataset: The run's split of its data. Labels may have changed since the run; messages may not.
        scorer: How to score.

    Returns:
        The report.

    Raises:
        RunError: The folder is no run, or the data's messages are not those that were sent.
    """
    manifest = read_manifest(folder)
    records = latest(read_records(folder))
    by_id = {case.id: case for case in dataset.cases}
    wanted = manifest["data"]["cases"]
    gone = [case for case in wanted if case not in by_id]
    if gone:
        raise RunError(
            f"{folder}: case {gone[0]!r} and {len(gone) - 1} more of the run are not in the data; score it with the data it was made from"
        )
    cases = [by_id[case] for case in wanted]
    policies = _policies(manifest, folder)
    cells = []
    for cell in manifest["cells"]:
        policy = policies.get(cell["policy"])
        cells.append(_score_cell(cell["model"], policy, cases, records, dataset, manifest, scorer))
    return Report(str(folder), tuple(cells), tuple(_notices(manifest, dataset, cells)))


def _policies(manifest: Mapping[str, Any], folder: Path) -> dict[str, Policy]:
    try:
        return {
            digest: policy_from_text(json.dumps(content), where=f"{folder}: policy {content.get('name')!r}")
            for digest, content in manifest["policies"].items()
        }
    except PolicyError as error:
        raise RunError(str(error)) from None


def _score_cell(
    model: str, policy: Policy | None, cases: Sequence[Case], records: Mapping[Any, Record], dataset: Dataset,
    manifest: Mapping[str, Any], scorer: Scorer,
) -> CellResult:  # fmt: skip
    excluded: dict[str, list[Excluded]] = {name: [] for name in _OUT_OF_FIGURES}
    reads: list[_Read] = []
    kept: list[Record] = []
    for case in cases:
        record = records.get((model, policy.hash if policy else "", case.id, 0, 0))
        if record is None:
            excluded["missing"].append(Excluded(case.id, "missing", "there is no reply yet"))
            continue
        kept.append(record)
        if not record.answered and record.error is not None:
            excluded["failed"].append(Excluded(case.id, record.error.kind, record.error.message))
            continue
        _check_request(case, policy, record)
        reads.append(_read(case, policy, record))
    scored, items = _outcomes(reads, policy, scorer, excluded["unscored"])
    signature = _signature(model, policy, [result.case for result in scored], dataset, manifest, scorer)
    figures, macro = _figures(scored, items, scorer)
    return CellResult(
        model=model, policy=policy.name if policy else None, signature=signature, figures=figures, macro_f1=macro, cases=tuple(scored),
        failed=tuple(excluded["failed"]), missing=tuple(excluded["missing"]), unscored=tuple(excluded["unscored"]),
        input_tokens=_sum_known([record.input_tokens for record in kept]),
        output_tokens=_sum_known([record.output_tokens for record in kept]),
        seconds=sum(record.seconds for record in kept), cached=sum(record.cached for record in kept),
    )  # fmt: skip


def _check_request(case: Case, policy: Policy | None, record: Record) -> None:
    expected = baseline_hash(case) if policy is None else request_hash(build_request(policy, case.turn()))
    if record.request_hash != expected:
        raise RunError(
            f"case {case.id!r}: what was sent for it is not what its messages give now, so its reply answers another question; "
            f"run it again, or score it with the data it was made from"
        )


def _read(case: Case, policy: Policy | None, record: Record) -> _Read:
    if record.error is not None:  # beyond the model's context: the model's limit, scored as nothing returned
        return _Read(case, "too_long", (), record)
    rules = policy or Policy()
    # `observed` is scored as the model gave it, so the policy's default for it is kept out; a case's turn has none
    options = replace(rules.options, default_observed=None)
    result: ExtractionResult = read_result(rules, case.turn(), Reply(record.reply or "", record.finish_reason), options)
    return _Read(case, result.status, result.candidates, record)


Items = list[tuple[float, bool, str]]
"""Of every candidate that is a required hit or a false positive: salience, whether it is worth keeping, its conversation."""


def _outcomes(reads: Sequence[_Read], policy: Policy | None, scorer: Scorer, unscored: list[Excluded]) -> tuple[list[CaseResult], Items]:
    tables = _tables(reads, scorer.matcher)
    leaks = LeakFinder(policy) if policy is not None else None
    threshold = (policy or Policy()).threshold
    results: list[CaseResult] = []
    items: Items = []
    for read, table in zip(reads, tables, strict=True):
        if table.unscored is not None:
            unscored.append(Excluded(read.case.id, "unscored", table.unscored))
            continue
        tie_margin = scorer.matcher.tie_margin
        outcome = decide(read.case, read.candidates, table, threshold=threshold, rubric=scorer.rubric, tie_margin=tie_margin)
        extras = _extras(read, outcome, leaks, scorer.matcher)
        row = count_case(read.case, outcome, status=read.status, rubric=scorer.rubric, extras=extras)
        counts = dict(zip(COLUMNS, row.tolist(), strict=True))
        results.append(CaseResult(read.case, read.status, outcome, read.record.reply, counts))
        whole = decide(read.case, read.candidates, table, threshold=0.0, rubric=scorer.rubric, tie_margin=tie_margin)
        items += [
            (prediction.salience, prediction.outcome == "hit", read.case.conversation)
            for prediction in whole.predictions
            if prediction.outcome == "hit" or (prediction.outcome in FALSE_POSITIVES and prediction.outcome != "duplicate")
        ]
    return results, items


def _tables(reads: Sequence[_Read], matcher: Matcher) -> list[Table]:
    """All pairs of a cell go to the matcher in one call, so that vectors and judges can work in batches."""
    pairs: list[Pair] = []
    for read in reads:
        for candidate in read.candidates:
            labels = [memory.phrases for memory in read.case.memories] + [item.phrases for item in read.case.forbidden]
            pairs += [Pair(candidate.content, phrases, read.case.language, read.case.owner.names) for phrases in labels]
    verdicts = iter(matcher.score(pairs))
    tables = []
    for read in reads:
        memories, forbidden = [], []
        for _ in read.candidates:
            memories.append([next(verdicts) for _ in read.case.memories])
            forbidden.append([next(verdicts) for _ in read.case.forbidden])
        tables.append(Table(memories, forbidden))
    return tables


def _extras(read: _Read, outcome: CaseOutcome, leaks: LeakFinder | None, matcher: Matcher) -> dict[str, float]:
    counted = [candidate for candidate, entry in zip(read.candidates, outcome.predictions, strict=True) if entry.counted]
    leaked = leaks.leaks(counted, read.case.turn()) if leaks else []
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


def _figures(results: Sequence[CaseResult], items: Items, scorer: Scorer) -> tuple[dict[str, Interval], float | None]:
    cases = [result.case for result in results]
    rows = [np.array([result.counts[name] for name in COLUMNS]) for result in results]
    counts = sum_by_conversation(cases, rows)
    figures = cluster_bootstrap(counts, {**FIGURES, "f_beta": f_beta(scorer.rubric.beta)}, resamples=scorer.resamples, seed=scorer.seed)
    order = {name: i for i, name in enumerate(dict.fromkeys(case.conversation for case in cases))}
    auroc = WeightedAuroc([item[0] for item in items], [item[1] for item in items], [order[item[2]] for item in items])
    figures |= cluster_bootstrap_items({"auroc": auroc}, len(order), resamples=scorer.resamples, seed=scorer.seed)
    by_conversation = F1(counts)
    defined = by_conversation[~np.isnan(by_conversation)]
    return figures, float(defined.mean()) if len(defined) else None


def _signature(
    model: str, policy: Policy | None, cases: Sequence[Case], dataset: Dataset, manifest: Mapping[str, Any], scorer: Scorer
) -> Signature:
    return Signature(
        data=DatasetId(dataset.name, dataset.version, dataset.hash),
        split=manifest["data"]["split"],
        cases=len(cases),
        conversations=len({case.conversation for case in cases}),
        limited=len(manifest["data"]["cases"]) < len(dataset.cases),
        rubric=scorer.rubric.name,
        matcher=scorer.matcher_id,
        policy=PolicyId(policy.name, policy.hash) if policy else None,
        model=model,
        max_tokens=policy.decoding.max_tokens if policy else None,
        temperature=policy.decoding.temperature if policy else None,
        repeats=1,
        seed=scorer.seed,
        openings=count_openings(dataset),
        version=VERSION,
    )


def _sum_known(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) and values else None


def _notices(manifest: Mapping[str, Any], dataset: Dataset, cells: Sequence[CellResult]) -> list[str]:
    notices = []
    if manifest["data"]["hash"] != dataset.hash:
        notices.append(
            f"The labels have changed since the run: it was made with data {manifest['data']['hash']} and is scored with {dataset.hash}."
        )
    if manifest["limit"] is not None and len(manifest["data"]["cases"]) < len(dataset.cases):
        notices.append(f"This run is limited to {len(manifest['data']['cases'])} of {len(dataset.cases)} cases.")
    for cell in cells:
        for name, what in (("failed", "calls failed"), ("missing", "cases have no reply"), ("unscored", "cases cannot be scored")):
            entries: tuple[Excluded, ...] = getattr(cell, name)
            if entries:
                first = entries[0]
                notices.append(f"{cell.label}: {len(entries)} {what} and are in no figure; the first: {first.case}: {first.message}")
        if cell.total("leaks"):
            notices.append(
                f"{cell.label}: {cell.total('leaks')} predictions in {cell.total('leak_cases')} cases repeat the prompt or its examples, "
                f"not the turn."
            )
        empty = cell.total("status_empty")
        if cell.policy is not None and len(cell.cases) >= 10 and empty > 0.9 * len(cell.cases):
            notices.append(f"{cell.label}: {empty} of {len(cell.cases)} replies are empty; a schema or prompt may push the model to [].")
    return notices
