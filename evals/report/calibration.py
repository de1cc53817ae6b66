"""A calibration as plain text for the terminal. Every number comes from it; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator

from evals.calibration.calibrate import KEEP_WORTHINESS, Calibration
from evals.calibration.figures import KeepFigures
from evals.calibration.maps import FEW_ITEMS
from evals.report.numbers import interval, share
from evals.report.safe import printable
from evals.results import CellResult

_ROWS = (
    ("auroc", "AUROC"), ("skill", "Brier skill against the base rate"), ("brier", "Brier score"), ("miscalibration", "  miscalibration"),
    ("discrimination", "  discrimination"), ("uncertainty", "  uncertainty"), ("smooth_ece", "smooth calibration error"),
    ("null_ece", "  95% of perfect models stay below"), ("binned_ece", "calibration error in 10 bins"), ("log_loss", "log loss"),
    ("slope", "calibration slope"), ("intercept", "calibration intercept"), ("risk_area", "area under the risk-coverage curve"),
)  # fmt: skip

_UNMAPPED = ("auroc", "risk_area", "slope", "intercept")
"""What is not told behind a map: a map that never falls changes no order but for ties, and where it is nearly flat the base rates of the
folds, which differ by chance, would seem to be an order turned round."""


def calibration_text(cell: CellResult, found: Calibration) -> str:
    """Return what the salience of a row is worth.

    Args:
        cell: The row.
        found: What was measured and learned.
    """
    return "\n".join(_lines(cell, found)) + "\n"


def _lines(cell: CellResult, found: Calibration) -> Iterator[str]:
    raw, mapped = found.raw, found.mapped
    rate = "-" if raw.base_rate is None else share(raw.base_rate)
    yield printable(cell.label)
    yield f"Keep-worthiness: {raw.items} candidates of {raw.conversations} conversations, {rate} of them required memories (the base rate)"
    yield "Optional memories and duplicates are left out; candidates below the operating threshold are matched and counted too"
    auroc = cell.figures["auroc"]
    yield f"AUROC 95% interval {interval(auroc.low, auroc.high) or 'not known'}; an interval around .50 shows no order"
    yield f"{'':36}{'as given':>10}{'mapped':>10}"
    for name, title in _ROWS:
        behind = None if name in _UNMAPPED else mapped
        yield f"{title:36}{_number(raw, name):>10}{_number(behind, name):>10}"
    yield f"Salience has {len(found.reliability.get('salience', []))} different values here"
    if auroc.low is not None and auroc.high is not None and auroc.low <= 0.5 <= auroc.high:
        yield "No order is shown: a map can only move candidates towards the base rate, and a threshold parts them no better than chance"
    if found.choice is None:
        yield f"No map: {found.without_map}"
    else:
        scores = ", ".join(f"{kind} {value:.4f}" for kind, value in found.choice.scores.items())
        yield f"Map: {found.choice.kind} (Brier score on conversations not seen: {scores})"
        if found.tells_nothing:
            yield "It is flat: salience tells nothing here, and every candidate gets the base rate"
        yield f"Behind it salience is the {KEEP_WORTHINESS}"
        yield "The column mapped is cross-fitted: each conversation by a map that was chosen and fitted without it"
    if raw.items < FEW_ITEMS:
        yield f"Fewer than {FEW_ITEMS} candidates: read every figure with care; only identity and Platt's map are tried"
    threshold, grade = found.threshold, found.grade
    yield f"Operating threshold: {threshold.raw:.3f} as given, {found.operating_threshold:.4f} mapped"
    yield (
        f"  F-beta {_short(threshold.score)} on what chose it, {_short(threshold.crossed)} on conversations not seen, "
        f"{_short(threshold.at_half)} at .50; as good above {threshold.plateau[0]:.3f} up to {threshold.plateau[1]:.3f}"
    )
    yield f"Grade: {grade.pairs} matched memories, salience as given beside the labelled"
    yield (
        f"  rank correlation {_short(grade.spearman)}, mean error {_short(grade.mae)}, bias {_short(grade.bias)}, "
        f"ordered as labelled {_short(grade.ordered)}"
    )
    yield f"  bias on short vital ones {_short(grade.short_vital)}, on long trivial ones {_short(grade.long_trivial)}"
    yield printable(str(cell.signature))


def _number(figures: KeepFigures | None, name: str) -> str:
    return "-" if figures is None else _short(getattr(figures, name))


def _short(value: float | None) -> str:
    return share(None if value is None else round(value, 2) + 0.0)  # adding zero turns a negative zero into zero
