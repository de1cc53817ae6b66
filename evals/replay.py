"""What a run has recorded, played again: each call of a case gets the reply that was recorded for it, in order. No model is called.

The calls of a case are its parts, counted from 0: what is asked next may rest on what was answered before. A case is complete where playing
it comes to its end over recorded replies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals.errors import RunError
from evals.playing import finish, play
from evals.recall_cases import ConsolidationCase, Scenario
from evals.requests import RequestHasher
from evals.runlog import Failure, Record
from evals.setups import Setup
from salience import Reply, Request
from salience.protocols import Message

Ask = Callable[[Request, int], Awaitable[Reply]]
"""Asks a model for a part that has no record, writes the record, and returns the reply."""


class LackingError(Exception):
    """A call has no record."""


class FailedError(Exception):
    """A call has failed, and the case cannot be played any further.

    Attributes:
        failure: How.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class ReplayClient:
    """Answers the calls of one case from its records, and asks for those that have none.

    Attributes:
        case: The case's id, for messages.
        read: Returns the record of a part, or None.
        ask: Asks for a part; None raises `LackingError` instead.
        again: Whether a call that has failed is asked again.
        records: The records that were used, in order.
        part: The next part.
    """

    case: str
    read: Callable[[int], Record | None]
    ask: Ask | None = None
    again: bool = False
    records: list[Record] = field(default_factory=list)
    part: int = 0
    hasher: RequestHasher = field(default_factory=RequestHasher)

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Return the reply that was recorded for the next part.

        Raises:
            FailedError: That call has failed.
            LackingError: There is no record, and nobody to ask.
            RunError: The record answers another question.
        """
        part, request = self.part, Request(tuple(messages), schema, max_tokens, temperature)
        self.part += 1
        record = self.read(part)
        if record is None or (self.again and not record.answered):
            if self.ask is None:
                raise LackingError
            return await self.ask(request, part)
        if record.request_hash != self.hasher.hash(request):
            raise RunError(
                f"case {self.case!r}, call {part + 1}: what was sent is not what would be sent now, so its reply answers another question; "
                "run it again in a new folder"
            )
        self.records.append(record)
        return reply_of(record)


def reply_of(record: Record) -> Reply:
    """Return a recorded reply; an input beyond the model's context counts as an answer of nothing.

    Raises:
        FailedError: The call has failed.
    """
    if record.error is not None and not record.answered:
        raise FailedError(record.error)
    return Reply(record.reply or "", record.finish_reason, record.input_tokens, record.output_tokens)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A case that was played from its records.

    Attributes:
        result: A `ConsolidationResult` or a `Played`; None where it did not come to its end.
        records: The records that it took.
        failure: Why not, where a call has failed; None where a call has no record.
    """

    result: Any
    records: tuple[Record, ...]
    failure: Failure | None = None


def replay(case: ConsolidationCase | Scenario, setup: Setup, read: Callable[[int], Record | None]) -> Replayed:
    """Play a case from its records.

    Args:
        case: The case.
        setup: What it was run under.
        read: Returns the record of a part, or None.

    Raises:
        RunError: A record answers another question than would be asked now.
    """
    client = ReplayClient(case.id, read)
    try:
        return Replayed(finish(play(case, setup, client)), tuple(client.records))
    except LackingError:
        return Replayed(None, tuple(client.records))
    except FailedError as error:
        return Replayed(None, tuple(client.records), error.failure)
