"""Faults of a consolidation case, a scenario or a reply case that types cannot express. A row with one is not loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evals.data.faults import date_faults, message_faults
from evals.recall_cases import ConsolidationCase, Decision, Scenario
from evals.reply_cases import ReplyCase
from evals.text import fold

Fault = tuple[str, str]
"""Field and message."""


def consolidation_faults(case: ConsolidationCase) -> Iterator[Fault]:
    """Yield (field, message) for every fault of a consolidation case."""
    ids = [known.id for known in case.existing]
    yield from _used_twice("existing", ids)
    for i, one in enumerate(case.protected):
        if one not in ids:
            yield f"protected[{i}]", f"{one!r} is no id of an existing memory; there are: {', '.join(ids) or 'none'}"
    yield from _decision_faults("decision", case.decision, case, ids)
    for i, decision in enumerate(case.acceptable):
        yield from _decision_faults(f"acceptable[{i}]", decision, case, ids)
        if decision == case.decision or decision in case.acceptable[:i]:
            yield f"acceptable[{i}]", "is the same decision as one before it"
    if not ids and case.decision.action != "ADD":
        yield "decision.action", f"must be ADD where nothing exists yet, got {case.decision.action}"


def _decision_faults(where: str, decision: Decision, case: ConsolidationCase, ids: list[str]) -> Iterator[Fault]:
    changes = decision.action in ("UPDATE", "DELETE")
    if changes != (decision.id is not None):
        yield f"{where}.id", f"must be {'the id of an existing memory' if changes else 'null'} for {decision.action}, got {decision.id!r}"
    if decision.action == "UPDATE" and decision.content is None:
        yield f"{where}.content", "is missing; UPDATE carries the merged statement"
    if not changes and decision.content is not None:
        yield f"{where}.content", f"must be null for {decision.action}, got {decision.content!r}"
    if decision.also_retire and decision.action != "DELETE":
        yield f"{where}.also_retire", f"must be empty for {decision.action}"
    touched = [one for one in (decision.id, *decision.also_retire) if one is not None]
    yield from _used_twice(where, touched)
    for one in touched:
        if one not in ids:
            yield where, f"{one!r} is no id of an existing memory; there are: {', '.join(ids) or 'none'}"
        elif one in case.protected:
            yield where, f"touches {one!r}, which is protected"


def _used_twice(where: str, ids: Iterable[str]) -> Iterator[Fault]:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            yield where, f"id {one!r} is used twice"
        seen.add(one)


def scenario_faults(scenario: Scenario) -> Iterator[Fault]:
    """Yield (field, message) for every fault of a scenario."""
    count = len(scenario.sessions)
    for i, session in enumerate(scenario.sessions):
        yield from date_faults(f"sessions[{i}].date", session.date)
        if i and session.date < scenario.sessions[i - 1].date:
            yield f"sessions[{i}].date", f"{session.date} is before the session before it, {scenario.sessions[i - 1].date}"
        for j, message in enumerate(session.messages):
            yield from message_faults(f"sessions[{i}].messages[{j}]", message)
    yield from _used_twice("final", [memory.id for memory in scenario.final])
    live = {fold(phrase): memory.id for memory in scenario.final for phrase in (memory.content, *memory.paraphrases)}
    for i, memory in enumerate(scenario.final):
        yield from _out_of_range(f"final[{i}].sessions", memory.sessions, count)
    for i, gone in enumerate(scenario.retired):
        yield from _out_of_range(f"retired[{i}].session", [gone.session], count)
        for phrase in (gone.content, *gone.paraphrases):
            if fold(phrase) in live:
                yield f"retired[{i}]", f"is also live, as {live[fold(phrase)]!r}: {phrase!r}"
    yield from _question_faults(scenario)


def _question_faults(scenario: Scenario) -> Iterator[Fault]:
    count = len(scenario.sessions)
    for i, question in enumerate(scenario.questions):
        where = f"questions[{i}]"
        if bool(question.evidence) == (question.kind == "unanswerable"):
            yield f"{where}.evidence", "must be empty for an unanswerable question, and for no other"
        for j, witness in enumerate(question.evidence):
            place = f"{where}.evidence[{j}]"
            if witness.session >= count:
                yield from _out_of_range(f"{place}.session", [witness.session], count)
                continue
            messages = scenario.sessions[witness.session].messages
            if witness.message >= len(messages):
                yield f"{place}.message", f"is {witness.message}, but session {witness.session} has only {len(messages)} messages (from 0)"
            elif witness.text not in messages[witness.message].get("content", ""):
                yield f"{place}.text", f"does not stand in message {witness.message} of session {witness.session}: {witness.text!r}"


def _out_of_range(where: str, indices: Iterable[int], count: int) -> Iterator[Fault]:
    for index in indices:
        if index >= count:
            yield where, f"is {index}, but there are only {count} sessions (from 0)"


def reply_faults(case: ReplyCase) -> Iterator[Fault]:
    """Yield (field, message) for every fault of a reply case."""
    if case.status in ("ok", "repaired") and not case.items:
        yield "items", f"is empty, but the status is {case.status}"
    if case.status in ("empty", "malformed") and case.items:
        yield "items", f"must be empty for the status {case.status}"
