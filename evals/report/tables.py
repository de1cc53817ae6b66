"""Frames as CSV and Parquet, and a file that is written whole or not at all. What is in a frame is up to `evals.frames`.

CSV is for spreadsheets, and everything in it may have been written by a model or found in data:

- It begins with a byte order mark. Without one Excel takes the file for the machine's old code page and garbles every language but
  English; `pandas.read_csv` passes over it, Python's `csv` does with the encoding "utf-8-sig".
- Text that a spreadsheet could take for a formula (its first visible character is one of = + - @, in ASCII or full width, or it begins with
  white space that is no space) gets an apostrophe in front, and so does the like after a semicolon, a tab or a line end within a text, as
  a spreadsheet that expects another separator than the comma would begin a cell there. All text stands in quotes, numbers and truth
  values stand bare, and what is not known is nothing between two commas.
- What does not print, but for tabs and line ends, is written out as `evals.report.safe.printable` does it.

Parquet and JSON hold the text as it came; use them where another program reads it.
"""

from __future__ import annotations

import io
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.errors import WorkbenchError
from evals.report.safe import printable

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

_BYTE_ORDER_MARK = "\ufeff"
_STARTS = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
_FORMULA = re.compile(_STARTS)
_INNER_FORMULA = re.compile(f'([;\t\r\n][ "]*)(?={_STARTS})')
_LINE_ENDS_AND_TABS = re.compile("[^\t\r\n]+")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as comma-separated values, with a byte order mark and lines that end in a line feed.

    Args:
        frame: Any frame of text, numbers and truth values; its index is left out.
    """
    columns = [[_cell(value) for value in frame[name].astype(object).where(frame[name].notna(), None)] for name in frame.columns]
    lines = [",".join(_cell(str(name)) for name in frame.columns), *(",".join(cells) for cells in zip(*columns, strict=True))]
    return _BYTE_ORDER_MARK + "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return '"' + safe_cell(value).replace('"', '""') + '"' if isinstance(value, str) else str(value)


def safe_cell(text: str) -> str:
    r"""Return text that a spreadsheet takes for text: never for a formula, and without what does not print.

    Args:
        text: Any text.
    """
    shown = text if text.isprintable() else _LINE_ENDS_AND_TABS.sub(lambda part: printable(part[0]), text)
    shown = _INNER_FORMULA.sub(r"\1'", shown)
    hidden = shown[:1].isspace() and shown[0] != " "
    return "'" + shown if hidden or _FORMULA.match(shown.lstrip()) else shown


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Return a frame as a Parquet file; `pandas.read_parquet` gives an equal frame.

    Args:
        frame: The frame; its index is left out.

    Raises:
        WorkbenchError: pyarrow is not installed.
    """
    held = io.BytesIO()
    try:
        frame.to_parquet(held, engine="pyarrow", index=False)
    except ImportError:
        raise WorkbenchError(
            "Parquet needs the package pyarrow, which is missing: pip install 'salience-workbench[evals]', "
            "or choose a name that ends in .csv"
        ) from None
    return held.getvalue()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all; one that is there is replaced.

    Args:
        path: The file. Its folder must exist.
        content: Everything in it.

    Raises:
        WorkbenchError: It cannot be written.
    """
    target = path.resolve()  # of a link the file that it leads to is replaced, not the link
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        try:
            with scratch.open("xb") as file:
                file.write(content)
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WorkbenchError(f"{path}: cannot be written: {error.strerror or error}; choose another name with -o") from None
