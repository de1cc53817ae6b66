"""One row under a column map, as the fields of a case. What is read how is told in `evals.data.columns`; no file is opened here."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from evals.cases import REASONS, SPLITS
from evals.data.foreign import SILVER_SALIENCE, Tally, given
from evals.errors import DataError
from evals.text import fold

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "gpt": "assistant", "bot": "assistant",
    "system": "system", "tool": "tool",
}  # fmt: skip
"""What a role may be called, in any case, and which of ours it is."""

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)([T ].+)?", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_Items = list[Any]


@dataclass(slots=True)
class Row:
    """A row and how to read it. The public methods raise `DataError`, which names place, field, column, what was given and allowed.

    Attributes:
        columns: Field to column, as in `evals.data.columns.ColumnMap`.
        values: Column to value.
        place: Where the row is.
        tally: What is told to the reader goes here.
        seen: The columns of the map that the row has.
    """

    columns: Mapping[str, str]
    values: Mapping[str, Any]
    place: str
    tally: Tally
    seen: set[str] = field(default_factory=set)

    def case_fields(self, number: int) -> dict[str, Any] | None:
        """Return the fields of a case, or None where the row has no text to decide on.

        Args:
            number: The row's number, for its id where none is mapped.
        """
        messages = self.text() if "text" in self.columns else self.messages("messages")
        if not messages:
            self.tally.skip("a row without any text to remember from", self.place)
            return None
        name = self.key("id") if "id" in self.columns else f"row-{number}"
        return {
            "id": name, "conversation": self.key("conversation") if "conversation" in self.columns else name,
            "split": self.split(), "language": self.language(), "date": self.date(), "source": self.source(),
            "owner": {"names": self.owner()}, "context": self.messages("context"), "messages": messages,
            "memories": self.memories(messages), "forbidden": self.forbidden(),
        }  # fmt: skip

    def key(self, name: str) -> str:
        """Return an id: a text, or a whole number as one."""
        value = self._value(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value if isinstance(value, str) else self._fail(name, "a text that is not empty, or a whole number", value)

    def split(self) -> str:
        """Return the split."""
        value = self._value("split")
        if isinstance(value, str) and value in SPLITS:
            return value
        return self._fail("split", f"one of {', '.join(SPLITS)} (or give one for all, split=:dev)", value)

    def language(self) -> str:
        """Return the language."""
        value = self._value("language")
        if isinstance(value, str) and _LANGUAGE.fullmatch(value):
            return value
        column = self.columns.get("language", "")
        if value is None and not look_up(self.values, column)[0]:
            there = ", ".join(map(repr, self.values))
            raise DataError(f"{self.place}: language={column}: no column {column!r} (a constant is language=:{column}); there are: {there}")
        return self._fail("language", "an ISO 639-1 code such as en (or give one for all, language=:en)", value)

    def date(self) -> str | None:
        """Return the day, cut from a datetime as it is written, whatever its time zone."""
        value = self._value("date")
        if value is None:
            return None
        text = value.isoformat() if isinstance(value, datetime.date) else value
        found = _DAY.fullmatch(text) if isinstance(text, str) else None
        if not found or not _is_datetime(found[0]):
            self._fail("date", "an ISO day or datetime such as 2026-03-02 or 2026-03-02T10:15:00", value)
        if found[2]:
            self.tally.note("a datetime cut to its day, as it is written, whatever its time zone", self.place)
        return found[1]

    def source(self) -> str | None:
        """Return the source."""
        value = self._value("source")
        return value if isinstance(value, str | None) else self._fail("source", "a text", value)

    def owner(self) -> list[str]:
        """Return the owner's names."""
        names = self._items("owner")
        return names if all(isinstance(name, str) for name in names) else self._fail("owner", "a name or a list of names", names)

    def text(self) -> list[dict[str, str]]:
        """Return the text as messages: one, or none where it is empty."""
        value = self._value("text")
        if value is None:
            return []
        return [{"role": "user", "content": value}] if isinstance(value, str) else self._fail("text", "a text", value)

    def messages(self, name: str) -> list[dict[str, str]]:
        """Return the messages of field "messages" or "context"; those without text are left out and counted."""
        value = self._decoded(self._value(name))
        if not isinstance(value, list | None):
            self._fail(name, "a list of {role, content} objects", value)
        messages = []
        for i, entry in enumerate(value or []):
            if not isinstance(entry, Mapping) or "role" not in entry or "content" not in entry:
                self._fail(name, "a list of {role, content} objects, name is optional", entry, f"[{i}]")
            role, content, speaker = entry["role"], entry["content"], entry.get("name")
            if not isinstance(role, str) or role.strip().casefold() not in ROLES:
                self._fail(name, f"one of {', '.join(ROLES)}", role, f"[{i}].role")
            if not isinstance(content, str | None):
                self._fail(name, "a text", content, f"[{i}].content")
            if not isinstance(speaker, str | None):
                self._fail(name, "a text", speaker, f"[{i}].name")
            if not content or not content.strip():
                self.tally.skip("a message without text", self.place)
                continue
            messages.append({"role": ROLES[role.strip().casefold()], "content": content, **({"name": speaker} if speaker else {})})
        return messages

    def memories(self, messages: list[dict[str, str]]) -> list[dict[str, Any]]:
        """Return the memories. One that is there twice is kept once, with the higher salience.

        Args:
            messages: What the evidence must stand in.
        """
        items = self._items("memories")
        memories: dict[str, dict[str, Any]] = {}
        for i, (item, grade) in enumerate(zip(items, self._grades(items), strict=True)):
            content = self._content("memories", item, i)
            if content is None:
                self.tally.skip("a memory without text", self.place)
                continue
            if isinstance(item, str) and re.search(r"[;|\n]", item):
                self.tally.note("a memory with ';', '|' or a line break in it, read as one: several are a JSON list", self.place)
            known = memories.get(fold(content))
            if known:
                self.tally.note("a memory twice in one row, merged with the higher salience", self.place)
                known["salience"] = max(known["salience"], grade)
                continue
            evidence = self._evidence(item, messages, i)
            memories[fold(content)] = {"id": f"m{len(memories) + 1}", "content": content, "salience": grade, "evidence": evidence}
        return list(memories.values())

    def salience(self, value: object, name: str = "salience", where: str = "") -> float:
        """Return a value as a salience; nothing counts as required, and is noted."""
        if value is None or (isinstance(value, str) and not value.strip()):
            self.tally.note(f"a memory without a salience, taken as required ({SILVER_SALIENCE})", self.place)
            return SILVER_SALIENCE
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        except (ValueError, OverflowError):
            number = -1.0
        return number if 0 <= number <= 1 else self._fail(name, "a number from 0 to 1", value, where)

    def forbidden(self) -> list[dict[str, Any]]:
        """Return what must not be stored."""
        found = []
        for i, item in enumerate(self._items("forbidden")):
            content = self._content("forbidden", item, i)
            if content is None:
                self.tally.skip("a forbidden statement without text", self.place)
                continue
            reason = self.reason(self._part("forbidden.reason", item), f" of item {i}")
            found.append({"content": content, "reason": reason, "contains": self._part("forbidden.contains", item)})
        return found

    def reason(self, value: object, where: str = "") -> str:
        """Return a value as a reason."""
        if isinstance(value, str) and value in REASONS:
            return value
        return self._fail("forbidden.reason", f"one of {', '.join(REASONS)}", value, where)

    def _grades(self, items: _Items) -> list[float]:
        if "memories.salience" in self.columns:
            name = "memories.salience"
            return [self.salience(self._part(name, item), name, f" of memory {i}") for i, item in enumerate(items)]
        if "salience" not in self.columns:
            return [SILVER_SALIENCE] * len(items)
        value = self._decoded(self._value("salience"))
        if not isinstance(value, list):
            return [self.salience(value)] * len(items) if items else []
        if len(value) != len(items):
            self._fail("salience", f"one number, or {len(items)} for the {len(items)} memories", value)
        return [self.salience(one, where=f"[{i}]") for i, one in enumerate(value)]

    def _evidence(self, item: object, messages: list[dict[str, str]], i: int) -> list[dict[str, Any]]:
        value = self._part("memories.evidence", item)
        if value is None or not messages:
            return [{"message": 0, "text": message["content"]} for message in messages[:1]]
        found = []
        for text in value if isinstance(value, list) else [value]:
            places = [n for n, message in enumerate(messages) if isinstance(text, str) and text.strip() and text in message["content"]]
            if not places:
                self._fail("memories.evidence", "an exact piece of a message of the row, or a list of them", text, f" of memory {i}")
            found.append({"message": places[0], "text": text})
        return found

    def _content(self, name: str, item: object, i: int) -> str | None:
        """The text of a memory or forbidden statement, None where it is empty."""
        if isinstance(item, Mapping):
            if f"{name}.content" not in self.columns:
                self._fail(name, f"a list of texts, or name the key of the text: {name}.content=KEY", item, f"[{i}]")
            found, value = look_up(item, self.columns[f"{name}.content"])
            if not found:
                self._fail(f"{name}.content", f"a key of each object; this one has {given(list(item))}", None, f" of item {i}")
            item = value
        if not isinstance(item, str | None):
            self._fail(name, "a list of texts or of objects, or one text", item, f"[{i}]")
        return item if item and item.strip() else None

    def _part(self, name: str, item: object) -> Any:
        """The value of a key of a memory or forbidden statement; a constant is that of all."""
        key = self.columns.get(name, "")
        if key.startswith(":"):
            return key[1:]
        return look_up(item, key)[1] if key and isinstance(item, Mapping) else None

    def _items(self, name: str) -> _Items:
        """A field that is a list or one of its items; nothing is an empty list."""
        value = self._decoded(self._value(name))
        if value is None:
            return []
        return value if isinstance(value, list) else [value]

    def _decoded(self, value: object) -> Any:
        """A text that is a JSON list is that list: cells of CSV, and of many data sets, can hold one in no other way."""
        if not isinstance(value, str) or not value.lstrip().startswith("["):
            return value
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):  # a text that begins with a bracket
            return value
        self.tally.note("a text that is a JSON list, read as that list", self.place)
        return found

    def _value(self, name: str) -> Any:
        """The value of a field's column; None where it is missing or a text without a visible character."""
        column = self.columns.get(name)
        if column is None:
            return None
        if column.startswith(":"):
            return column[1:]
        found, value = look_up(self.values, column)
        if found:
            self.seen.add(column)
        return None if isinstance(value, str) and not value.strip() else value

    def _fail(self, name: str, allowed: str, value: object, where: str = "") -> NoReturn:
        raise DataError(f"{self.place}: {name}={self.columns.get(name, '')}{where}: must be {allowed}, got {given(value)}")


def _is_datetime(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def look_up(values: Mapping[str, Any], column: str) -> tuple[bool, Any]:
    """Return whether an object has a column, and its value. "a.b" is key b of the object in a, where there is no key "a.b".

    An object that is null has every key, as null: tables write it so.
    """
    if column in values:
        return True, values[column]
    first, _, rest = column.partition(".")
    inner = values.get(first)
    if rest and isinstance(inner, Mapping):
        return look_up(inner, rest)
    return bool(rest) and first in values and inner is None, None
