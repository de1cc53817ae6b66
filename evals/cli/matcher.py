"""`salience matcher validate`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from evals.cli.output import note, print_json, print_text
from evals.data.files import load_dataset
from evals.data.labelled import load_labelled
from evals.judge import JudgeMatcher, keep_agreement
from evals.matching.pairs import FILES, bundled_pairs, read_pairs
from evals.matching.validate import validate as measure
from evals.matching.validation_text import validation_text
from evals.paths import state_dir
from evals.report.support import support_text
from evals.scorers import matcher_named
from evals.support_agreement import SupportSlice, measure_support

_BUNDLED = {"natural": "Pairs of what models returned with the nearest label", "pairs": "Pairs written to test matchers, 41% near misses"}


def validate(options: argparse.Namespace) -> int:
    """Run `salience matcher validate`: agreement on the report half, by language and phenomenon, and what each guard did."""
    files = {"": read_pairs(Path(options.pairs))} if options.pairs else {name: read_pairs(bundled_pairs(name)) for name in _BUNDLED}
    if options.pairs and (left := sum(pair.half != options.half for pair in files[""])):
        note(f"{left} pairs of the other half are left out; --half chooses")
    matcher = matcher_named(options.matcher, options.base_url)
    behind = [pair for name in FILES for pair in read_pairs(bundled_pairs(name))]
    found = {name: measure(matcher, pairs, options.half, behind) for name, pairs in files.items()}
    support: tuple[SupportSlice, ...] = ()
    if isinstance(matcher, JudgeMatcher):
        if not options.pairs:
            support = measure_support(matcher.support, load_labelled("support").rows, load_dataset().cases)
        note(f"{matcher.asker.calls} answers were asked of {matcher.model.name}; all are kept in {state_dir()}")
        if "natural" in found and options.half == "report":
            first = found["natural"]
            kappa = first.overall.kappa
            figures = {"kappa": kappa.value, "low": kappa.low, "high": kappa.high}
            rounded = {name: None if value is None else round(value, 4) for name, value in figures.items()}
            value = support[0].kappa.value
            told = {} if value is None else {"support_kappa": round(value, 4)}
            keep_agreement(matcher, {**rounded, **told, "provisional": first.provisional})
    if options.json:
        first, *others = found.values()
        told_support = {"support": [asdict(one) for one in support]} if support else {}
        print_json({**asdict(first), **({"written": asdict(others[0])} if others else {}), **told_support})
    else:
        print_text("\n".join(validation_text(validation, _BUNDLED.get(name, ""), options.show) for name, validation in found.items()))
        if support:
            print_text(support_text(support))
    return 0
