"""Foreign text for a terminal: what a model, a dataset or a server wrote may not move the cursor, ring, hide or reorder anything."""

from __future__ import annotations

import unicodedata

_KEPT_FORMAT = {"\u200c", "\u200d"}  # joiners that scripts need and that reorder nothing
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str, *, keep_lines: bool = False) -> str:
    r"""Return text in which control, format, surrogate and unassigned characters are written out as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    Args:
        text: Any text.
        keep_lines: Whether line feeds stay.
    """
    out = []
    for char in text:
        if (keep_lines and char == "\n") or char in _KEPT_FORMAT or unicodedata.category(char) not in _HIDDEN:
            out.append(char)
        else:
            out.append(char.encode("unicode_escape").decode("ascii"))
    return "".join(out)


def clip(text: str, width: int) -> str:
    """Return text on one line and at most `width` characters long; the end that was cut off is marked by "..."."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."
