"""The one file that a search ends in: the tuned policy with all that is needed to judge it, and what became of it on test.

Everything that ships is made from it (`evals.tune.export`). The file is JSON, ASCII, the same for the same artefact, and is refused where
it was changed by hand. Nothing is searched, scored or gated here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from evals.errors import WorkbenchError
from evals.report.tables import write_whole
from evals.tune import artefact_fields as check
from salience import ConsolidationPolicy, Policy, PolicyError
from salience import consolidation_file as for_consolidation
from salience import policy_file as for_extraction

AnyPolicy = Policy | ConsolidationPolicy
Task = Literal["extraction", "consolidation"]
Verdict = Literal["pass", "fail", "inconclusive"]

SCHEMA_VERSION = 1
TUNED = "tuned"
"""What the tuned policy is called among the scores."""
HEADLINES: Mapping[str, str] = {"extraction": "f1", "consolidation": "macro_f1"}  # as `MEASURES` has them, which takes numpy to load
"""Task -> the figure that candidates are ranked by and the gate looks at."""
MOST_NESTED_SCHEMA = 100
"""The deepest that a reply schema may be nested: Python reads no literal of 200 levels."""
_KINDS: Mapping[str, type] = {"extraction": Policy, "consolidation": ConsolidationPolicy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """What a search came to.

    Mappings are copied, so that what is changed outside changes nothing here. They hold what JSON can hold.

    Attributes:
        schema_version: Of the file; 1.
        task: "extraction" or "consolidation".
        policy: The tuned policy.
        base: The policy that tuning began from.
        model: "provider/model" that it was tuned for.
        fingerprint: What makes this model this model.
        optimizer: Its name.
        options: The optimiser's.
        seed: From 0.
        data: `argument` (as the user named it), `name`, `version`, `hash`, and for `train` and `dev` each a `hash` and the numbers of
            `cases` and `conversations`.
        suppliers: Ids of conversations whose cases are examples, sorted.
        scores: Split ("train", "dev", "test") -> policy ("tuned", "base:NAME", or another that it was held against) -> figure ->
            [value, low, high], each a number or None where it is not defined; beside the policies whole numbers such as `n` (cases).
        candidates: How many were tried, from 0.
        gates: One mapping for each opening of test, in order: `date`, `verdict` ("pass", "fail", "inconclusive"), `reasons` (texts),
            `reused` (whether test had been opened before; true for all but the first), and figures.
        spent: Name -> a number from 0 up, or None where it is not known: `calls`, tokens, `cost` in dollars, the writer's.
        versions: Package -> version.
        made: An ISO 8601 date or time.
        note: What a reader should know, or "".

    Raises:
        WorkbenchError: A field is not so; the message names it, what was given and what is allowed.
    """

    schema_version: int = SCHEMA_VERSION
    task: Task
    policy: AnyPolicy
    base: AnyPolicy
    model: str
    fingerprint: Mapping[str, Any]
    optimizer: str
    options: Mapping[str, Any]
    seed: int
    data: Mapping[str, Any]
    suppliers: tuple[str, ...]
    scores: Mapping[str, Any]
    candidates: int
    gates: tuple[Mapping[str, Any], ...] = ()
    spent: Mapping[str, Any]
    versions: Mapping[str, Any]
    made: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.schema_version != SCHEMA_VERSION or isinstance(self.schema_version, bool):
            raise check.wrong("schema_version", str(SCHEMA_VERSION), self.schema_version)
        if self.task not in get_args(Task):
            raise check.wrong("task", '"extraction" or "consolidation"', self.task)
        for name in ("policy", "base"):
            _check_policy(name, getattr(self, name), self.task)
        kept: dict[str, Callable[[str, object], object]] = {
            "model": check.text, "fingerprint": check.mapping, "optimizer": check.text, "options": check.mapping, "seed": check.whole,
            "data": check.data, "suppliers": check.suppliers, "scores": check.scores, "candidates": check.whole, "gates": check.gates,
            "spent": check.spent, "versions": check.versions, "made": check.moment, "note": check.any_text,
        }  # fmt: skip
        for name, keep in kept.items():
            object.__setattr__(self, name, keep(name, getattr(self, name)))

    @property
    def gate(self) -> Mapping[str, Any] | None:
        """The last opening of test, or None before the first."""
        return self.gates[-1] if self.gates else None

    @property
    def passed(self) -> bool:
        """Whether the last opening of test was passed."""
        return self.gate is not None and self.gate["verdict"] == "pass"

    @property
    def hash(self) -> str:
        """The first 12 hex digits of the SHA-256 of the canonical JSON of all but `gates`, `made` and what only the gate knows.

        That is the scores on test. The name of the tuned policy is left out too, as it is of a policy's own hash: a gate, or another name
        at export, makes no other artefact of it.
        """
        content = {name: value for name, value in _content(self).items() if name not in ("gates", "made")}
        content["scores"] = {split: value for split, value in content["scores"].items() if split != "test"}
        content["policy"] = {name: value for name, value in content["policy"].items() if name != "name"}
        return _digest(content)[:12]

    def figures(self, split: str, role: str = TUNED) -> dict[str, list[float | None]]:
        """Return a policy's figures on a split, each [value, low, high], the task's headline first; none where they are not known.

        Args:
            split: "train", "dev" or "test".
            role: "tuned", "base:NAME", or another that the artefact tells of.
        """
        found = self.scores.get(split, {}).get(role)
        first = HEADLINES[self.task]
        return dict(sorted(found.items(), key=lambda item: (item[0] != first, item[0]))) if isinstance(found, Mapping) else {}

    def with_gate(self, gate: Mapping[str, Any], scores: Mapping[str, Any] | None = None) -> Artefact:
        """Return the artefact after another opening of test.

        Args:
            gate: What came of it; see `gates`. It is marked as reused where this is not the first.
            scores: Scores of splits that are then known, or None. The names of the tuned policy and of the base become "tuned" and
                "base:NAME" in them.

        Raises:
            WorkbenchError: As for the class.
        """
        if not isinstance(gate, Mapping):
            raise check.wrong(f"gates[{len(self.gates)}]", "an object", gate)
        marked = {**gate, "reused": True} if self.gates else gate
        roles = {self.base.name: f"base:{self.base.name}", self.policy.name: TUNED}
        told = {
            split: {roles.get(role, role) if isinstance(figures, Mapping) else role: figures for role, figures in rows.items()}
            for split, rows in (scores or {}).items()
        }
        return replace(self, gates=(*self.gates, marked), scores={**self.scores, **told})


def write_artefact(artefact: Artefact, path: Path) -> None:
    r"""Write an artefact, whole or not at all; a file that is there is replaced.

    Args:
        artefact: The artefact.
        path: Where to; its folder must exist.

    Raises:
        WorkbenchError: The file cannot be written, or a text holds half of a surrogate pair (\ud800 to \udfff), which is no text.
    """
    content = _content(artefact)
    for name, value in content.items():
        check.check_text(f"{path}: {name}", value)
    content["hash"] = artefact.hash
    content["sha256"] = _digest(content)
    text = json.dumps(_sorted(content), indent=2, ensure_ascii=True, allow_nan=False)
    write_whole(Path(path), text.encode("ascii") + b"\n")


def read_artefact(path: Path) -> Artefact:
    """Read an artefact.

    Args:
        path: A file that `write_artefact` made.

    Returns:
        The artefact; its hashes fit its contents.

    Raises:
        WorkbenchError: The file cannot be read, is no artefact or was changed; the message names file, field, what was given and what is
            allowed.
    """
    where = str(path)
    try:
        raw = for_extraction.parse(for_extraction.read_text(Path(path)), where)
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None
    if not isinstance(raw, dict) or "schema_version" not in raw:
        raise WorkbenchError(f"{where}: is no artefact of salience tune: it must be an object with schema_version {SCHEMA_VERSION}")
    names = [field.name for field in fields(Artefact)]
    try:
        if raw["schema_version"] != SCHEMA_VERSION:
            raise check.wrong("schema_version", str(SCHEMA_VERSION), raw["schema_version"])
        _check_keys(raw, {*names, "hash", "sha256"})
        task = raw["task"]
        if not isinstance(task, str) or task not in _KINDS:
            raise check.wrong("task", '"extraction" or "consolidation"', task)
        policies = {name: _policy(raw[name], f"{where}: {name}", task) for name in ("policy", "base")}
        artefact = Artefact(**{name: raw[name] for name in names} | policies)
    except PolicyError as error:
        raise WorkbenchError(str(error)) from None
    except WorkbenchError as error:
        raise WorkbenchError(f"{where}: {error}") from None
    except RecursionError:
        raise WorkbenchError(f"{where}: is nested too deeply") from None
    content = _content(artefact)
    for name, found in (("hash", artefact.hash), ("sha256", _digest(content | {"hash": artefact.hash}))):
        if raw[name] != found:
            raise WorkbenchError(
                f"{where}: {name} is {check.given(raw[name])} but the contents have {found!r}: the file was changed after it was made. "
                "A prompt that was changed by hand was never scored: save it as a policy and evaluate or tune that"
            )
    return artefact


def policy_to_dict(policy: AnyPolicy) -> dict[str, Any]:
    """Return the content of a policy's file."""
    if isinstance(policy, Policy):
        return for_extraction.policy_to_dict(policy)
    return for_consolidation.policy_to_dict(policy)


def _policy(raw: object, where: str, task: str) -> AnyPolicy:
    """Return a policy of an artefact; a changed one is found by the hash of the whole file."""
    if task == "extraction":
        return for_extraction.policy_from_text(json.dumps(raw), where=where, check_hash=False)
    return for_consolidation.policy_from_dict(raw, where=where, check_hash=False)


def _content(artefact: Artefact) -> dict[str, Any]:
    """Return the fields of an artefact for JSON, keys sorted; only a reply schema keeps its order, which means something to a model."""
    values = {field.name: getattr(artefact, field.name) for field in fields(Artefact)}
    values |= {name: policy_to_dict(values[name]) for name in ("policy", "base")}
    sorted_values: dict[str, Any] = _sorted(values)
    return sorted_values


def _sorted(value: Any, inside: tuple[str, ...] = ()) -> Any:
    if len(inside) == 2 and inside[0] in ("policy", "base") and inside[1] == "schema":
        return value
    if isinstance(value, Mapping):
        return {key: _sorted(value[key], (*inside, key)) for key in sorted(value)}
    return [_sorted(item, (*inside, "")) for item in value] if isinstance(value, list | tuple) else value


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(_sorted(content), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check_keys(raw: Mapping[str, Any], allowed: set[str]) -> None:
    for name in sorted(set(raw) ^ allowed):
        if name in allowed:
            raise WorkbenchError(f"{name} is missing")
        raise WorkbenchError(f"{check.given(name)} is not a field of an artefact; allowed: {', '.join(sorted(allowed))}")


def _check_policy(name: str, policy: object, task: str) -> None:
    if not isinstance(policy, Policy | ConsolidationPolicy) or not isinstance(policy, _KINDS[task]):
        raise check.wrong(name, f"a salience.{_KINDS[task].__name__} for the task {task}", policy)
    check.plain(f"{name}.schema", policy.schema, MOST_NESTED_SCHEMA)
    check.plain(f"{name}.provenance", policy.provenance)
