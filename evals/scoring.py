"""A run folder and labelled cases -> a report. No model is called; the same run can be scored again at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evals.cell_scoring import CellScoring, Scorer, Watch
from evals.data.dataset import Cases, Dataset
from evals.errors import RunError
from evals.folders import rows_of
from evals.notices import notices, played_notices
from evals.openings import count_openings
from evals.played_scoring import PlayedScoring
from evals.prices import Prices, price_from_dict
from evals.results import Report
from evals.runindex import RunIndex
from evals.runlog import read_manifest
from evals.setups import Setup, Task, setup_from_dict
from evals.signature import DatasetId, PolicyId, Signature
from evals.version import VERSION
from salience import Policy, PolicyError
from salience.policy_file import policy_from_text

__all__ = ["Scorer", "score_run"]


def score_run(
    folder: Path, dataset: Dataset, scorer: Scorer, prices: Prices | None = None, watch: Callable[[int], Watch] | None = None,
    only: str | None = None,
) -> Report:  # fmt: skip
    """Score every cell of a run, some cases at a time, so that memory does not grow with the length of replies.

    Args:
        folder: The run folder.
        dataset: The run's split of its data. Labels may have changed since the run; messages may not.
        scorer: How to score.
        prices: What tokens cost; None takes the prices of the run.
        watch: Gives for the number of a cell what sees each of its cases, or None.
        only: The label ("model@policy") of the cells to score; None scores all.

    Returns:
        The report.

    Raises:
        RunError: The folder is no run, the data's messages are not those that were sent, or no cell has the label.
    """
    manifest = read_manifest(folder)
    task: Task = manifest["task"]
    cases = _cases(manifest, dataset, folder)
    policies = _policies(manifest, folder)
    cells = []
    labels = [_label(cell, policies) for cell in manifest["cells"]]
    if only is not None and only not in labels:
        raise RunError(f"{folder} has no row {only!r}; it has {', '.join(labels)}")
    with RunIndex(folder, rows_of(manifest), cases.ids, manifest["repeats"]) as index:
        for row, cell in enumerate(manifest["cells"]):
            if only not in (None, labels[row]):
                continue
            model = cell["model"]
            known = prices.of(model, manifest["models"][model]) if prices else price_from_dict(manifest["prices"].get(model))
            sign = partial(_signature, dataset=dataset, manifest=manifest, scorer=scorer)
            under = policies.get(cell["policy"])
            if task == "extraction":
                policy = under if isinstance(under, Policy) else None
                scoring = CellScoring(model, policy, cases, scorer, known, watch(row) if watch else None)
                cells.append(scoring.result(index, row, sign))
            else:
                setup = under if isinstance(under, Setup) else None
                cells.append(PlayedScoring(task, model, setup, cases, scorer, known).result(index, row, sign))
    told = [*notices(manifest, dataset, cells, cases.languages, scorer.matcher), *played_notices(task, cases)]
    return Report(str(folder), tuple(cells), tuple(told), dataset.silver, task)


def _label(cell: Mapping[str, Any], policies: Mapping[str, Policy | Setup]) -> str:
    policy = policies.get(cell["policy"])
    return cell["model"] if policy is None else f"{cell['model']}@{policy.name}"


def row_labels(folder: Path) -> list[str]:
    """Return what the cells of a run are called, in order; of two with one label both are told.

    Raises:
        RunError: The folder is no run.
    """
    manifest = read_manifest(folder)
    policies = _policies(manifest, folder)
    return [_label(cell, policies) for cell in manifest["cells"]]


def _cases(manifest: dict[str, Any], dataset: Dataset, folder: Path) -> Cases:
    """The cases of a run in its order; the manifest keeps only how many, as the list may be long."""
    wanted = manifest["data"].pop("cases")
    manifest["data"]["count"] = len(wanted)
    if wanted == list(dataset.cases.ids):
        return dataset.cases
    places = {case: place for place, case in enumerate(dataset.cases.ids)}
    gone = [case for case in wanted if case not in places]
    if gone:
        raise RunError(
            f"{folder}: case {gone[0]!r} and {len(gone) - 1} more of the run are not in the data; score it with the data it was made from"
        )
    return dataset.cases.pick(places[case] for case in wanted)


def _policies(manifest: Mapping[str, Any], folder: Path) -> dict[str, Policy | Setup]:
    if manifest["task"] != "extraction":
        return {digest: setup_from_dict(content, str(folder)) for digest, content in manifest["policies"].items()}
    try:
        return {
            digest: policy_from_text(json.dumps(content), where=f"{folder}: policy {content.get('name')!r}")
            for digest, content in manifest["policies"].items()
        }
    except PolicyError as error:
        raise RunError(str(error)) from None


def _signature(
    model: str, policy: Policy | Setup | None, cases: int, conversations: int, lacking: bool,
    *, dataset: Dataset, manifest: Mapping[str, Any], scorer: Scorer,
) -> Signature:  # fmt: skip
    return Signature(
        data=DatasetId(dataset.name, dataset.version, dataset.hash),
        split=manifest["data"]["split"],
        cases=cases,
        conversations=conversations,
        limited=lacking or manifest["data"]["count"] < len(dataset.cases),
        rubric=scorer.rubric.name,
        matcher=scorer.matcher_id,
        policy=PolicyId(policy.name, policy.hash) if policy else None,
        model=model,
        max_tokens=policy.decoding.max_tokens if policy else None,
        temperature=policy.decoding.temperature if policy else None,
        repeats=manifest["repeats"],
        seed=scorer.seed,
        openings=count_openings(dataset),
        version=VERSION,
    )
