"""`salience matcher validate`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from evals.cli.output import note, print_json, print_text
from evals.judge import JudgeMatcher, keep_agreement
from evals.matching.pairs import default_pairs_path, read_pairs
from evals.matching.validate import validate as measure
from evals.matching.validation_text import validation_text
from evals.paths import state_dir
from evals.scorers import matcher_named


def validate(options: argparse.Namespace) -> int:
    """Run `salience matcher validate`: agreement on the report half, by language and phenomenon, and what each guard did."""
    pairs = read_pairs(Path(options.pairs) if options.pairs else default_pairs_path())
    matcher = matcher_named(options.matcher, options.base_url)
    validation = measure(matcher, pairs, options.half)
    if isinstance(matcher, JudgeMatcher):
        note(f"{matcher.calls} answers were asked of {matcher.model.name}; all are kept in {state_dir()}")
        if not options.pairs and options.half == "report":
            kappa = validation.overall.kappa
            keep_agreement(matcher, {"kappa": kappa.value, "low": kappa.low, "high": kappa.high, "provisional": validation.provisional})
    if options.json:
        print_json(asdict(validation))
    else:
        print_text(validation_text(validation))
    return 0
