"""Many cases as one value: in order, with the columns that choosing among them needs, and a content hash. No reading of files."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from evals.cases import SILVER, UNLABELLED, Case
from evals.errors import DataError
from evals.spool import BUDGET, Lazy, Spool

_DIGEST = 32


def hash_of_digests(digests: Iterable[bytes]) -> str:
    """Return the first 12 hex digits of the SHA-256 over rows' own digests, sorted, so that the rows' order is free."""
    return hashlib.sha256("\n".join(digest.hex() for digest in sorted(digests)).encode("ascii")).hexdigest()[:12]


class _Columns:
    """What is kept of every case beside the case itself."""

    def __init__(self, budget: int, kind: type[Any]) -> None:
        self.spool: Spool[Any] = Spool(kind, budget=budget)
        self.ids: list[str] = []
        self.conversations: list[str] = []
        self.splits: list[str] = []
        self.languages: list[str] = []
        self.digests = bytearray()
        self.unlabelled = bytearray()
        self.silver = bytearray()


class Cases(Lazy[Case]):
    """A sequence of cases that does not hold them in memory where they are many.

    Args:
        cases: The cases, in order.
        budget: Bytes, encoded, to keep in memory.
        kind: The type of the cases.

    Attributes:
        ids: The ids, in order.
        conversations: The conversations, one a case.
        splits: The splits, one a case.
        languages: The languages, one a case.
    """

    def __init__(self, cases: Iterable[Any] = (), *, budget: int = BUDGET, kind: type[Any] = Case) -> None:
        self._columns = _Columns(budget, kind)
        self._places: Sequence[int] | None = None
        encode = msgspec.json.Encoder(order="sorted").encode
        columns = self._columns
        for case in cases:
            line = encode(case)
            columns.spool.append(case, line)
            columns.ids.append(case.id)
            columns.conversations.append(sys.intern(case.conversation))
            columns.splits.append(sys.intern(case.split))
            columns.languages.append(sys.intern(case.language))
            columns.unlabelled.append(not getattr(case, "labelled", True))
            columns.silver.append(SILVER in case.tags)
            columns.digests += hashlib.sha256(line).digest()

    def pick(self, places: Iterable[int]) -> Cases:
        """Return the cases at some places of this sequence, in the order given, without copying them."""
        chosen = Cases.__new__(Cases)
        chosen._columns = self._columns
        own = self._places
        chosen._places = array("l", places if own is None else (own[place] for place in places))
        return chosen

    @cached_property
    def ids(self) -> Sequence[str]:
        """The ids, in order."""
        return self._column(self._columns.ids)

    @cached_property
    def conversations(self) -> Sequence[str]:
        """The conversations, one a case."""
        return self._column(self._columns.conversations)

    @cached_property
    def splits(self) -> Sequence[str]:
        """The splits, one a case."""
        return self._column(self._columns.splits)

    @cached_property
    def languages(self) -> Sequence[str]:
        """The languages, one a case."""
        return self._column(self._columns.languages)

    @property
    def hash(self) -> str:
        """First 12 hex digits of the SHA-256 over the cases' canonical JSON, sorted, so that their order is free."""
        whole = bytes(self._columns.digests)
        places = range(len(self)) if self._places is None else self._places
        return hash_of_digests(whole[place * _DIGEST : (place + 1) * _DIGEST] for place in places)

    @property
    def unlabelled(self) -> int:
        """How many cases nobody has labelled."""
        return self._flagged(self._columns.unlabelled)

    @property
    def silver(self) -> int:
        """How many cases carry the tag "silver"."""
        return self._flagged(self._columns.silver)

    def one(self, index: int) -> Case:
        """Return the case at an index."""
        case: Case = self._columns.spool[index if self._places is None else self._places[index]]
        return case

    def __len__(self) -> int:
        return len(self._columns.spool) if self._places is None else len(self._places)

    def __iter__(self) -> Iterator[Case]:
        return self._columns.spool.pick(range(len(self)) if self._places is None else self._places)

    def _flagged(self, flags: bytearray) -> int:
        return sum(flags) if self._places is None else sum(flags[place] for place in self._places)

    def _column(self, whole: list[str]) -> Sequence[str]:
        return whole if self._places is None else [whole[place] for place in self._places]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Cases with the name, version and content hash that every score carries.

    Attributes:
        name: The dataset's name; for a user's file its stem.
        version: Its version, "" where none is stated.
        cases: The cases, in file order; any sequence of them is taken.
        silver: What its labels are where they are less than a person's careful ones, "" otherwise.
        notes: What a loader read and what it skipped and why, in whole sentences.
    """

    name: str
    version: str
    cases: Cases
    silver: str = ""
    notes: tuple[str, ...] = ()

    def __init__(self, *, name: str, version: str, cases: Iterable[Case], silver: str = "", notes: Sequence[str] = ()) -> None:
        given = cases if isinstance(cases, Cases) else Cases(cases)
        for field, value in (("name", name), ("version", version), ("cases", given), ("silver", silver), ("notes", tuple(notes))):
            object.__setattr__(self, field, value)

    @cached_property
    def hash(self) -> str:
        """The hash of the cases."""
        return self.cases.hash

    def with_cases(self, cases: Cases) -> Dataset:
        """Return the same dataset with other cases."""
        return Dataset(name=self.name, version=self.version, cases=cases, silver=self.silver, notes=self.notes)

    def of_split(self, split: str) -> Dataset:
        """Return the cases of one split ("all" for every case).

        Raises:
            DataError: There is none; the message says which splits there are.
        """
        splits = self.cases.splits
        chosen = self.cases if split == "all" else self.cases.pick(i for i, name in enumerate(splits) if name == split)
        if not chosen:
            counts = ", ".join(f"{name} {count}" for name, count in sorted(Counter(splits).items()))
            raise DataError(f"dataset {self.name!r} has no case in split {split!r}; it has: {counts or 'no case at all'}")
        return self.with_cases(chosen)

    def to_score(self, split: str) -> Dataset:
        """Return the cases of one split that somebody has labelled, with a note where others are left out.

        Raises:
            DataError: There is none.
        """
        chosen = self.of_split(split)
        left_out = chosen.cases.unlabelled
        if not left_out:
            return chosen
        if left_out == len(chosen.cases):
            raise DataError(
                f"all {left_out} cases carry the tag {UNLABELLED!r}: nobody has said what is to be remembered of them, so nothing can be "
                f"scored; give them memories and take the tag away, or ask for one text with `salience extract`"
            )
        labelled = chosen.cases.pick(place for place, case in enumerate(chosen.cases) if case.labelled)
        note = f"{left_out} of {len(chosen.cases)} cases carry the tag {UNLABELLED!r} and are left out."
        return Dataset(name=self.name, version=self.version, cases=labelled, silver=self.silver, notes=(*self.notes, note))
