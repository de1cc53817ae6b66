"""What a reader of a report must know, in whole sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evals.data.dataset import Dataset
from evals.matching.base import Matcher
from evals.metrics.consolidation import constants
from evals.report.numbers import share
from evals.results import CellResult, Excluded
from evals.setups import Task

_MOSTLY_EMPTY = 0.9
_FEW_REPLIES = 10
_FALLBACKS = {
    "no-schema": "without the reply schema, which the server refuses",
    "wrapped-schema": "with the reply schema inside an object, as the server refuses an array",
    "no-temperature": "at the server's own temperature, as it refuses another",
    "no-seed": "without a seed, which the server refuses",
}


def notices(
    manifest: Mapping[str, Any], dataset: Dataset, cells: Sequence[CellResult], languages: Iterable[str], matcher: Matcher
) -> Iterator[str]:
    """Yield the notices of a scored run whose cases are in some languages."""
    data = manifest["data"]
    if data["hash"] != dataset.hash:
        yield f"The labels have changed since the run: it was made with data {data['hash']} and is scored with {dataset.hash}."
    if data["count"] < len(dataset.cases):
        yield f"This run is limited to {data['count']} of {len(dataset.cases)} cases{_selected(manifest)}."
    yield from dataset.notes
    yield from _agreement(sorted(set(languages)), matcher.describe())
    for cell in cells:
        yield from _of_cell(cell)
        yield from _of_provenance(cell, manifest, dataset)


def _agreement(languages: Sequence[str], described: Mapping[str, Any]) -> Iterator[str]:
    """How far the matcher agrees with people in the languages at hand, which may be far from its agreement over all."""
    measured = {name: described.get(f"agreement_kappa_{name}") for name in languages}
    if any(value is not None for value in measured.values()):
        told = ", ".join(f"{name} {'not measured' if value is None else share(value)}" for name, value in measured.items())
        written = described.get("agreement_written")
        hard = "" if written is None else f" On pairs written to test matchers: {share(written)}."
        yield f"Agreement of the matcher with labelled pairs by language (kappa): {told}.{hard} salience matcher validate gives intervals."


def _of_provenance(cell: CellResult, manifest: Mapping[str, Any], dataset: Dataset) -> Iterator[str]:
    """A policy that learned its map on the very cases that it is scored on."""
    policy = cell.signature.policy
    provenance = (manifest["policies"].get(policy.hash, {}).get("provenance") or {}) if policy else {}
    learned = str(provenance.get("calibrated_on", ""))
    if f"-{dataset.hash}|split:{manifest['data']['split']}|" in learned:
        yield f"{cell.label}: its calibration map and threshold were learned on these cases, so its figures here are optimistic."


def played_notices(task: Task, cases: Sequence[Any]) -> Iterator[str]:
    """Yield what a reader of a report on consolidation or on scenarios must know besides."""
    if task == "consolidation":
        constant = constants(cases)
        if constant:
            name, value = max(constant.items(), key=lambda item: item[1])
            yield f"The best constant answer, {name}, has a macro F1 of {share(value)} on these cases."
        unasked = sum(not case.existing for case in cases)
        if unasked:
            yield f"{unasked} cases have nothing in the store yet: the fact is added without a model, and they are in no figure."
    elif task == "scenario" and not any(case.final or case.retired for case in cases):
        yield "Nobody has labelled what must be live in the end, so only duplicates, evidence, answers and calls are measured."


def _selected(manifest: Mapping[str, Any]) -> str:
    selection, shard = manifest["selection"], manifest["shard"]
    parts = [f"--case {name}" for name in selection["ids"][:3]] + ["..."] * (len(selection["ids"]) > 3)
    parts += [f"--tag {name}" for name in selection["tags"]]
    parts += [f"-n {selection['limit']}"] if selection["limit"] is not None else []
    parts += [f"--shard {shard['number']}/{shard['count']}"] if shard else []
    return f" ({' '.join(parts)})" if parts else ""


def _of_cell(cell: CellResult) -> Iterator[str]:
    for name, what in (("failed", "calls failed"), ("missing", "cases have no reply"), ("unscored", "cases cannot be scored")):
        entries: tuple[Excluded, ...] = getattr(cell, name)
        if entries:
            first = entries[0]
            yield f"{cell.label}: {len(entries)} {what} and are in no figure; the first: {first.case}: {first.message}"
    if cell.total("status_too_long"):
        yield (
            f"{cell.label}: {cell.total('status_too_long')} inputs are beyond the model's context and count as nothing returned; a policy "
            f"with max_turn_chars splits them (salience policy save POLICY --max-turn-chars N --name NAME -o FILE)."
        )
    for name, count in sorted(cell.fallbacks.items()):
        yield f"{cell.label}: {count} replies were made {_FALLBACKS.get(name, name)} ({name})."
    if cell.reasoning_only:
        yield f"{cell.label}: {cell.reasoning_only} replies hold reasoning and no answer; a higher decoding.max_tokens may help."
    if cell.total("leaks"):
        yield (
            f"{cell.label}: {cell.total('leaks')} predictions in {cell.total('leak_cases')} cases repeat the prompt or its examples, "
            f"not the turn."
        )
    empty = cell.total("status_empty")
    if (
        cell.task == "extraction"
        and cell.policy is not None
        and len(cell.cases) >= _FEW_REPLIES
        and empty > _MOSTLY_EMPTY * len(cell.cases)
    ):
        yield f"{cell.label}: {empty} of {len(cell.cases)} replies are empty; a schema or prompt may push the model to []."
    if cell.flip_rate is not None:
        yield f"{cell.label}: repeats differ in what they find, or in having false positives, in {cell.flip_rate:.0%} of the cases."
