"""The small elements of the HTML page: text made safe, cells, drawn intervals, tables. What is in them is up to `evals.report.html`.

All text of models, data and servers passes `shown`; in an element it is escaped unless it is `Markup`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

from evals.report.numbers import UNDEFINED, interval, share
from evals.report.safe import printable
from evals.results import CellResult
from evals.stats import Interval

_LABEL = 56


def shown(text: str) -> str:
    """Return foreign text as a page may show it: as `printable`, with line feeds and tabs kept."""
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    return "\t".join(printable(part, keep_lines=True) for part in text.split("\t"))


class Markup(str):
    """Text that is HTML already; every other string is escaped on its way into the page."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: Its name.
        *children: `Markup`, text that is escaped, iterables of either, or None for nothing.
        **attributes: `_` stands for `-`, one at the end falls away; True gives the bare name, None and False nothing.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            word = key.rstrip("_").replace("_", "-")
            parts.append(word if value is True else f'{word}="{html.escape(shown(str(value)))}"')
    inner = "".join(map(_text, children))
    return Markup(f"<{' '.join(parts)}>{inner}</{name}>")


def _text(child: object) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(shown(child))
    if isinstance(child, Iterable):
        return "".join(map(_text, child))
    return html.escape(str(child))


def badge(number: int) -> Markup:
    """Return the number of a row in its colour."""
    return element("span", element("span", "row ", class_="unseen"), number, class_=f"badge c{(number - 1) % 8}")


def breakable(text: str) -> list[str]:
    """Return text as parts for `element` that may break after a slash."""
    return [part for piece in text.split("/") for part in ("/", Markup("<wbr>"), piece)][2:]


def whisker(figure: Interval, top: float, number: int, title: str) -> Markup:
    """Return an interval drawn on a line.

    Args:
        figure: A share.
        top: The right end of the line, above 0 and at most 1.
        number: The row's, from 1; it gives the colour.
        title: What the figure is called.
    """
    if figure.value is None:
        return element("span", UNDEFINED)
    at = [4 + 112 * min(1.0, max(0.0, value / top)) for value in (figure.value, figure.low or 0, figure.high or 0)]
    shapes = [element("line", x1=4, x2=116, y1=10, y2=10, class_="rail")]
    if figure.low is not None and figure.high is not None:
        shapes += [element("line", x1=f"{at[1]:.1f}", x2=f"{at[2]:.1f}", y1=10, y2=10, class_="whisker")]
        shapes += [element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=6, y2=14, class_="whisker end") for x in at[1:]]
    shapes += [element("circle", cx=f"{at[0]:.1f}", cy=10, r=4, class_="dot")]
    return element(
        "svg",
        shapes,
        viewBox="0 0 120 20",
        width=120,
        height=20,
        role="img",
        aria_label=f"{title} {told(figure)}",
        class_=f"c{(number - 1) % 8}",
    )


def figure_cell(figure: Interval, *, mark: str = "", bounds: bool = True) -> Markup:
    """Return a cell with a figure and below it the interval.

    Args:
        figure: The figure.
        mark: What is put after a figure that is defined.
        bounds: Whether the interval is given.
    """
    text = share(figure.value) + (mark if figure.value is not None else "")
    between = interval(figure.low, figure.high) if bounds else ""
    return element(
        "td", element("span", text, class_="value"), element("span", " ", between, class_="bounds") if between else None,
        class_="number", data_sort=_sort(figure.value),
    )  # fmt: skip


def number_cell(text: str, value: float | None) -> Markup:
    """Return a cell with a number as text, and the number that sorting goes by."""
    return element("td", text, class_="number", data_sort=_sort(value))


def _sort(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def scale_end(cells: Sequence[CellResult], name: str) -> float:
    """Return the right end of the scale that the intervals of a figure are drawn on: a tenth, at least .2."""
    highest = max((figure.high or figure.value or 0.0 for figure in (cell.figures[name] for cell in cells)), default=0.0)
    return min(1.0, max(0.2, math.ceil(highest * 10 - 1e-9) / 10))


def scale_head(top: float, title: str) -> list[Markup]:
    """Return the head of the column in which the intervals of a figure are drawn, from 0 to `top`."""
    return [
        element("span", f"{title} with its interval", class_="unseen"),
        element("span", element("span", "0"), element("span", title), element("span", share(top)), class_="scale", aria_hidden="true"),
    ]


def short_model(cell: CellResult) -> str:
    """Return the model of a row, a long path cut down to its last part."""
    model = shown(cell.model)
    if len(model) <= _LABEL or "/" not in model:
        return model
    head, _, tail = model.rpartition("/")
    provider = head.partition("/")[0].partition(":")[0]
    return f"{provider}:…/{tail}"


def short_label(cell: CellResult) -> str:
    """Return the label of a row with its model cut short."""
    return short_model(cell) if cell.policy is None else f"{short_model(cell)}@{shown(cell.policy)}"


def told(figure: Interval) -> str:
    """Return a figure with its interval: ".74 [.70,.78]"."""
    return f"{share(figure.value)} {interval(figure.low, figure.high)}".rstrip()


def row_name(number: int, cell: CellResult) -> list[Markup]:
    """Return number and label of a row."""
    return [badge(number), Markup(" "), element("span", short_label(cell), dir="auto", title=cell.label, class_="label")]


def table(caption: str, head: Sequence[Markup], body: Iterable[Markup], kind: str = "", **attributes: object) -> Markup:
    """A table that scrolls sideways by itself, also with the keyboard."""
    inside = element(
        "table", element("caption", caption), element("thead", element("tr", head)), element("tbody", body), class_=kind or None
    )
    return element("div", inside, class_="scroll", role="region", tabindex=0, aria_label=caption, **attributes)


def column_head(title: object, **attributes: object) -> Markup:
    """Return the head of a column."""
    return element("th", title, scope="col", **attributes)


def sortable(*titles: str) -> list[Markup]:
    """Return heads of columns with numbers, by which the script sorts."""
    return [column_head(title, class_="number", data_sortable="number") for title in titles]


def row_head(number: int, cell: CellResult) -> Markup:
    """Return the first cell of a row: its number, model and policy."""
    return element(
        "th",
        badge(number),
        element("span", element("span", breakable(short_model(cell)), class_="model", dir="auto", title=cell.model),
                None if cell.policy is None else element("span", cell.policy, class_="policy", dir="auto"), class_="row-name"),
        scope="row", data_sort=number,
    )  # fmt: skip
