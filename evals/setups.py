"""What a row of the tasks beside extraction runs under: whose prompts are sent, or which rule decides. Nothing is sent here.

A row of consolidation has a consolidation policy. A row of scenarios has two halves, "EXTRACTION+CONSOLIDATION": who finds facts in a
session, and who decides what becomes of each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evals.errors import WorkbenchError
from evals.models.deciders import DECIDERS
from salience import ConsolidationPolicy, Decoding, Policy, PolicyError, recall_policy
from salience.consolidation_file import policy_from_dict, policy_to_dict
from salience.policy_file import policy_from_text
from salience.policy_file import policy_to_dict as extraction_to_dict

Task = Literal["extraction", "consolidation", "scenario"]
TASKS: tuple[Task, ...] = ("extraction", "consolidation", "scenario")
DATA: Mapping[str, str] = {"extraction": "extraction", "consolidation": "consolidation", "scenario": "scenarios"}
"""The bundled data of each task."""

DISTANCE = "distance"
"""The rule that asks nobody: a fact that is near a memory and differs in nothing that can be told is skipped, any other is added."""
RULES = (DISTANCE, *DECIDERS)
RECALL = {"recall": "default", "recall-plain": "plain"}
"""Names of extraction halves that ask for facts without salience -> the recall policy that ships."""
BASELINE = "baseline/"
EXTRACTORS = ("silent", "verbatim", "rules")
"""The baselines that find something in a session without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a row runs under.

    Attributes:
        name: What people call it.
        extraction: The policy that finds facts in a session; None where none is found (consolidation) or a baseline finds them.
        recall: Whether `extraction` asks for facts without salience (`salience.recall`) and a host takes them.
        baseline: The baseline that finds facts in place of a model, one of `EXTRACTORS`, or None.
        consolidation: The policy that decides what becomes of a fact; None where a rule does.
        rule: The rule that decides in its place, one of `RULES`, or None.
    """

    name: str
    extraction: Policy | None = None
    recall: bool = False
    baseline: str | None = None
    consolidation: ConsolidationPolicy | None = None
    rule: str | None = None

    @property
    def hash(self) -> str:
        """12 hex digits of all that decides what is asked; that of the consolidation policy where there is nothing else."""
        deciding = self.consolidation.hash if self.consolidation else self.rule or ""
        if self.extraction is None and self.baseline is None:
            return deciding
        finding = [self.extraction.hash, self.recall] if self.extraction else [self.baseline, False]
        return hashlib.sha256(json.dumps([*finding, deciding]).encode()).hexdigest()[:12]

    @property
    def decoding(self) -> Decoding:
        """Limit and temperature of the replies, as signatures tell them: those of the half that a model decides with, else finds with."""
        if self.consolidation is not None:
            return self.consolidation.decoding
        return self.extraction.decoding if self.extraction is not None else Decoding()

    def to_dict(self) -> dict[str, Any]:
        """Return the setup as values for JSON; `setup_from_dict` reads them."""
        return {
            "name": self.name,
            "extraction": None if self.extraction is None else extraction_to_dict(self.extraction),
            "recall": self.recall,
            "baseline": self.baseline,
            "consolidation": None if self.consolidation is None else policy_to_dict(self.consolidation),
            "rule": self.rule,
        }


def setup_from_dict(content: Mapping[str, Any], where: str) -> Setup:
    """Return the setup that `Setup.to_dict` gave.

    Args:
        content: What it gave.
        where: The file, for messages.

    Raises:
        WorkbenchError: A policy in it cannot be read.
    """
    try:
        extraction, consolidation = content.get("extraction"), content.get("consolidation")
        return Setup(
            name=str(content.get("name")),
            extraction=None if extraction is None else policy_from_text(json.dumps(extraction), where=where),
            recall=bool(content.get("recall")),
            baseline=content.get("baseline"),
            consolidation=None if consolidation is None else policy_from_dict(consolidation, where=where),
            rule=content.get("rule"),
        )
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None


def load_setup(task: Task, name: str) -> Setup:
    """Return the setup that a user named.

    Args:
        task: "consolidation" or "scenario".
        name: A consolidation policy by name or file; for scenarios EXTRACTION+CONSOLIDATION, each a policy by name or file, EXTRACTION also
            one of `RECALL`, CONSOLIDATION also one of `RULES`, and "default" where it is left out.

    Raises:
        WorkbenchError: A half does not exist or is not valid.
    """
    try:
        if task == "consolidation":
            policy = ConsolidationPolicy.load(name)
            return Setup(name=policy.name, consolidation=policy)
        finding, deciding = _halves(name)
        extraction = recall_policy(RECALL[finding]) if finding in RECALL else Policy.load(finding)
        rule = deciding if deciding in RULES else None
        consolidation = None if rule else ConsolidationPolicy.load(deciding)
    except PolicyError as error:
        hint = f"; a rule may decide too: {', '.join(RULES)}" if task == "scenario" and "consolidation" in str(error) else ""
        raise WorkbenchError(f"{error}{hint}") from None
    told = finding if finding in RECALL else extraction.name
    return Setup(
        name=f"{told}+{rule or (consolidation.name if consolidation else '')}", extraction=extraction, recall=finding in RECALL,
        consolidation=consolidation, rule=rule,
    )  # fmt: skip


def baseline_setup(task: Task, model: str) -> Setup:
    """Return the setup of a row that asks no model.

    Args:
        task: "consolidation" or "scenario".
        model: "baseline/RULE", for scenarios "baseline/EXTRACTOR+RULE".

    Raises:
        WorkbenchError: There is none of that name; the message names those that are.
    """
    rest = model.removeprefix(BASELINE)
    finding, plus, deciding = rest.partition("+")
    if task == "consolidation" and not plus and finding in DECIDERS:
        return Setup(name=rest, rule=finding)
    if task == "scenario" and finding in EXTRACTORS and deciding in RULES:
        return Setup(name=rest, baseline=finding, rule=deciding)
    allowed = ", ".join(BASELINE + one for one in DECIDERS)
    if task == "scenario":
        allowed = f"{BASELINE}EXTRACTOR+RULE, EXTRACTOR being {', '.join(EXTRACTORS)} and RULE {', '.join(RULES)}"
    raise WorkbenchError(f"there is no baseline {model!r} for the task {task}; there are: {allowed}")


def _halves(name: str) -> tuple[str, str]:
    if Path(name).is_file() or "+" not in name:
        return name, "default"
    finding, _, deciding = name.rpartition("+")
    return finding or "default", deciding or "default"
