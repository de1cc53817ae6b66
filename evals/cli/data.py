"""`salience data validate`, `stats` and `agreement`."""

from __future__ import annotations

import argparse

import msgspec

from evals.agreement import agreement as measure
from evals.cli.output import print_json, print_text
from evals.data.check import validate as check
from evals.data.describe import describe, render
from evals.data.files import load_dataset
from evals.matching.base import create_matcher
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


def agreement(options: argparse.Namespace) -> int:
    """Run `salience data agreement`."""
    found = measure(load_dataset().of_split(options.split).cases, create_matcher(options.matcher))
    if options.json:
        print_json(found)
    else:
        print_text("\n".join(f"{name.replace('_', ' '):26} {_number(value)}" for name, value in found.items()))
    return 0


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"
