"""`salience matcher validate`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from evals.cli.output import print_json, print_text
from evals.matching.base import create_matcher
from evals.matching.pairs import default_pairs_path, read_pairs
from evals.matching.validate import validate as measure
from evals.matching.validation_text import validation_text


def validate(options: argparse.Namespace) -> int:
    """Run `salience matcher validate`: agreement on the report half, by language and phenomenon, and what each guard did."""
    pairs = read_pairs(Path(options.pairs) if options.pairs else default_pairs_path())
    validation = measure(create_matcher(options.matcher), pairs, options.half)
    if options.json:
        print_json(asdict(validation))
    else:
        print_text(validation_text(validation))
    return 0
