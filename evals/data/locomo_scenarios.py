"""LoCoMo conversations as scenarios: all sessions in the order of their dates, and the questions that people wrote.

No label says what a store must hold, so only what needs none is measured. Turns are read as `evals.data.locomo` reads them: both speakers
are people and owners, each message has its speaker's name, and a photo is told by its caption. All are of split "dev". Categories of
questions are those of the data's paper (Maharana and others 2024, section 4.1): 1 several sessions, 2 time, 3 open domain, 4 one session,
5 adversarial, which have no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evals.cases import Owner
from evals.data.foreign import Tally, given
from evals.data.locomo import LocomoTurn, cited_turns, named_samples, sessions_of, talk_of, turn_message
from evals.data.recall_faults import scenario_faults
from evals.errors import DataError
from evals.recall_cases import Question, QuestionKind, Scenario, Session, Witness

ABOUT = "Nobody has labelled what must be live in the end; questions, answers and evidence turns were written by people."
_KINDS: Mapping[int, QuestionKind] = {1: "multi", 2: "date", 3: "current", 4: "current", 5: "unanswerable"}


def read_scenarios(path: Path, tally: Tally) -> Iterator[tuple[str, Scenario]]:
    """Yield place and scenario for each conversation of a LoCoMo file.

    Args:
        path: The file, in either layout.
        tally: Gets what was left out, and why.

    Raises:
        DataError: The file is not what it must be, naming sample, session and field.
    """
    for name, sample in named_samples(path):
        place = f"{path}: sample {given(name)}"
        yield place, _scenario(name, sample, place, tally)


def _scenario(name: str, sample: Mapping[str, Any], place: str, tally: Tally) -> Scenario:
    told = [[turn for turn in session if turn.content] for session in sessions_of(talk_of(sample, place), place, tally)]
    sessions = sorted((session for session in told if session), key=lambda session: (session[0].date, session[0].session))
    if not sessions:
        raise DataError(f"{place}: no turn has text")
    speakers = tuple(dict.fromkeys(turn.speaker for session in sessions for turn in session))
    scenario = Scenario(
        id=f"locomo-{name}", split="dev", language="en", tags=("locomo", "silver"), owner=Owner(names=speakers),
        sessions=tuple(Session(date=session[0].date, messages=tuple(map(turn_message, session))) for session in sessions),
        final=(), questions=tuple(_questions(sample.get("qa"), sessions, place, tally)),
    )  # fmt: skip
    try:
        scenario = msgspec.convert(msgspec.to_builtins(scenario), Scenario)
    except msgspec.ValidationError as error:
        raise DataError(f"{place}: {error}") from None
    for field, message in scenario_faults(scenario):
        raise DataError(f"{place}: {field}: {message}")
    return scenario


def _questions(given_: object, sessions: Sequence[Sequence[LocomoTurn]], place: str, tally: Tally) -> Iterator[Question]:
    if given_ is None:
        tally.note("a conversation without questions", place)
        return
    if not isinstance(given_, list):
        raise DataError(f"{place}: qa must be a list of questions, got {given(given_)}")
    turns = {turn.id: turn for session in sessions for turn in session}
    at = {turn.id: (number, place_) for number, session in enumerate(sessions) for place_, turn in enumerate(session)}
    for position, entry in enumerate(given_, start=1):
        where = f"{place}: qa {position}"
        question = _question(entry, turns, at, where, tally)
        if question is not None:
            yield question


def _question(
    entry: object, turns: Mapping[str, LocomoTurn], at: Mapping[str, tuple[int, int]], place: str, tally: Tally
) -> Question | None:
    """A question, or None where it cannot be used."""
    if not isinstance(entry, dict) or not isinstance(entry.get("question"), str) or not entry["question"].strip():
        raise DataError(f"{place}: must be an object with question, answer, evidence and category, got {given(entry)}")
    kind = _KINDS.get(entry.get("category", 0))
    if kind is None:
        tally.skip("a question of a category other than 1 to 5", place)
        return None
    if kind == "unanswerable":
        return Question(kind=kind, question=entry["question"], answer="not answerable")
    answer = entry.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or not str(answer).strip():
        tally.skip("a question without an answer", place)
        return None
    ids = entry.get("evidence") or []
    named = [name for value in ids if isinstance(value, str) for name in cited_turns(value, turns, place, tally)]
    found = list(dict.fromkeys(name for name in named if name in at))
    for name in named:
        if name not in at:
            tally.skip("evidence that is no turn with text", f"{place}: {given(name)}")
    if not found:
        tally.skip("a question whose evidence cannot be found", place)
        return None
    evidence = tuple(Witness(session=at[name][0], message=at[name][1], text=turns[name].content) for name in found)
    return Question(kind=kind, question=entry["question"], answer=str(answer), evidence=evidence)
