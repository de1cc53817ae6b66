"""`salience merge`: shares of a run become one run."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.cli.output import print_text
from evals.merge import merge_runs


def run(options: argparse.Namespace) -> int:
    """Run `salience merge` and return its exit code."""
    output = Path(options.output)
    whole = merge_runs([Path(part) for part in options.parts], output)
    print_text(f"{output}: {len(whole['data']['cases'])} cases of {len(options.parts)} shares    (score it: salience score {output})")
    return 0
