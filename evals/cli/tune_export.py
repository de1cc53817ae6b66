"""`salience tune export`, `show` and `verify`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.cli.output import note, print_text, terminal_width
from evals.errors import WorkbenchError
from evals.limits import Budget, Limits
from evals.paths import state_dir
from evals.plan import load_task
from evals.report.tables import write_whole
from evals.tune.artefact import Artefact, read_artefact, write_artefact
from evals.tune.export import load_python, policy_file, python_module, typescript_module
from evals.tune.finish import read_candidates
from evals.tune.show import plot_candidates, show_artefact, show_candidates

if TYPE_CHECKING:
    from evals.tune.tasks import AnyPolicy

CANDIDATES = "candidates.jsonl"
ARTEFACT = "artefact.json"


def run(options: argparse.Namespace) -> int:
    """Run `salience tune export` and return 0."""
    path = Path(options.artefact)
    artefact = read_artefact(path)
    if options.name:
        artefact = replace(artefact, policy=replace(artefact.policy, name=options.name))
    wanted: list[tuple[str | None, Callable[[Path], object]]] = [
        (options.py, lambda to: write_whole(to, python_module(artefact, refused=options.refused).encode("ascii"))),
        (options.ts, lambda to: write_whole(to, typescript_module(artefact, refused=options.refused).encode("ascii"))),
        (options.json, lambda to: write_artefact(artefact, to)),
        (options.policy, lambda to: policy_file(artefact, refused=options.refused).save(to)),
    ]
    if not any(name for name, _ in wanted):
        raise WorkbenchError("nothing to write: give --py FILE, --ts FILE, --json FILE or --policy FILE")
    for name, write in wanted:
        if name:
            try:
                write(Path(name))
            except OSError as error:
                raise WorkbenchError(f"{name}: cannot be written: {error.strerror or error}") from None
            note(f"wrote {name}")
    return 0


def show(options: argparse.Namespace) -> int:
    """Run `salience tune show` and return 0."""
    path = Path(options.artefact)
    folder = path if path.is_dir() else path.parent
    whole = folder / ARTEFACT if path.is_dir() else path
    artefact = read_artefact(whole) if whole.exists() else None
    rows = read_candidates(folder / CANDIDATES) if (folder / CANDIDATES).exists() else []
    if artefact is None and not rows:
        raise WorkbenchError(f"{path}: holds neither {ARTEFACT} nor {CANDIDATES}; give the folder that salience tune named")
    width = terminal_width() or 120
    parts = [] if artefact is None else [show_artefact(artefact, width)]
    if rows:
        base = artefact.base.system if artefact is not None else str(rows[0]["system"])
        parts.append(show_candidates(rows, width, base=base if options.diff else None))
    print_text("\n\n".join(parts))
    if options.plot:
        if not rows:
            raise WorkbenchError(f"{folder}: has no {CANDIDATES} to draw")
        plot_candidates(rows, Path(options.plot))
        note(f"wrote {options.plot}")
    return 0


def verify(options: argparse.Namespace) -> int:
    """Run `salience tune verify` and return 0, or 1 where what is sent differs."""
    from evals.cli.tune import model_of
    from evals.tune.engine import Desk, Engine
    from evals.tune.stops import TuningStopped
    from evals.tune.verify import verify as compare

    artefact, policy = _exported(Path(options.artefact))
    task_name = "extraction" if hasattr(policy, "options") else "consolidation"
    data = options.data or (artefact.data["argument"] if artefact is not None else task_name)
    name = options.model or (artefact.model if artefact is not None else None)
    if name is None:
        raise WorkbenchError(f"{options.artefact} does not say for which model: give -m MODEL")
    cases = list(load_task(task_name, data).of_split("dev").cases)  # type: ignore[arg-type]
    task = _task(task_name, cases, policy)
    asked = [case for case in cases if task.asks(case)][: options.limit]
    model = model_of(name, options.base_url, options.jobs, options.timeout)
    limits = Limits(calls=options.max_calls, tokens=options.max_tokens, cost=options.max_cost)
    with Desk(state_dir() / "replies.sqlite", Budget(limits)) as desk:
        try:
            found = compare(task, policy, asked, Engine(model, desk, seed=artefact.seed if artefact is not None else 0))
        except TuningStopped as stop:
            note(str(stop))
            return stop.exit_code
        finally:
            desk.run(model.close())
    requests = sum(one.requests for one in found)
    same = [one for one in found if one.same_requests]
    replies = [one for one in found if one.same_replies]
    print_text(
        f"{policy.name} ({policy.hash}) on {name}: {len(found)} dev cases, {requests} requests; the plain extractor sends what the search "
        f"sends, byte for byte, in {len(same)} of {len(found)}; the model answers the same in {len(replies)} of {len(same)}"
    )
    for one in found:
        if not one.same_requests:
            print_text(f"  {one.case}: the requests differ")
        elif one.same_replies is False:
            print_text(f"  {one.case}: the same request, another reply (the model is not deterministic here)")
    return 0 if len(same) == len(found) else 1


def _exported(path: Path) -> tuple[Artefact | None, AnyPolicy]:
    """What a file holds: an artefact, an exported module or a policy."""
    from evals.tune.export import policy_of_module
    from salience import ConsolidationPolicy, Policy, PolicyError

    if path.suffix == ".py":
        return None, policy_of_module(load_python(path), path)
    try:
        artefact = read_artefact(path)
    except WorkbenchError as error:
        for kind in (Policy, ConsolidationPolicy):
            try:
                return None, kind.load(path)
            except PolicyError:
                continue
        raise error from None
    return artefact, artefact.policy


def _task(name: str, cases: list[Any], policy: AnyPolicy) -> Any:
    from evals.scorers import make_scorer
    from evals.tune.tasks import ConsolidationTask, ExtractionTask

    kind: Any = ExtractionTask if name == "extraction" else ConsolidationTask
    return kind(cases, make_scorer("lexical", "default", 0), base=[policy])
