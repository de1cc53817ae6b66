"""How numbers are written, for every format of a report. Pure functions from numbers to text."""

from __future__ import annotations

UNDEFINED = "-"


def share(value: float | None) -> str:
    """Return a share from 0 to 1 with two decimals and no leading zero: ".07", "1.00"; "-" if undefined.

    Means of counts are told the same way, from 100 on as whole numbers: "2.50", "1,301".
    """
    if value is None:
        return UNDEFINED
    if value >= 100:
        return f"{value:,.0f}"
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text.replace("-0.", "-.")


def interval(low: float | None, high: float | None) -> str:
    """Return the bounds of an interval of shares: "[.22,.41]"; "" if there are none."""
    return "" if low is None or high is None else f"[{share(low)},{share(high)}]"


def count(value: int | None) -> str:
    """Return a whole number with thousands apart: "12,345"; "unknown" if not known."""
    return "unknown" if value is None else f"{value:,}"


def seconds(value: float) -> str:
    """Return a duration in seconds: "0.04", "12.3", "148"."""
    if value < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def duration(value: float) -> str:
    """Return a duration for people: "8 s", "3 min 05 s", "2 h 10 min"."""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def dollars(value: float | None) -> str:
    """Return US dollars: "$0", "$0.0042", "$0.25", "$12.30"; "unknown" if not known."""
    if value is None:
        return "unknown"
    if value == 0:
        return "$0"
    if value < 0.0001:
        return "<$0.0001"
    return f"${value:,.2f}" if value >= 0.01 else f"${value:.4f}"
