"""The arguments of `salience compare`, `gate` and `baseline`. Only argparse is imported."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Add = Callable[[str, str, str, str], argparse.ArgumentParser]
"""Adds a verb: name, handler, what it does, epilog."""
_ROW = "a run folder, RUN:model@policy for one of its rows, or a baseline file"
_GATE = """\
examples:
  salience baseline .salience/runs/RUN:openai/NAME@mine -o baseline.json   (commit it)
  salience gate .salience/runs/NEW --base baseline.json --pins pins.toml --require 'recall>=.4'

pins.toml:
  [[found]]
  case = "trip-1"
  memory = "m2"
  [[never]]
  text = "The user is married"     (or contains = "hunter2"; with case = ID in that case only)

exit codes: 0 pass, 1 fail, 4 inconclusive (--inconclusive pass|fail maps it), 2 usage, 3 incomplete run
"""


def compare_verbs(add: Add, scoring: Callable[[argparse.ArgumentParser], None], amount: Callable[[str], float]) -> None:
    """Declare the verbs.

    Args:
        add: Adds a verb to the parser.
        scoring: Adds the options of scoring to a verb.
        amount: Reads a number from 0 up.
    """
    compare = add("compare", "evals.cli.compare:run_compare", "The paired difference of two rows: what won, what lost, and why.", "")
    compare.add_argument("base", metavar="BASE", help=_ROW)
    compare.add_argument("new", metavar="NEW", help=_ROW)
    gate = add("gate", "evals.cli.compare:run_gate", "Pass or fail a row against a base: for CI.", _GATE)
    gate.add_argument("run", metavar="NEW", help="a run folder, or RUN:model@policy for one of its rows")
    gate.add_argument("--base", required=True, metavar="BASE", help=_ROW)
    gate.add_argument(
        "--figure", metavar="NAME",
        help="what the margin is held against: f1 (the default), balanced, precision, recall, specificity or f1_due; of consolidation "
        "macro_f1 (the default), accuracy, target_accuracy or content_match; of scenarios balanced (the default) or recall",
    )  # fmt: skip
    gate.add_argument("--margin", type=amount, default=0.05, metavar="X", help="how much worse is tolerated (default: 0.05)")
    gate.add_argument("--max-leaks", type=_count, metavar="N", help="cases that may return a secret or an injected text (default: base's)")
    gate.add_argument("--require", action="append", default=[], metavar="'FIGURE>=X'", help="a hard limit, also FIGURE<=X; repeat for more")
    gate.add_argument("--pins", metavar="FILE", help="TOML: what must always be found, and what must never be stored")
    gate.add_argument("--inconclusive", choices=["pass", "fail"], help="what an inconclusive gate counts as (default: itself)")
    for parser, formats in ((compare, ".md or .json"), (gate, ".md, .json or .xml (JUnit)")):
        parser.add_argument(
            "--by", action="append", default=[], choices=["tag", "language", "length"], help="by slice too; repeat for more"
        )
        parser.add_argument("--show", type=_count, default=5, metavar="N", help="show N of the losses and N of the gains (default: 5)")
        parser.add_argument("-o", "--output", metavar="FILE", help=f"write the result too: {formats}")
    baseline = add("baseline", "evals.cli.compare:run_baseline", "Write a row of a run as a baseline file, to commit.", "")
    baseline.add_argument("run", metavar="RUN", help="a run folder, or RUN:model@policy for one of its rows")
    baseline.add_argument("-o", "--output", required=True, metavar="FILE", help="the baseline file; an existing one is replaced")
    for parser in (compare, gate, baseline):
        parser.add_argument("--data", metavar="NAME|FILE", help="the data to score against (default: that of the run)")
        parser.add_argument("--columns", nargs="+", default=[], metavar="FIELD=COLUMN", help="for data in another shape, as of eval")
        scoring(parser)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 up, got {text!r}")
    return int(text)
