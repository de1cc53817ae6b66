"""Foreign text in GitHub's Markdown, where nothing of it may act; and tables and folds. Text in, text out.

Foreign text becomes code spans, and nothing else. On GitHub neither a backslash nor a character reference keeps "@name" from notifying
somebody or "#12" from becoming a link, as both are resolved before it looks for them; it does not look into code, and neither does
anything in Markdown or HTML. Sentences that quote foreign text keep their plain words: only what holds more than letters, or more than
figures, becomes code. Code in a table can hold no bar, so one is written out there as any character that must not appear is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from evals.report.safe import printable

_BEFORE, _AFTER = "(\"'", ")\"'.,;:?!"
_WORD = re.compile(rf"""[{_BEFORE}]*(?:[^\W\d_]+(?:['’-][^\W\d_]+)*|\.?\d{{1,6}}(?:[.,]\d{{1,6}})*%?)[{_AFTER}]*""")


def code(text: str) -> str:
    """Return foreign text as a code span; what does not print is written out, line ends too.

    Args:
        text: Any text.
    """
    shown = printable(text)
    if not shown.strip():
        return "(empty)"
    fence = "`" * (longest_run(shown) + 1)
    space = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{fence}{space}{shown}{space}{fence}"


def plain(text: str) -> str:
    """Return a sentence that may quote foreign text on one line: its plain words as they are, everything between them as code.

    Args:
        text: Any text.
    """
    words = printable(text, keep_lines=True).split()
    # What opens a line could make a list or a heading of it, so it must begin with a letter.
    bare = [_WORD.fullmatch(word) is not None and (place > 0 or word[0].isalpha()) for place, word in enumerate(words)]
    runs = groupby(zip(bare, words, strict=True), key=lambda pair: pair[0])
    joined = [(is_bare, " ".join(word for _, word in run)) for is_bare, run in runs]
    return " ".join(run if is_bare else _core_as_code(run) for is_bare, run in joined)


def _core_as_code(run: str) -> str:
    """A run of words as code but for the punctuation around it, of which nothing can be made."""
    headless = run.lstrip(_BEFORE)
    core = headless.rstrip(_AFTER)
    if not core:
        return code(run)
    return run[: len(run) - len(headless)] + code(core) + headless[len(core) :]


def longest_run(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max((len(run) for run in re.findall("`+", text)), default=0)


def pipe_table(rows: Sequence[Sequence[str]], *, left: int) -> str:
    """Return rows as a pipe table.

    Args:
        rows: Cells that are Markdown already, the header first, all equally long.
        left: So many columns are flush left, the others right.
    """
    cells = [[text.replace("|", r"\x7c") for text in row] for row in rows]
    widths = [max(3, *(len(row[at]) for row in cells)) for at in range(len(cells[0]))]
    rule = ["-" * size if at < left else "-" * (size - 1) + ":" for at, size in enumerate(widths)]
    padded = [[text.ljust(size) if at < left else text.rjust(size) for at, (text, size) in enumerate(zip(row, widths, strict=True))]
              for row in cells]  # fmt: skip
    return "\n".join(f"| {' | '.join(row)} |" for row in [padded[0], rule, *padded[1:]])


def details(summary: str, body: str) -> str:
    """Return a folded block. The empty lines make its body Markdown.

    Args:
        summary: What stands on it; no foreign text.
        body: Markdown.
    """
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
