"""`salience tune gate`: test is opened once for a model and a task, and what comes of it is written into the artefact."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.cli.output import note, print_text
from evals.cli.running import Bench, BenchOptions
from evals.cli.tune import whole
from evals.compare import compare
from evals.errors import WorkbenchError
from evals.limits import Limits
from evals.metrics.measures import MEASURES
from evals.paths import state_dir
from evals.plan import load_task
from evals.sides import Side, side_of
from evals.tune.artefact import Artefact, read_artefact, write_artefact
from evals.tune.finish import Setting, figures_told
from evals.tune.gating import Ruling, detectable, gain_text, judge, together

if TYPE_CHECKING:
    from collections.abc import Sequence

AGAINST = {"extraction": ("default", "embedded-default"), "consolidation": ("default",)}
BASELINES = {
    "extraction": ("baseline/silent", "baseline/verbatim", "baseline/rules"),
    "consolidation": (
        "baseline/always-add", "baseline/always-none", "baseline/always-delete", "baseline/duplicate-none", "baseline/nearest-update",
    ),
}  # fmt: skip
LOG = "gates.jsonl"


def run(options: argparse.Namespace) -> int:
    """Run `salience tune gate` and return its exit code: 0 passed, 1 failed, 4 inconclusive; of several the worst."""
    paths = [Path(name) for name in options.artefact]
    artefacts = [read_artefact(path) for path in paths]
    for path, artefact in zip(paths, artefacts, strict=True):
        _check_data(path, artefact)
    limits = Limits(calls=options.max_calls, tokens=options.max_tokens, cost=options.max_cost)
    bench_options = BenchOptions(
        base_url=options.base_url, jobs=options.jobs, quiet=options.quiet, timeout=options.timeout, limits=limits,
        prices=Path(options.prices) if options.prices else None, purpose="gate",
    )  # fmt: skip
    with Bench(_scorer, bench_options) as bench:
        opened = [_open(bench, path, artefact, options) for path, artefact in zip(paths, artefacts, strict=True)]
    rulings = together([ruling for ruling, _, _ in opened])
    for path, artefact, ruling, (_, told, reused) in zip(paths, artefacts, rulings, opened, strict=True):
        print_text(ruling_text(path, artefact, ruling, reused=reused))
        write_artefact(artefact.with_gate(_record(ruling, reused=reused), {"test": told}), path)
        _log(artefact, ruled=True)
    return max((ruling.exit_code for ruling in rulings), key=lambda code: {0: 0, 4: 1, 1: 2}[code])


def _scorer() -> Any:
    from evals.scorers import make_scorer

    return make_scorer("classifier", "default", 0)


def _check_data(path: Path, artefact: Artefact) -> None:
    dataset = load_task(artefact.task, artefact.data["argument"])
    if dataset.hash != artefact.data["hash"]:
        raise WorkbenchError(
            f"{path}: was tuned on {artefact.data['name']} {artefact.data['hash']}, and the data now is {dataset.hash}; tune again on it"
        )
    if "test" not in dataset.cases.splits:
        raise WorkbenchError(f"{path}: its data has no test cases, so that there is nothing to prove it on")


def _open(bench: Bench, path: Path, artefact: Artefact, options: argparse.Namespace) -> tuple[Ruling, dict[str, Any], bool]:
    """Score one artefact on test, beside all that it must beat."""
    task, folder = artefact.task, path.parent
    setting = Setting(task=task, data=artefact.data["argument"], model=artefact.model, base_url=options.base_url, seed=artefact.seed)
    tuned_file, base_file = folder / "policy.json", folder / "base.json"
    artefact.policy.save(tuned_file)
    artefact.base.save(base_file)
    dataset = load_task(task, setting.data).to_score("test")
    rows = whole(bench, setting.config([str(base_file), str(tuned_file)], "dev", []))
    conversations = len(set(dataset.cases.conversations))
    least = detectable(compare(side_of(rows.cells[0]), side_of(rows.cells[1])), MEASURES[task].headline, conversations)
    note(
        f"{artefact.policy.name}: told from dev, a true gain of {'?' if least is None else f'{least:.3f}'} would show on the "
        f"{conversations} conversations of test four times in five"
    )
    reused = _reused(artefact)
    _log(artefact, ruled=False)
    names = dict.fromkeys([*AGAINST[task], *options.against])
    same = {artefact.base.name} & set(names)
    policies = [*(name for name in names if name not in same), str(base_file), str(tuned_file)]
    report = whole(bench, setting.config(policies, "test", [], [artefact.model, *BASELINES[task]]))
    sides: dict[str, Side] = {cell.label: side_of(cell) for cell in report.cells}
    own = f"{artefact.model}@{artefact.policy.name}"
    base = {label.partition("@")[2]: side for label, side in sides.items() if label.startswith(f"{artefact.model}@") and label != own}
    lines = {label: side for label, side in sides.items() if "@" not in label}
    told = {
        cell.label.partition("@")[2] or cell.label: figures_told(task, cell) for cell in report.cells
    } | {"n": len(sides[own].cases)}  # fmt: skip
    return judge(task, base, sides[own], lines, seed=artefact.seed), told, reused


def _reused(artefact: Artefact) -> bool:
    """Whether test was opened before for this model and task; what a limit ended is gone on with, and is the same opening."""
    path = state_dir() / LOG
    if artefact.gates:
        return True
    if not path.exists():
        return False
    key = [artefact.task, artefact.model, artefact.data["hash"]]
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        opened = isinstance(entry, dict) and [entry.get(name) for name in ("task", "model", "data")] == key
        if opened and (entry.get("ruled") or entry.get("artefact") != artefact.hash):
            return True
    return False


def _log(artefact: Artefact, *, ruled: bool) -> None:
    """Note that test was opened for an artefact, or that the gate has ruled on it."""
    entry = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "task": artefact.task, "model": artefact.model,
        "data": artefact.data["hash"], "artefact": artefact.hash, "ruled": ruled,
    }  # fmt: skip
    path = state_dir() / LOG
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="ascii") as file:
        file.write(json.dumps(entry) + "\n")


def _record(ruling: Ruling, *, reused: bool) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "verdict": ruling.verdict, "called": ruling.called, "reused": reused,
        "figure": ruling.figure, "primary": ruling.primary, "cases": ruling.cases, "conversations": ruling.conversations,
        "reasons": list(ruling.reasons),
        "gains": [
            {"over": one.over, "primary": _triple(one.change.difference), "all": _triple(one.whole.difference), "p": one.change.p,
             "adjusted_p": one.adjusted_p, "harm": one.harm}
            for one in ruling.gains
        ],
        "baselines": {name: list(values) for name, values in ruling.baselines.items()},
        "languages": {name: list(values) for name, values in ruling.languages.items()},
    }  # fmt: skip


def _triple(interval: Any) -> list[float | None]:
    return [interval.value, interval.low, interval.high]


def ruling_text(path: Path, artefact: Artefact, ruling: Ruling, *, reused: bool) -> str:
    """Return a ruling as text."""
    lines = [
        f"{artefact.policy.name} ({artefact.hash}) for {artefact.model}: {ruling.verdict.upper()}"
        + (f", may be called {ruling.called}" if ruling.called else "") + (", test REUSED" if reused else ""),
        f"  {ruling.figure} on {ruling.cases} test cases of {ruling.conversations} conversations ({ruling.primary})",
    ]  # fmt: skip
    for one in ruling.gains:
        interval = one.whole.difference
        whole = "" if interval.value is None else f"; all languages {interval.value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
        lines.append(f"  over {one.over}: {_number(one.change.base)} -> {_number(one.change.new)}, {gain_text(one)}{whole}")
    lines += [f"  {name}: {_number(value)}" for name, (value, _) in ruling.baselines.items()]
    lines += [f"  refused: {why}" for why in ruling.reasons]
    lines.append("  by language, base -> tuned: " + ", ".join(_language(*item) for item in ruling.languages.items()))
    return "\n".join([*lines, f"  written into {path}"])


def _language(name: str, values: Sequence[float | None]) -> str:
    return f"{name} {_number(values[0])} -> {_number(values[1])}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
