"""`salience policy examples`: seeded sets of train cases as examples, each scored on dev; the best becomes a policy."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from evals.cli.exit_codes import exit_code
from evals.cli.output import print_text
from evals.cli.running import Bench, BenchOptions
from evals.data.files import load_dataset
from evals.errors import IncompleteError, WorkbenchError
from evals.examples import as_example, draw
from evals.paths import state_dir
from evals.plan import RunConfig, is_baseline, make_plan
from evals.report.numbers import share
from evals.results import CellResult
from evals.scorers import make_scorer
from salience import Policy


def run(options: argparse.Namespace) -> int:
    """Run `salience policy examples` and return its exit code."""
    output = Path(options.output)
    if output.exists():
        raise WorkbenchError(f"{output} exists already; policies are never overwritten, choose another name")
    if not output.parent.is_dir():
        raise WorkbenchError(f"{output.parent} is no folder; choose another place with -o")
    if is_baseline(options.model):
        raise WorkbenchError(f"{options.model} is a baseline and takes no policy")
    base, train = Policy.load(options.base), load_dataset(options.data).of_split("train")
    sets = draw(train.cases, sets=options.sets, size=options.size, negatives=options.negatives, seed=options.seed)
    folder = state_dir() / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, chosen in enumerate(sets):
        path = folder / f"set-{number}.json"
        replace(base, name=f"set-{number}", examples=tuple(map(as_example, chosen)), examples_as="turns", provenance={}).save(path)
        paths.append(str(path))
    config = RunConfig(
        data=options.data, models=(options.model,), policies=tuple(paths), split="dev", seed=options.seed, base_url=options.base_url
    )
    plan = make_plan(config)
    bench_options = BenchOptions(base_url=options.base_url, quiet=options.quiet)
    with Bench(lambda: make_scorer("classifier", "default", options.seed), bench_options) as bench:
        report = bench.run(plan)
    if exit_code(report):
        raise IncompleteError(f"too many calls failed to choose by; nothing is lost, repeat the command ({report.folder})")
    cells = report.cells
    for cell in cells:
        print_text(f"{cell.policy}: dev F1 {share(cell.figures['f1'].value)}, balanced {share(cell.figures['balanced'].value)}")
    best = max(range(len(cells)), key=lambda i: _rank(cells[i]))
    figure = cells[best].figures["f1"]
    provenance = {
        "made_by": f"salience policy examples -m {options.model} --base {base.name} --sets {options.sets} --seed {options.seed}",
        "examples": [case.id for case in sets[best]],
        "train": train.hash,
        "chosen_on": str(cells[best].signature),
        "dev_f1": [figure.value, figure.low, figure.high],
        "dev_f1_of_all_sets": [cell.figures["f1"].value for cell in cells],
    }
    policy = replace(Policy.load(paths[best]), name=options.name, provenance=provenance)
    policy.save(output)
    print_text(f"{output}: {policy.name} {policy.hash}, from {cells[best].policy}")
    return 0


def _rank(cell: CellResult) -> tuple[float, float]:
    return (cell.figures["f1"].value or 0.0, cell.figures["balanced"].value or 0.0)
