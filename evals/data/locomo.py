"""LoCoMo files as cases: one turn each, labelled by the observations that cite it. The questions and summaries are not read.

Both layouts of the data are read: the released one (`conversation` and `observation` apart) and the older one that keeps
`session_N`, `session_N_date_time` and `session_N_observation` side by side in one object per conversation.

What becomes of it:

- A case is one turn by one speaker, who is its owner; the four turns before it in the same session are its `context`. Both speakers
  are people, so both have the role "user" and their name. Cases of one real conversation share `conversation`, as that is what
  resampling has to draw whole, and all are of split "dev".
- A shared photo is told as a last line "(shares a photo: CAPTION)", from the machine-written caption: observations rest on photos too.
- An observation is a memory of every turn that it cites. Where it is filed under the other speaker, it is about a third party there.
- All are required (salience .7), "stated" facts; the evidence is the whole message, as the data cites turns and no words.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.cases import Case
from evals.data.foreign import SILVER_SALIENCE, ForeignData, Tally, build_case, given, parse_json_file
from evals.errors import DataError
from evals.text import fold

CONTEXT = 4
"""Turns before a turn that are its context."""

SILVER = (
    "Labels are observations that a machine wrote, incomplete and with relative dates kept: recall is against silver, a prediction without "
    "a label may be right, and a turn without an observation is only a candidate negative."
)

_SESSION = re.compile(r"session_(0|[1-9]\d{0,5})(_date_time|_observation|)", re.ASCII)
_DATE_TIME = re.compile(r"(\d{1,2}):([0-5]\d) (?:am|pm) on (\d{1,2}) ([A-Z][a-z]+), (\d{4})", re.ASCII)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_TURN_ID = re.compile(r"D(\d{1,6}):(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class LocomoTurn:
    """A turn; `content` is "" where it has neither text nor a photo with a caption."""

    id: str
    speaker: str
    content: str
    image: bool
    session: int
    date: str


def open_locomo(path: Path) -> ForeignData:
    """Return a LoCoMo file as cases. It is a JSON list (or one object), so each reading parses it whole.

    Args:
        path: The file, in either layout.

    Returns:
        The data; reading raises `DataError` where the file is not what it must be, naming sample, session and field.

    Raises:
        DataError: There is no such file.
    """
    if not path.is_file():
        raise DataError(f"there is no LoCoMo file {str(path)!r}")

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        for name, sample in named_samples(path):
            yield from _sample_cases(name, sample, f"{path}: sample {given(name)}", tally)

    return ForeignData(name=path.stem, silver=SILVER, source=source)


def named_samples(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield name and content of each conversation of a file.

    Raises:
        DataError: The file is not what it must be, or a name comes twice.
    """
    names: set[str] = set()
    for number, sample in enumerate(_samples(path), start=1):
        if not isinstance(sample, dict):
            raise DataError(f"{path}: entry {number}: must be an object with one conversation, got {given(sample)}")
        name = _sample_id(sample, f"{path}: entry {number}", number)
        if name in names:
            raise DataError(f"{path}: entry {number}: sample_id {given(name)} is already used; every conversation needs its own")
        names.add(name)
        yield name, sample


def _samples(path: Path) -> list[Any]:
    content = parse_json_file(path)
    if isinstance(content, dict):
        return [content]
    if not isinstance(content, list):
        raise DataError(f"{path}: must be a JSON list of conversations, or one as an object, got {given(content)}")
    return content


def _sample_id(sample: Mapping[str, Any], place: str, number: int) -> str:
    """The conversation's name. The older layout may have none; its place in the file is used then."""
    if "sample_id" not in sample and "conversation" not in sample:
        return f"conversation-{number}"
    value = sample.get("sample_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place}: sample_id must be a text that is not empty, or a number, got {given(value)}")
    return value


def _sample_cases(name: str, sample: Mapping[str, Any], place: str, tally: Tally) -> Iterator[tuple[str, Case]]:
    talk, observations = _parts(sample, place)
    sessions = sessions_of(talk, place, tally)
    turns: dict[str, LocomoTurn] = {}
    for session in sessions:
        for turn in session:
            if turn.id in turns:
                raise DataError(
                    f"{place}: session_{turn.session}: dia_id {given(turn.id)} is already used in session_{turns[turn.id].session}"
                )
            turns[turn.id] = turn
    labels = _labels(observations, turns, place, tally)
    for session in sessions:
        told = [turn for turn in session if turn.content]
        for index, turn in enumerate(told):
            where = f"{place}: session_{turn.session}: turn {given(turn.id)}"
            before = told[max(0, index - CONTEXT) : index]
            yield where, build_case(_fields(name, turn, before, _memories(turn, labels.get(turn.id, []), where, tally)), where)


def talk_of(sample: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """Return the object that holds the sessions.

    Raises:
        DataError: There is none.
    """
    talk = sample.get("conversation", sample)
    if not isinstance(talk, dict):
        raise DataError(f"{place}: conversation must be an object with session_1, session_2 and so on, got {given(talk)}")
    if not _numbers(talk, ""):
        raise DataError(f"{place}: has no session_1, session_2 and so on; it has: {given(list(talk))}")
    return talk


def _parts(sample: Mapping[str, Any], place: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The object that holds the sessions, and the one that holds the observations: the same one in the older layout."""
    talk = talk_of(sample, place)
    observations = sample.get("observation") if talk is not sample else sample
    if not isinstance(observations, dict):
        raise DataError(f"{place}: observation must be an object with session_N_observation, the labels, got {given(observations)}")
    if not _numbers(observations, "_observation"):
        raise DataError(f"{place}: has no session_N_observation, and so no labels; without them every turn would count as a negative")
    return talk, observations


def _numbers(keys: Iterable[str], ending: str) -> list[int]:
    """Return the N of every key `session_N` with an ending, in order."""
    return sorted(int(found[1]) for key in keys if (found := _SESSION.fullmatch(key)) and found[2] == ending)


def sessions_of(talk: Mapping[str, Any], place: str, tally: Tally) -> list[list[LocomoTurn]]:
    """Return the turns of every session, in the order of the data."""
    numbers = _numbers(talk, "")
    for number in _numbers(talk, "_date_time"):
        if number not in numbers:
            tally.skip("a session with a date and no turns", f"{place}: session_{number}_date_time")
    return [_session(talk, number, place, tally) for number in numbers]


def _session(talk: Mapping[str, Any], number: int, place: str, tally: Tally) -> list[LocomoTurn]:
    where = f"{place}: session_{number}"
    entries = talk[f"session_{number}"]
    if not isinstance(entries, list):
        raise DataError(f"{where}: must be a list of turns, got {given(entries)}")
    date = _day(talk.get(f"session_{number}_date_time"), f"{where}_date_time")
    turns = []
    for position, entry in enumerate(entries, start=1):
        turn = _turn(entry, number, date, f"{where}: turn {position}")
        if not turn.content:
            tally.skip("a turn with neither text nor a photo's caption", f"{where}: turn {given(turn.id)}")
        turns.append(turn)
    return turns


def _day(value: object, place: str) -> str:
    found = _DATE_TIME.fullmatch(value) if isinstance(value, str) else None
    try:
        if not found or not 1 <= int(found[1]) <= 12:
            raise ValueError
        return datetime.date(int(found[5]), _MONTHS.index(found[4]) + 1, int(found[3])).isoformat()
    except ValueError:
        raise DataError(f'{place}: must be a time like "1:56 pm on 8 May, 2023", got {given(value)}') from None


def _turn(entry: object, session: int, date: str, place: str) -> LocomoTurn:
    if not isinstance(entry, dict):
        raise DataError(f"{place}: must be an object with speaker, dia_id and text, got {given(entry)}")
    for key in ("speaker", "dia_id", "text"):
        if not isinstance(entry.get(key), str):
            what = "is missing" if key not in entry else f"must be a text, got {given(entry[key])}"
            raise DataError(f"{place}: {key} {what}; a turn has speaker, dia_id and text")
        if key != "text" and not entry[key].strip():
            raise DataError(f"{place}: {key} is empty")
    caption = entry.get("blip_caption")
    if not isinstance(caption, str | None):
        raise DataError(f"{place}: blip_caption must be a text, got {given(caption)}")
    photo = " ".join((caption or "").split())
    lines = [entry["text"]] if entry["text"].strip() else []
    return LocomoTurn(
        id=entry["dia_id"], speaker=entry["speaker"], content="\n".join([*lines, f"(shares a photo: {photo})"] if photo else lines),
        image=bool(photo or entry.get("img_url")), session=session, date=date,
    )  # fmt: skip


def _labels(observations: Mapping[str, Any], turns: Mapping[str, LocomoTurn], place: str, tally: Tally) -> dict[str, list[tuple[str, str]]]:
    """Return the observations of each turn as (speaker filed under, text), in the order of the data."""
    labels: dict[str, list[tuple[str, str]]] = {}
    for number in sorted({*_numbers(observations, "_observation"), *(turn.session for turn in turns.values())}):
        where = f"{place}: session_{number}_observation"
        by_speaker = observations.get(f"session_{number}_observation")
        if by_speaker is None:
            tally.note("a session without observations, whose turns may be no negatives", where)
            continue
        if not isinstance(by_speaker, dict):
            raise DataError(f"{where}: must be an object of speaker to observations, got {given(by_speaker)}")
        for speaker, entries in by_speaker.items():
            if not isinstance(entries, list):
                raise DataError(f"{where}: {given(speaker)} must be a list of [text, dia_id], got {given(entries)}")
            for position, entry in enumerate(entries, start=1):
                text, cited = _observation(entry, turns, f"{where}: {given(speaker)}: observation {position}", tally)
                for turn in cited:
                    labels.setdefault(turn, []).append((speaker, text))
    return labels


def _observation(entry: object, turns: Mapping[str, LocomoTurn], place: str, tally: Tally) -> tuple[str, list[str]]:
    """Return an observation's text and the turns that it cites; no turn where it is left out."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str):
        raise DataError(f"{place}: must be [text, dia_id or list of them], got {given(entry)}")
    text, ids = entry
    ids = ids if isinstance(ids, list) else [] if ids is None else [ids]
    for value in ids:
        if not isinstance(value, str):
            raise DataError(f"{place}: a dia_id must be a text such as D1:3, got {given(value)}")
    if not text.strip():
        tally.skip("an observation without text", place)
        return text, []
    named = [name for value in ids for name in cited_turns(value, turns, place, tally)]
    found = list(dict.fromkeys(name for name in named if name in turns and turns[name].content))
    for name in named:
        if found and name not in found:
            tally.skip(
                "a citation of a turn that is not there or has no text (the observation's other citations hold)", f"{place}: {given(name)}"
            )
    if not found:
        tally.skip("an observation that cites no turn that is there and has text", f"{place}: {given(entry[1])}")
    if len(found) > 1:
        tally.note("an observation that cites several turns, and is a memory of each", place)
    return text, found


def cited_turns(value: str, turns: Mapping[str, LocomoTurn], place: str, tally: Tally) -> list[str]:
    """Return the ids in one citation, which may hold stray spaces, leading zeros, or several ids in one text."""
    if value in turns:
        return [value]
    names = []
    for part in re.split(r"[;,\s]+", value):
        found = _TURN_ID.fullmatch(part)
        plain = f"D{int(found[1])}:{int(found[2])}" if found else part
        names += [part if part in turns else plain] if part else []
    if any(name in turns for name in names):
        tally.note("a citation with stray spaces or zeros, or of several turns in one text", f"{place}: {given(value)}")
    return names


def _memories(turn: LocomoTurn, labels: list[tuple[str, str]], place: str, tally: Tally) -> list[dict[str, Any]]:
    memories: dict[str, dict[str, Any]] = {}
    for speaker, text in labels:
        own = speaker == turn.speaker
        if not own:
            tally.note("an observation on another speaker's turn, kept there as about a third party", place)
        if fold(text) in memories:
            tally.note("an observation twice on one turn, merged", place)
            if own:
                memories[fold(text)]["about"] = "owner"
            continue
        memories[fold(text)] = {
            "id": f"m{len(memories) + 1}", "content": text, "salience": SILVER_SALIENCE, "observed": "stated", "kind": "fact",
            "about": "owner" if own else "third-party", "evidence": [{"message": 0, "text": turn.content}],
        }  # fmt: skip
    return list(memories.values())


def _fields(name: str, turn: LocomoTurn, before: list[LocomoTurn], memories: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"{name}-{turn.id}", "conversation": name, "split": "dev", "language": "en",
        "tags": ["locomo", f"session-{turn.session}", *(["image"] if turn.image else [])],
        "date": turn.date, "owner": {"names": [turn.speaker]},
        "context": [turn_message(earlier) for earlier in before], "messages": [turn_message(turn)], "memories": memories,
    }  # fmt: skip


def turn_message(turn: LocomoTurn) -> dict[str, str]:
    """Return a turn as a message of a case."""
    return {"role": "user", "content": turn.content, "name": turn.speaker}
