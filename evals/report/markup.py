"""Foreign text in GitHub's Markdown: nothing in it is a heading, link, mention, reference, table cell or tag. And tables and folds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evals.report.safe import printable

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;", ":": "&#58;", "|": "&#124;"}
_MARKS = set("\\`*_{}[]()+-!~=\"'$^")
_WEB = re.compile(r"(?i)\bwww\.")


def escape(text: str) -> str:
    """Return text that GitHub shows as it stands: Markdown and HTML in it do nothing, and addresses and names link nowhere.

    Args:
        text: Any text; it comes back on one line.
    """
    line = " ".join(printable(text, keep_lines=True).split())
    line = _WEB.sub(lambda found: found[0][:-1] + "\0", line)
    shown = "".join(_HTML.get(char) or ("\\" + char if char in _MARKS else char) for char in line)
    return shown.replace("\0", "&#46;")


def code(text: str) -> str:
    """Return text as inline code, whatever backticks it holds; not for table cells, where a bar would end it.

    Args:
        text: Any text; it comes back on one line.
    """
    line = " ".join(printable(text, keep_lines=True).split())
    runs = [len(run) for run in re.findall("`+", line)]
    fence = "`" * (max(runs, default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def pipe_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table, the first as its head; the first column is flush left, the others right.

    Args:
        rows: Cells that are escaped already; all rows equally long.
    """
    head, *rest = [f"| {' | '.join(row)} |" for row in rows]
    rule = "|".join(["", ":--", *["--:"] * (len(rows[0]) - 1), ""])
    return "\n".join([head, rule, *rest])


def details(summary: str, content: str) -> str:
    """Return a fold that is closed at first.

    Args:
        summary: What stands on it; escaped here.
        content: Markdown.
    """
    return f"<details><summary>{escape(summary)}</summary>\n\n{content}\n\n</details>"
