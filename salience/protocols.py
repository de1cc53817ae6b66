"""The seams: what a model client and an extractor are. No implementation, no provider.

A client raises whatever its transport raises; nothing here catches it, so that a turn is never silently lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from salience.types import Candidate, ExtractOptions, Reply, Turn

Message = Mapping[str, str]
"""One chat message: `role` ("system", "user" or "assistant") and `content`."""


@runtime_checkable
class LlmClient(Protocol):
    """The minimum seam to a model.

    1. `complete` sends exactly one system text and one user text, both unchanged.
    2. It returns the answer's text, "" for an empty answer.
    3. Failures (network, quota, refusal to serve) are exceptions; it never returns an error as text.
    """

    def complete(self, *, system: str, prompt: str) -> str:
        """Return the model's answer to one system and one user text."""
        ...


@runtime_checkable
class AsyncLlmClient(Protocol):
    """`LlmClient` for asyncio; the same contract."""

    async def complete(self, *, system: str, prompt: str) -> str:
        """Return the model's answer to one system and one user text."""
        ...


@runtime_checkable
class ChatClient(Protocol):
    """The full seam to a model.

    1. `chat` sends the messages unchanged and in order.
    2. `schema` is a JSON schema that the answer must follow; a client that cannot enforce it raises.
    3. None for `max_tokens` or `temperature` leaves the server's default.
    4. It reports why the answer ended and how many tokens it took, where the server tells.
    5. Failures are exceptions.
    """

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Return the model's answer to a list of messages."""
        ...


@runtime_checkable
class AsyncChatClient(Protocol):
    """`ChatClient` for asyncio; the same contract."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Return the model's answer to a list of messages."""
        ...


@runtime_checkable
class SalienceExtractor(Protocol):
    """Decides what of a turn is worth remembering.

    1. It returns candidates ordered by salience, the highest first; an empty list means that nothing is worth keeping.
    2. It never raises for what a model answered, only for a failing client or invalid arguments.
    """

    def extract_salient(self, turn: Turn, options: ExtractOptions | None = None) -> list[Candidate]:
        """Return the candidates of one turn."""
        ...


@runtime_checkable
class AsyncSalienceExtractor(Protocol):
    """`SalienceExtractor` for asyncio; the same contract."""

    async def extract_salient(self, turn: Turn, options: ExtractOptions | None = None) -> list[Candidate]:
        """Return the candidates of one turn."""
        ...
