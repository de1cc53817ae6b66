"""Plays a consolidation case or a scenario as production would: the library's own consolidator, extractor and host over a client.

Whether the client asks a model or reads what one answered before is not known here, so that what is scored is what was run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Protocol

from evals.cases import Case
from evals.metrics.scenario_types import Played, PlayedSession
from evals.models import open_model
from evals.models.base import Baseline
from evals.models.deciders import DECIDERS
from evals.recall_cases import ConsolidationCase, Scenario, Session
from evals.setups import BASELINE, DISTANCE, Setup, Task, baseline_setup
from salience import (
    AsyncModelConsolidator,
    AsyncModelSalienceExtractor,
    ConsolidationResult,
    ExtractionResult,
    Policy,
    Reply,
    Turn,
    read_results,
)
from salience.consolidation_core import settled
from salience.consolidation_types import KnownMemory
from salience.memory import AsyncMemory, Change, HashedNgrams, SqliteStore, aenrich, model_of
from salience.protocols import Message

OWNER = "owner"
FOUND = 10
"""How many memories a question finds at the most."""
_SESSION = "session"


class Client(Protocol):
    """What cases are played over: `salience.AsyncChatClient`."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Return the answer to a list of messages."""
        ...


async def play(case: ConsolidationCase | Scenario, setup: Setup, client: Client) -> ConsolidationResult | Played:
    """Play one case.

    Args:
        case: The case; its labels are not looked at.
        setup: What it is played under.
        client: Answers; what it raises passes through.
    """
    if isinstance(case, ConsolidationCase):
        return await decide(case, setup, client)
    return await remember(case, setup, client)


async def decide(case: ConsolidationCase, setup: Setup, client: Client) -> ConsolidationResult:
    """Return what becomes of a case's new fact.

    Args:
        case: The case.
        setup: Its policy decides, or its rule.
        client: Is asked where the answer is not clear without a model.
    """
    known = [KnownMemory(one.id, one.content) for one in case.existing]
    if setup.rule is not None:
        return settled(case.new_fact, known) or ConsolidationResult(DECIDERS[setup.rule].consolidate(case.new_fact, known))
    return await AsyncModelConsolidator(client, policy=setup.consolidation).consolidate_result(case.new_fact, known)


async def remember(scenario: Scenario, setup: Setup, client: Client) -> Played:
    """Play the sessions of a scenario in the order of their dates, then ask its questions.

    Args:
        scenario: The scenario.
        setup: Who finds facts and who decides.
        client: Is asked by both.
    """
    day = [scenario.sessions[0].date]
    numbers = count(1)
    with SqliteStore(":memory:", clock=lambda: f"{day[0]}T00:00:00.000000Z", new_id=lambda: f"m{next(numbers)}") as store:
        listener = _Listener(scenario, setup, store, client)
        sessions = []
        for session in scenario.sessions:
            day[0] = session.date
            sessions.append(await listener.listen(session))
        found = tuple(listener.found(question.question) for question in scenario.questions)
        return Played(tuple(store.list(OWNER, retired=True)), tuple(sessions), found)


class _Listener:
    """Takes in the sessions of one scenario."""

    def __init__(self, scenario: Scenario, setup: Setup, store: SqliteStore, client: Client) -> None:
        self.scenario, self.setup, self.store = scenario, setup, store
        self.embeddings = HashedNgrams()
        self.consolidator: Any = None
        if setup.consolidation is not None:
            self.consolidator = AsyncModelConsolidator(client, policy=setup.consolidation)
        elif setup.rule not in (None, DISTANCE):
            self.consolidator = DECIDERS[str(setup.rule)]
        self.host = self.extractor = self.baseline = None
        if setup.baseline is not None:
            self.baseline = open_model(BASELINE + setup.baseline)
        elif setup.recall:
            finder = AsyncModelConsolidator(client, recall=setup.extraction)
            self.host = AsyncMemory(store, self.embeddings, _Joined(finder, self.consolidator))
        else:
            self.extractor = AsyncModelSalienceExtractor(client, policy=setup.extraction)

    async def listen(self, session: Session) -> PlayedSession:
        """Take in one session: one turn, in one transaction."""
        turn = Turn.from_messages(list(session.messages), source=_SESSION, date=session.date)
        if self.host is not None:
            told = await self.host.extract(turn.text, OWNER, _SESSION, session.date, date=session.date)
            return PlayedSession(
                date=session.date, status=told.status or "ok", calls=told.calls or 0, facts=len(told.changes), invented=told.invented,
                fallbacks=told.fallbacks, memories=_ids(told.changes),
            )  # fmt: skip
        result, calls = await self._extract(session, turn)
        done = await aenrich(
            self.store, result.candidates, user_id=OWNER, embeddings=self.embeddings, policy=self.setup.extraction,
            consolidator=self.consolidator,
        )  # fmt: skip
        return PlayedSession(
            date=session.date, status="none" if self.baseline else result.status, calls=calls + (done.calls or 0),
            facts=len(done.changes), invented=done.invented, fallbacks=done.fallbacks, memories=_ids(done.changes),
        )  # fmt: skip

    async def _extract(self, session: Session, turn: Turn) -> tuple[ExtractionResult, int]:
        """The candidates of a session, and the calls that they took."""
        if self.extractor is not None:
            result = await self.extractor.extract(turn)
            return result, max(1, len(result.parts))
        if not isinstance(self.baseline, Baseline):
            raise TypeError("a setup has an extraction policy or a baseline")
        reply = Reply(self.baseline.reply(session_case(self.scenario, session)))
        return read_results(Policy(), turn, [reply]), 0

    def found(self, question: str) -> tuple[str, ...]:
        """The contents of the live memories that a question finds, the nearest first."""
        vector = self.embeddings.embed(question)
        return tuple(hit.memory.content for hit in self.store.nearest(OWNER, vector, model_of(self.embeddings), limit=FOUND))


def _ids(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the ids of what was written, updated or seen again, each once."""
    return tuple(dict.fromkeys(change.memory.id for change in changes if change.memory is not None))


class _Joined:
    """Facts of one, decisions of another, as a host wants them in one object; without the other all is added."""

    def __init__(self, finder: Any, consolidator: Any) -> None:
        self.extract, self.extract_result = finder.extract, finder.extract_result
        for name in ("consolidate", "consolidate_result", "consolidate_many"):
            method = getattr(consolidator, name, None)
            if callable(method):
                setattr(self, name, method)


def session_case(scenario: Scenario, session: Session) -> Case:
    """Return a session as an extraction case without labels, for what reads cases."""
    return Case(
        id=f"{scenario.id}-{session.date}", conversation=scenario.id, split=scenario.split, language=scenario.language, date=session.date,
        source=_SESSION, owner=scenario.owner, messages=session.messages, memories=(),
    )  # fmt: skip


class PlayedBaseline:
    """A row that asks no model, as a run knows it: it tells what it did, and scoring plays it again.

    Args:
        task: "consolidation" or "scenario".
        name: "baseline/RULE" or "baseline/EXTRACTOR+RULE".

    Raises:
        WorkbenchError: There is none of that name.
    """

    def __init__(self, task: Task, name: str) -> None:
        self.task, self.name = task, name
        self.setup = baseline_setup(task, name)

    @property
    def fingerprint(self) -> dict[str, str | int]:
        """What decides what it does."""
        return {"engine": "baseline", "baseline": self.setup.name, "version": 1}

    def play(self, case: Any) -> Any:
        """Return what it does: a `ConsolidationResult` or a `Played`."""
        return finish(play(case, self.setup, _Nobody()))

    def reply(self, case: Any) -> str:
        """Return what it did, as JSON for people: the decision, or the memories that are live at the end."""
        done = self.play(case)
        if isinstance(done, Played):
            return json.dumps([memory.content for memory in done.versions if memory.live], ensure_ascii=False)
        decision = done.decision
        told = {"action": decision.action, "id": decision.id, "content": decision.content, "also_retire": list(decision.also_retire)}
        return json.dumps(told, ensure_ascii=False)


class _Nobody:
    async def chat(self, *_: object, **__: object) -> Reply:
        raise RuntimeError("a baseline asks no model")


def finish(playing: Any) -> Any:
    """Return the result of a coroutine that never waits, as over a client that has all answers."""
    steps: Iterator[Any] = playing.__await__()
    try:
        next(steps)
    except StopIteration as done:
        return done.value
    raise RuntimeError("what is played from records must not wait")
