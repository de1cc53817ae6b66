"""Writes a validation as plain text, for the terminal. Every number comes from the validation; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator

from evals.matching.validate import Figure, Slice, Validation
from evals.report.safe import clip, printable

_IN_A_LINE = 8  # thresholds
_SHOWN = 110  # characters of a statement
_HEAD = f"{'':16}{'pairs':>6}  {'kappa':>18}  {'accuracy':>18}  {'precision':>18}  {'recall':>18}  {'AUC':>5}"


def validation_text(validation: Validation, title: str = "", show: int = 0) -> str:
    """Return a validation as lines of text: agreement as a whole, by language, by phenomenon, then the guards.

    Args:
        validation: What was measured.
        title: What the pairs are, a line of its own; "" for none.
        show: How many of the pairs that are judged otherwise than people do are shown.
    """
    return "\n".join([*([title] if title else []), *_lines(validation, show)]) + "\n"


def _lines(validation: Validation, show: int) -> Iterator[str]:
    described = validation.matcher
    yield f"matcher {described['matcher']} {described['version']}, {validation.half} half, pairs {validation.pairs_sha256[:12]}"
    limits = [f"{name.removeprefix('threshold_')} >= {value:.3f}" for name, value in described.items() if name.startswith("threshold_")]
    for start in range(0, len(limits), _IN_A_LINE):
        yield "  ".join(limits[start : start + _IN_A_LINE])
    if validation.provisional:
        yield "provisional: languages marked * have fewer than 40 dev pairs behind their thresholds"
    yield "95% intervals in brackets; AUC is that of the score before guards veto"
    group = ""
    for part in validation.slices:
        if part.group != group:
            group = part.group
            yield ""
            yield _HEAD if group == "all" else f"by {group}"
        yield _row(part)
    if validation.at_rates:
        yield ""
        yield "expected where near misses are fewer, as in replies (bias: matches counted too many, as a share of the true ones)"
    for one in validation.at_rates:
        told = "  ".join(
            f"{name} {_short(value)}"
            for name, value in (("kappa", one.kappa), ("precision", one.precision), ("recall", one.recall), ("bias", one.bias))
        )
        yield f"  {one.near_misses:.0%} near misses: {told}"
    yield from _bias_and_guards(validation)
    if validation.wrong and show:
        yield ""
        yield f"judged otherwise than people do: {len(validation.wrong)} pairs" + (
            f", {show} shown" if show < len(validation.wrong) else ""
        )
        for pair in validation.wrong[:show]:
            yield f"  people say {'the same' if pair.match else 'not the same'}: {clip(printable(pair.predicted), _SHOWN)}"
            yield f"    against: {clip(printable(pair.gold), _SHOWN)}"
            yield f"    matcher: {clip(printable(pair.reason), _SHOWN)}"
    if validation.overall.unscored:
        yield f"unscored: {validation.overall.unscored} pairs, because a model is not installed"


def _bias_and_guards(validation: Validation) -> Iterator[str]:
    bias = validation.overall.bias
    yield ""
    if bias.value is not None and bias.low is not None and bias.high is not None:
        yield f"bias of counted matches: {bias.value:+.0%} [{bias.low:+.0%}, {bias.high:+.0%}] of the true ones, as the pairs came"
        yield ""
    yield "guards: pairs that would have matched without them, and pairs that the weights refused too for what they found"
    for count in validation.guards:
        vetoes = f"{count.true_vetoes:4} vetoed rightly {count.false_vetoes:4} wrongly"
        yield f"  {count.guard:14}{vetoes}   {count.true_objections:4} weighed down rightly {count.false_objections:4} wrongly"


def _row(part: Slice) -> str:
    name = part.name + ("*" if part.provisional and part.group != "phenomenon" else "")
    figures = "  ".join(f"{_figure(figure):>18}" for figure in (part.kappa, part.accuracy, part.precision, part.recall))
    return f"{name:16}{part.pairs:6}  {figures}  {_short(part.auc):>5}"


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    return f"{_short(figure.value)} [{_short(figure.low)}, {_short(figure.high)}]"


def _short(value: float | None) -> str:
    """Return two decimals without a leading zero."""
    if value is None:
        return "-"
    text = f"{round(value, 2) + 0.0:.2f}"  # adding zero turns a negative zero into zero
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text
