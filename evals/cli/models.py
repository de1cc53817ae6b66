"""`salience models list` and `salience models pull`."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from evals.cli.output import note, print_json, print_text
from evals.models import list_models
from evals.models import pull as pull_weights


def show_list(options: argparse.Namespace) -> int:
    """Run `salience models list`."""
    rows = list_models()
    if options.json:
        print_json([asdict(row) for row in rows])
        return 0
    width = max(len(row.name) for row in rows)
    state = max(len(row.state) for row in rows)
    for row in rows:
        print_text(f"{row.name:{width}}  {row.state:{state}}  {row.how}")
    return 0


def pull(options: argparse.Namespace) -> int:
    """Run `salience models pull`."""
    print_text(str(pull_weights(options.name, note)))
    return 0
