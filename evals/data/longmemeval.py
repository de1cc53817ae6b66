"""LongMemEval files as cases: the turns of the sessions that hold answers. Its labels name turns, not facts.

What becomes of it:

- Each user's turn of an answer session is a case; the four turns before it are its `context`. Cases of one question share `conversation`;
  all are of split "dev" and in English.
- A turn with `has_answer` has one memory: the turn's own words, with question and answer as a paraphrase; a turn without is a candidate
  negative. So recall is a rough lower bound; what the data truly tells is which turns should give something.
- The filler sessions of the haystack are left out: nothing is labelled in them.
- An abstention question (`question_id` ends in "_abs") is left out: it names sessions, but what it asks for was never said, so no turn
  of them holds an answer.
- A session or question that is not as it must be is left out and named with what is wrong, and one that comes again is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.cases import Case
from evals.data.foreign import SILVER_SALIENCE, ForeignData, Tally, build_case, given
from evals.data.parts import field, json_entries, one_of, require_file, whole
from evals.errors import DataError

CONTEXT = 4
"""Turns before a turn that are its context."""
SILVER = (
    "Labels say which turn holds an answer and not what is to be remembered of it: recall is a lower bound, a prediction without a label "
    "may be right, and a turn without an answer is only a candidate negative."
)
_ABSTENTION = "_abs"
_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d)\b.*")
_ROLES = {"user": "user", "assistant": "assistant"}


def open_longmemeval(path: Path) -> ForeignData:
    """Return a LongMemEval file as cases. It is one JSON list, so each reading parses it whole.

    Args:
        path: The file.

    Returns:
        The data; reading raises `DataError` where the file is no JSON list, or nothing in it can be read.

    Raises:
        DataError: There is no such file.
    """
    require_file(path, "LongMemEval file")

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        read: set[str] = set()
        for number, entry in enumerate(json_entries(path, "questions"), start=1):
            place = f"{path}: entry {number}"
            try:
                name = whole(field(entry, "question_id", str, place), place, tally, "an id")
                place = f"{path}: question {given(name)}"
                if name in read:
                    tally.skip("a question that was read already", place)
                    continue
                cases = _question(name, entry, place, tally)
            except DataError as error:
                tally.skip_faulty("a question", error, place)
                continue
            if cases:
                read.add(name)
            yield from cases

    return ForeignData(name=path.stem, silver=SILVER, source=source)


def _question(name: str, entry: Any, place: str, tally: Tally) -> list[tuple[str, Case]]:
    if name.endswith(_ABSTENTION):
        tally.skip("an abstention question, which has nothing to be remembered for it", place)
        return []
    ids, dates, sessions = (field(entry, f"haystack_{part}", list, place) for part in ("session_ids", "dates", "sessions"))
    if not len(ids) == len(dates) == len(sessions):
        raise DataError(
            f"{place}: haystack_session_ids, haystack_dates and haystack_sessions must be of one length, "
            f"got {len(ids)}, {len(dates)}, {len(sessions)}"
        )
    wanted = {_plain(one, "an id in answer_session_ids", place) for one in field(entry, "answer_session_ids", list, place)}
    if not wanted:
        tally.skip("a question without an answer session", place)
    asked = f"{field(entry, 'question', str, place)} {_plain(entry.get('answer'), 'answer', place)}"
    asked = whole(asked, place, tally, "a question or answer")
    read: dict[str, list[tuple[str, Case]]] = {}
    for session, date, turns in zip(ids, dates, sessions, strict=True):
        where = f"{place}: session {given(session)}"
        try:
            key = _plain(session, "its id in haystack_session_ids", where)
            if key not in wanted:
                tally.skip("a filler session of the haystack, in which nothing is labelled", where)
            elif key in read:
                tally.skip("a session that was read already", where)
            else:
                said = whole(key, where, tally, "an id")
                read[key] = list(_session(name, said, _day(date, f"{where}: date"), turns, asked, where, tally))
        except DataError as error:
            tally.skip_faulty("a session", error, where)
    return [case for cases in read.values() for case in cases]


def _plain(value: object, name: str, place: str) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise DataError(f"{place}: {name} must be a text or a number, got {given(value)}")
    return str(value)


def _day(value: object, place: str) -> str:
    found = _DATE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise DataError(f'{place}: must be a time like "2023/05/20 (Sat) 02:21", got {given(value)}')
    return "-".join(found.groups())


def _session(name: str, session: str, date: str, turns: object, asked: str, place: str, tally: Tally) -> Iterator[tuple[str, Case]]:
    if not isinstance(turns, list):
        raise DataError(f"{place}: must be a list of turns, got {given(turns)}")
    before: list[dict[str, str]] = []
    for index, turn in enumerate(turns, start=1):
        where = f"{place}: turn {index}"
        content = whole(field(turn, "content", str, where), where, tally)
        message = {"role": one_of(field(turn, "role", str, where), _ROLES, "role", where), "content": content}
        holds = turn.get("has_answer", False)
        if not isinstance(holds, bool | None):
            raise DataError(f"{where}: has_answer must be true or false, got {given(holds)}")
        if not message["content"].strip():
            tally.skip("a turn without text", where)
            continue
        if message["role"] == "user":
            fields = {
                "id": f"{name}-{session}-{index}", "conversation": name, "split": "dev", "language": "en",
                "tags": ["longmemeval", *(["answer"] if holds else [])], "date": date, "context": before[-CONTEXT:], "messages": [message],
                "memories": [_memory(message, asked)] if holds else [],
            }  # fmt: skip
            yield where, build_case(fields, where)
        elif holds:
            tally.skip("an answer that the assistant gives, which is no memory of the user's turn", where)
        before.append(message)


def _memory(message: dict[str, str], asked: str) -> dict[str, Any]:
    said = message["content"].strip()
    return {
        "id": "m1", "content": said, "paraphrases": [asked], "salience": SILVER_SALIENCE, "evidence": [{"message": 0, "text": said}],
    }  # fmt: skip
