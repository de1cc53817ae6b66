"""`salience merge`: shares of a run become one run."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.cli.output import print_text
from evals.folders import rows_of
from evals.merge import merge_runs
from evals.runindex import RunIndex


def run(options: argparse.Namespace) -> int:
    """Run `salience merge` and return its exit code."""
    output = Path(options.output)
    whole = merge_runs([Path(part) for part in options.parts], output)
    ids = whole["data"]["cases"]
    with RunIndex(output, rows_of(whole), ids, whole["repeats"]) as index:
        rows, repeats = range(len(whole["cells"])), range(whole["repeats"])
        lacking = sum(not index.has(row, case, repeat) for row in rows for case in range(len(ids)) for repeat in repeats)
    print_text(f"{output}: {len(ids)} cases of {len(options.parts)} shares    (score it: salience score {output})")
    if lacking:
        print_text(f"{lacking} replies are lacking: a share is unfinished. The run's own command with -o {output} asks for them.")
    return 3 if lacking else 0
