"""Rows of any table as cases, by a map of our fields to their columns. No guessing of what a column means.

What becomes of a row:

- `text` is one user message; `messages` and `context` are lists of {role, content} with an optional name. Roles are read in any case:
  user and human are user; assistant, ai, gpt and bot are assistant; system and tool stay what they are.
- `memories` is a list of texts, a list of objects (`memories.content=KEY`, `memories.salience=KEY`, `memories.evidence=KEY`) or one text;
  null and empty are none. `salience` is one number for all, or a list beside the memories; without either every memory has .7.
- `forbidden` is a list of texts or objects likewise, with a reason: `forbidden.reason=KEY`, or one for all, `forbidden.reason=:overreach`.
- Without `memories` nobody has said what is to be remembered, so every row is a case with the tag `unlabelled`: it is left out of scores,
  and counted, until `salience data review` has labelled it.
- `tags` is a list of texts, or one text with commas between them; `tags=:a,b` gives all rows the same.
- Where no evidence is mapped it is the whole first message, which claims no more than that the row supports the memory.
- A text that is a JSON list, as cells of CSV hold it, is read as that list where a list is allowed. A datetime is cut to its day.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.cases import REASONS, UNLABELLED, Case
from evals.data.foreign import SILVER_SALIENCE, ForeignData, Tally, build_case, given
from evals.data.row import Row, look_up
from evals.data.tables import PlacedRow, rows_of
from evals.errors import DataError

FIELDS = (
    "id", "conversation", "split", "language", "date", "source", "owner", "tags", "text", "messages", "context",
    "memories", "memories.content", "memories.salience", "memories.evidence", "salience",
    "forbidden", "forbidden.content", "forbidden.reason", "forbidden.contains",
)  # fmt: skip
_CONSTANT = ("conversation", "split", "language", "date", "source", "owner", "tags", "salience", "forbidden.reason")


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Which column holds which field.

    Attributes:
        columns: Field to column. A column "a.b" is key b of the object in column a, where there is no column of that whole name; a
            column that begins with a colon is a constant (":en").
    """

    columns: Mapping[str, str]

    @classmethod
    def parse(cls, items: Sequence[str]) -> ColumnMap:
        """Read "field=column" words.

        Args:
            items: The words; `FIELDS` lists the fields. The least is `text` or `messages`, and `language`. `id` is else "row-N",
                `conversation` the id, `split` "dev".

        Raises:
            DataError: A word is not of this form, a field is unknown, given twice, or does not go with the others, or a constant is
                not a value of its field.
        """
        columns: dict[str, str] = {}
        for item in items:
            name, _, column = (part.strip() for part in item.partition("="))
            if not name or not column.removeprefix(":"):
                raise DataError(f"{item!r} is not field=column; for example text=question, or language=:en for a constant")
            if name not in FIELDS:
                raise DataError(f"{item!r}: there is no field {name!r}; allowed: {', '.join(FIELDS)}")
            if name in columns:
                raise DataError(f"{item!r}: {name} is already given as {columns[name]!r}")
            if column.startswith(":") and name not in _CONSTANT:
                raise DataError(f"{item!r}: {name} cannot be a constant; those that can: {', '.join(_CONSTANT)}")
            columns[name] = column
        _check_together(columns)
        columns.setdefault("split", ":dev")
        _check_constants(columns)
        return cls(columns)

    @property
    def silver(self) -> str:
        """What a reader of scores must know of the labels, "" if nothing."""
        if self.labelled and not {"salience", "memories.salience"} & self.columns.keys():
            return f"salience was not in the data: every memory counts as required ({SILVER_SALIENCE:.1f})."
        return ""

    @property
    def labelled(self) -> bool:
        """Whether the map says where the memories are; without them the cases are unlabelled."""
        return "memories" in self.columns

    @property
    def top(self) -> dict[str, str]:
        """Field -> column, of the fields that are read from a column of the row: no constants, no keys of objects in a list."""
        return {name: column for name, column in self.columns.items() if "." not in name and not column.startswith(":")}

    def needed(self, available: Iterable[str]) -> list[str]:
        """Return those of a table's columns that are read.

        Raises:
            DataError: One is not there.
        """
        names = list(available)
        found = []
        for name, column in self.top.items():
            first = column if column in names else column.partition(".")[0]
            if first not in names:
                raise DataError(f"{name}={column}: there is no column {first!r}; there are: {', '.join(map(repr, names))}")
            found.append(first)
        return list(dict.fromkeys(found))


def _check_together(columns: Mapping[str, str]) -> None:
    if ("text" in columns) == ("messages" in columns):
        raise DataError("map either text (one user message) or messages (a list of {role, content}): text=COLUMN or messages=COLUMN")
    if "language" not in columns:
        raise DataError("language is needed: language=COLUMN, or a constant such as language=:en")
    if "salience" in columns and "memories.salience" in columns:
        raise DataError("salience and memories.salience are both given; map the one that the data has")
    if "forbidden" in columns and "forbidden.reason" not in columns:
        allowed = ", ".join(REASONS)
        raise DataError(f"forbidden needs a reason: forbidden.reason=KEY, or one for all, forbidden.reason=:REASON; the reasons: {allowed}")
    for name in columns:
        whole = "memories" if name == "salience" else name.partition(".")[0]
        if whole not in columns:
            raise DataError(f"{name} is given without {whole}; add {whole}=COLUMN")


def _check_constants(columns: Mapping[str, str]) -> None:
    row = Row({name: column for name, column in columns.items() if column.startswith(":")}, {}, "the column map", Tally())
    checks: dict[str, Callable[[], object]] = {
        "split": row.split, "language": row.language, "date": row.date,
        "salience": lambda: row.salience(columns["salience"][1:]), "forbidden.reason": lambda: row.reason(columns["forbidden.reason"][1:]),
    }  # fmt: skip
    for name in row.columns:
        checks.get(name, str)()


def _tags(row: Row, *, labelled: bool) -> list[str]:
    """The tags of a row, each once, and the one of unlabelled cases."""
    column = row.columns.get("tags")
    if column is None:
        return [] if labelled else [UNLABELLED]
    found, value = (True, column[1:]) if column.startswith(":") else look_up(row.values, column)
    if found:
        row.seen.add(column)
    if isinstance(value, str):
        value = _listed(value, row)
    if not isinstance(value, list | None) or not all(isinstance(tag, str) for tag in value or []):
        raise DataError(f"{row.place}: tags={column}: must be a list of texts, or one text with commas between them, got {given(value)}")
    tags = [tag.strip() for tag in value or [] if tag.strip()]
    return list(dict.fromkeys(tags if labelled else [*tags, UNLABELLED]))


def _listed(text: str, row: Row) -> Any:
    """A text that is a JSON list as that list, any other one parted at its commas."""
    if text.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            row.tally.note("a text that is a JSON list, read as that list", row.place)
            return found
    return text.split(",")


def with_way_out(error: DataError, path: Path) -> DataError:
    """Return what to raise where a file that is to be labelled is not in our format.

    Args:
        error: Why it cannot be read.
        path: The file; only its first line is looked at.

    Returns:
        The error; of a JSON Lines file without `memories` one that also names the column map to read it by.
    """
    words = _map_without_memories(path)
    if not words:
        return error
    return DataError(
        f"{error}; {path.name} has no `memories`: to label its turns give a column map without them, by which each row is an unlabelled "
        f"case: --columns {' '.join(words)}"
    )


def _map_without_memories(path: Path) -> list[str]:
    """The words of a map that takes over those of our own fields that the first line has; none where the file is not of this kind."""
    from evals.data.files import read_lines

    if path.suffix.lower() != ".jsonl" or not path.is_file():
        return []
    try:
        row = json.loads(next(read_lines(path), (0, ""))[1])
    except (DataError, ValueError, RecursionError):
        return []
    if not isinstance(row, dict) or "memories" in row:
        return []
    there = [name for name in FIELDS[: FIELDS.index("memories")] if name in row and name != "owner"]
    if "messages" in there and "text" in there:
        there.remove("text")
    words = [f"{name}={name}" for name in there]
    words += [] if {"text", "messages"} & set(there) else ["text=COLUMN"]
    words += [] if "language" in there else ["language=:en"]
    return words + (["owner=owner.names"] if isinstance(row.get("owner"), dict) else [])


def open_columns(path: Path, columns: ColumnMap) -> ForeignData:
    """Return a .jsonl, .json, .csv or .tsv file as cases.

    Args:
        path: The file.
        columns: Its columns.

    Returns:
        The data; reading raises `DataError` where a row is not what it must be, naming row, field, column, what was given and allowed.

    Raises:
        DataError: There is no such file, or it is of another kind.
    """
    return data_of_rows(path.stem, rows_of(path), columns)


def data_of_rows(name: str, rows: Callable[[], Iterator[PlacedRow]], columns: ColumnMap) -> ForeignData:
    """Return rows as cases.

    Args:
        name: What the data is called.
        rows: Gives the rows, anew at each call.
        columns: Their columns.
    """

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        unseen = set(columns.top.values())
        last: Mapping[str, Any] = {}
        for place, number, values in rows():
            row = Row(columns.columns, values, place, tally)
            fields = row.case_fields(number)
            if fields is not None:
                if not columns.labelled:
                    tally.note(f"no memories are mapped, so the case carries the tag {UNLABELLED!r}", place)
                yield place, build_case(fields | {"tags": _tags(row, labelled=columns.labelled)}, place)
            unseen -= row.seen
            last = values
        if unseen and last:  # a slip of the pen would else turn every case into a negative
            raise DataError(f"{name}: no row has {', '.join(map(repr, sorted(unseen)))}; the last has: {', '.join(map(repr, last))}")

    return ForeignData(name=name, silver=columns.silver, source=source)
