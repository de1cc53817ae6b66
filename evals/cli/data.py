"""`salience data validate`, `stats`, `agreement` and `nearest`."""

from __future__ import annotations

import argparse
from dataclasses import asdict

import msgspec

from evals.agreement import GROUPS, passes_folder
from evals.agreement import agreement as measure
from evals.cli.output import print_json, print_text
from evals.data.check import Finding
from evals.data.check import validate as check
from evals.data.describe import describe, render
from evals.data.files import load_dataset
from evals.data.foreign import is_foreign
from evals.data.kinds import is_extraction
from evals.data.labelled import describe_labelled, load_labelled, render_labelled
from evals.kind_agreement import check_countable, kind_agreement
from evals.matching.vectors import VectorStore
from evals.near import NEAR
from evals.near import nearest as find_nearest
from evals.paths import state_dir
from evals.report.safe import printable
from evals.scorers import matcher_named


def validate(options: argparse.Namespace) -> int:
    """Run `salience data validate`; 1 if there is a fault."""
    if is_foreign(options.data, options.columns):
        dataset = load_dataset(options.data, options.columns)  # the first fault is an error that names row and column
        findings: list[Finding] = []
        cases = len(dataset.cases)
    else:
        findings, cases = check(options.data)
    if options.json:
        print_json({"cases": cases, "faults": [msgspec.to_builtins(finding) for finding in findings]})
    else:
        for finding in findings:
            print_text(printable(str(finding)))
        print_text(f"{options.data}: {cases} cases, {len(findings)} faults")
    return 1 if findings else 0


def nearest(options: argparse.Namespace) -> int:
    """Run `salience data nearest`; 1 if cases tell the same that should not."""
    store = VectorStore(state_dir() / "vectors.sqlite")
    if is_extraction(options.data):
        found = find_nearest(load_dataset(options.data).cases, store, most=options.limit, within=options.within)
    else:
        data = load_labelled(options.data)
        found = find_nearest(data.rows, store, most=options.limit, within=options.within, kind=data.kind)
    if options.json:
        print_json([asdict(pair) for pair in found])
    else:
        for pair in found:
            print_text(f"{pair.cosine:.3f}  {pair.first}  {pair.second}" + ("  the same?" if pair.cosine >= NEAR else ""))
    return 1 if any(pair.cosine >= NEAR for pair in found) else 0


def stats(options: argparse.Namespace) -> int:
    """Run `salience data stats`."""
    if not is_extraction(options.data, options.columns):
        described = describe_labelled(load_labelled(options.data, options.split))
        print_json(described) if options.json else print_text(render_labelled(described))
        return 0
    description = describe(load_dataset(options.data, options.columns).of_split(options.split))
    if options.json:
        print_json(description)
    else:
        print_text(render(description))
    return 0


def agreement(options: argparse.Namespace) -> int:
    """Run `salience data agreement`."""
    if not is_extraction(options.data):
        return _kind_agreement(options)
    folder = passes_folder(options.data)
    found = measure(load_dataset(options.data).of_split(options.split).cases, matcher_named(options.matcher), folder)
    if options.json:
        print_json(found)
        return 0
    languages = found.pop("by_language")
    bounds = {name: found.pop(name) for name in list(found) if name.endswith(("_low", "_high"))}
    for name, value in found.items():
        low, high = bounds.get(f"{name}_low"), bounds.get(f"{name}_high")
        interval = "" if low is None else f" [{_number(low)}, {_number(high)}]"
        print_text(f"{name.replace('_', ' '):26} {_number(value)}{interval}")
    print_text("\nlanguage  cases  F1 of memories  of required  of forbidden")
    for name, row in languages.items():
        memories, required, forbidden = (_number(row[f"{group}_f1"]) for group in GROUPS)
        print_text(f"{name:8} {row['cases']:6}  {memories:>14}  {required:>11}  {forbidden:>12}")
    return 0


def _kind_agreement(options: argparse.Namespace) -> int:
    data = load_labelled(options.data, options.split)
    check_countable(data)
    by_pass = kind_agreement(data, passes_folder(options.data))
    if options.json:
        print_json(by_pass)
        return 0
    print_text("pass                 rows   same  kappa  same target")
    for name, row in by_pass.items():
        targets = f"{row['same_target']} of {row['targets']}" if "targets" in row else "-"
        print_text(f"{printable(name):18} {row['rows']:6} {row['same']:6} {_number(row['kappa']):>6}  {targets:>11}")
    print_text("Each pass against the published labels, which settled what the first passes differed in.")
    return 0


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"
