"""`salience data validate` and `salience data stats`."""

from __future__ import annotations

import argparse

import msgspec

from evals.cli.output import print_json, print_text
from evals.data.check import validate as check
from evals.data.describe import describe, render
from evals.data.files import load_dataset
from evals.report.safe import printable


def validate(options: argparse.Namespace) -> int:
    """Run `salience data validate`; 1 if there is a fault."""
    findings, cases = check(options.data)
    if options.json:
        print_json({"cases": cases, "faults": [msgspec.to_builtins(finding) for finding in findings]})
    else:
        for finding in findings:
            print_text(printable(str(finding)))
        print_text(f"{options.data}: {cases} cases, {len(findings)} faults")
    return 1 if findings else 0


def stats(options: argparse.Namespace) -> int:
    """Run `salience data stats`."""
    description = describe(load_dataset(options.data))
    if options.json:
        print_json(description)
    else:
        print_text(render(description))
    return 0
