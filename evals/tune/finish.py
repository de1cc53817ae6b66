"""From a search to an artefact: the winner scored again as a benchmark would, from the replies that it earned its score with."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evals.data.dataset import Dataset
from evals.data.select import Selection, select
from evals.errors import WorkbenchError
from evals.metrics.measures import MEASURES
from evals.plan import RunConfig, versions
from evals.results import CellResult
from evals.stats import Interval
from evals.tune.artefact import Artefact
from evals.tune.engine import Spent
from evals.tune.search import Found, SearchConfig
from evals.tune.splits import Splits
from evals.tune.stops import ParityBroken
from evals.tune.tasks import AnyPolicy, TuningTask

FIGURES: Mapping[str, tuple[str, ...]] = {
    "extraction": ("f1", "precision", "recall", "balanced", "specificity", "violation_rate", "auroc"),
    "consolidation": ("macro_f1", "accuracy", "target_accuracy", "content_match", "protected_touched", "facts_lost", "stale_left"),
}
"""What an artefact tells of a row."""
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What rows of a search have in common.

    Attributes:
        task: "extraction" or "consolidation".
        data: As the user named it.
        model: "provider/model".
        base_url: Its server, or None.
        seed: Of the intervals and of sampling.
    """

    task: Any
    data: str
    model: str
    base_url: str | None
    seed: int

    def config(self, policies: Sequence[str], split: str, ids: Sequence[str], models: Sequence[str] | None = None) -> RunConfig:
        """Return the run of some policies over some cases."""
        return RunConfig(
            task=self.task, data=self.data, split=split, models=tuple(models or [self.model]), policies=tuple(policies),
            selection=Selection(ids=tuple(ids)), seed=self.seed, base_url=self.base_url,
        )  # fmt: skip


def figures_told(task: str, cell: CellResult) -> dict[str, list[float | None]]:
    """Return a row's figures with their intervals, as an artefact holds them."""
    return {name: _bounds(cell.figures[name]) for name in FIGURES[task] if name in cell.figures}


def _bounds(interval: Interval) -> list[float | None]:
    return [interval.value, interval.low, interval.high]


def save_policies(folder: Path, found: Found, name: str) -> tuple[AnyPolicy, Path, Path]:
    """Write base and winner as policy files, and return the winner under its name with both paths."""
    best = replace(found.best.policy, name=name)
    paths = folder / "base.json", folder / "policy.json"
    found.base.policy.save(paths[0])
    best.save(paths[1])
    return best, *paths


def check_score(task: TuningTask, found: Found, cell: CellResult, sent: int) -> None:
    """Check that the winner, run as a benchmark runs it, is what the search scored.

    Args:
        task: What is tuned.
        found: The search.
        cell: The winner's row over the dev cases.
        sent: Requests that this row took.

    Raises:
        ParityBroken: It asked something that the search did not, or came to another score.
    """
    name = MEASURES[task.name].headline
    searched, now = found.ledger.dev_figures(found.best)[name], cell.figures[name].value
    if sent:
        raise ParityBroken(f"the winner sent {sent} requests to the model that the search had not sent: the search scored something else")
    if cell.failed or cell.missing or cell.unscored:
        raise ParityBroken("the winner could not be scored on every dev case")
    if not math.isclose(_number(searched), _number(now), abs_tol=_CLOSE):
        raise ParityBroken(
            f"the winner's {name} on dev is {_number(now):.4f} as a benchmark, and was {_number(searched):.4f} in the search"
        )


def _number(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else value


def below_base(base: CellResult, best: CellResult) -> str:
    """Return a warning where the winner's AUROC lies below the base's interval, else ""."""
    first, second = base.figures.get("auroc"), best.figures.get("auroc")
    if first is None or second is None or first.low is None or second.value is None or second.value >= first.low:
        return ""
    return f"its salience tells less: AUROC {second.value:.2f}, below the base's interval [{first.low:.2f}, {_number(first.high):.2f}]"


def suppliers(task: TuningTask, policy: AnyPolicy, cases: Sequence[Any]) -> list[str]:
    """Return the conversations that supply a policy's examples, sorted."""
    texts = {text for text, _ in task.shown(policy)}
    return sorted({case.conversation for case in cases if task.text(case) in texts})


def train_ids(splits: Splits, left_out: Sequence[str], most: int) -> list[str]:
    """Return train cases to score on: none of the conversations that supply examples, at most so many, evenly over what is left."""
    cases = splits.train
    places = [place for place, conversation in enumerate(cases.conversations) if conversation not in left_out]
    return list(select(cases.pick(places), Selection(limit=most, seed=0)).ids) if places and most else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A search that is over, with what it was made with.

    Attributes:
        setting: What its rows have in common.
        dataset: All its data.
        splits: What it saw of it.
        config: How it searched.
        task: What was tuned.
        found: What it came to.
        spent: What the model was asked.
        writer: Who wrote, or None.
        fingerprint: The model's.
        folder: Where its files are.
    """

    setting: Setting
    dataset: Dataset
    splits: Splits
    config: SearchConfig
    task: TuningTask
    found: Found
    spent: Spent
    writer: str | None
    fingerprint: Mapping[str, Any]
    folder: Path


def make_artefact(done: Searched, policy: AnyPolicy, scores: Mapping[str, Any], supply: Sequence[str], note: str) -> Artefact:
    """Return the artefact of a search.

    Args:
        done: The search.
        policy: The winner under its name.
        scores: By split.
        supply: The conversations that supply its examples.
        note: What a reader should know, or "".

    Raises:
        WorkbenchError: A value cannot be kept.
    """
    config, found, spent = done.config, done.found, done.spent
    weights = {f"{name}_weight": value for name, value in asdict(done.task.weights).items()}
    matcher = done.task.scorer.matcher_id
    options = {**config.options, **weights, "matcher": f"{matcher.id}-{matcher.version}", "writer": done.writer or ""}
    return Artefact(
        task=done.setting.task, policy=policy, base=config.base, model=done.setting.model, fingerprint=dict(done.fingerprint),
        optimizer=config.optimizer.name, options=options, seed=config.seed,
        data={"argument": done.setting.data, **done.splits.describe(done.dataset)}, suppliers=tuple(supply), scores=dict(scores),
        candidates=len(found.ledger.tried), gates=(),
        spent={"calls": spent.calls, "input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens, "cost": spent.cost,
               "writer_answers": found.written, "writer_prompts": found.accepted},
        versions=versions() | {"dspy": _version("dspy")}, made=time.strftime("%Y-%m-%d", time.gmtime()), note=note,
    )  # fmt: skip


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def read_candidates(path: Path) -> list[dict[str, Any]]:
    """Return the candidates that a search wrote.

    Raises:
        WorkbenchError: The file cannot be read.
    """
    try:
        return [dict(json.loads(line)) for line in path.read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise WorkbenchError(f"{path}: the candidates of the search cannot be read: {error}") from None
