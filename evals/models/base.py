"""The seam between the harness and whatever answers: a model over messages, or a baseline over cases. No implementation here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from evals.cases import Case
from evals.errors import CallError
from salience.protocols import Message
from salience.types import Reply

Fingerprint = Mapping[str, str | int | float | bool]
"""Everything besides messages, schema and decoding parameters that decides a reply. Never a key or a credential."""

Progress = Callable[[str], None]
"""Takes one line of news for a person, without a line end."""


def no_progress(line: str) -> None:
    """Ignore a line of news."""


@dataclass(frozen=True, slots=True)
class ModelReply(Reply):
    """A reply with how it was got.

    Attributes:
        attempts: How often the call was sent until it succeeded; 1 without retries. `evals.models.calling.Caller` sets it.
        fallbacks: What was left out or changed because the server refuses it, against what was asked for: "wrapped-schema",
            "no-schema", "no-temperature", "no-seed".
        reasoning_tokens: Tokens of the answer that went into thinking, where the server tells; they are part of `output_tokens`.
        reasoning_only: Whether there is thinking and no answer after it; then `text` is "".
    """

    attempts: int = 1
    fallbacks: tuple[str, ...] = ()
    reasoning_tokens: int | None = None
    reasoning_only: bool = False


class RefusedParameterError(CallError):
    """The server refuses a parameter of the request, and the model knows how to ask without it.

    Whoever called may await `again` for the next attempt, as often as this error comes. It is one attempt like the first.
    As a `CallError` it is the refusal itself, for callers that try nothing else.

    Attributes:
        again: Sends the request once more with the parameter left out, renamed or changed. What then works, the model remembers.
    """

    def __init__(self, error: CallError, again: Callable[[], Awaitable[ModelReply]]) -> None:
        super().__init__(error.kind, str(error), status=error.status)
        self.again = again


@runtime_checkable
class Model(Protocol):
    """Something that answers messages.

    1. `name` is the name as the user wrote it; `fingerprint` identifies what answers, and never holds a key.
    2. `concurrency` is the most calls that are worth having in flight; more are allowed and wait.
    3. Making a model costs no call and no fetch, so that a run that is answered from the cache needs neither weights nor server.
    4. `prepare` fetches or checks what a call needs and raises `ModelError` where the model cannot be had. It may be called often;
       `chat` works without it.
    5. `chat` sends the messages unchanged, in order and once: it never tries again. Every failed call is a `CallError`, never an empty
       reply. Where the server refuses a parameter that can be done without, it is a `RefusedParameterError`.
    6. `close` frees everything. It may be called twice.
    """

    @property
    def name(self) -> str:
        """The name as the user wrote it."""
        ...

    @property
    def fingerprint(self) -> Fingerprint:
        """What decides a reply besides the request."""
        ...

    @property
    def concurrency(self) -> int:
        """The most calls worth having in flight, from 1 up."""
        ...

    async def prepare(self) -> None:
        """Make ready to answer.

        Raises:
            ModelError: The model cannot be had; the message says what to do.
        """
        ...

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> ModelReply:
        """Return the answer to a list of messages.

        Args:
            messages: Mappings with `role` and `content`.
            schema: A JSON schema that the answer must follow, or None.
            max_tokens: The most tokens of the answer, from 1 up; None leaves the model's default.
            temperature: From 0 up; None leaves the model's default.
            seed: Seed of the sampling, for models that take one; None leaves the model's default.

        Raises:
            CallError: The call failed; `kind` says how and `retryable` whether the same call may succeed later.
            ModelError: The model cannot be had at all.
        """
        ...

    async def close(self) -> None:
        """Free connections, threads and memory."""
        ...


@runtime_checkable
class Baseline(Protocol):
    """Something that answers a case without a model, to compare models with.

    1. It sees what a model sees: `case.context`, `case.messages`, the date and the source; never a label.
    2. Its reply is text in the reply convention (a JSON array), so that it goes the same way as a model's.
    3. The same case always gives the same reply.
    """

    @property
    def name(self) -> str:
        """The name as the user wrote it."""
        ...

    @property
    def fingerprint(self) -> Fingerprint:
        """What decides a reply besides the case: the baseline's name and version."""
        ...

    def reply(self, case: Case) -> str:
        """Return the reply text for a case: a JSON array."""
        ...
