"""Facts out of a text, and each new fact against what is known: the reference implementation, sync and async, over any model client.

Two thin shells over one core without input or output (`salience.recall`, `salience.consolidation_core`). A client's errors pass
through untouched, and nothing is decided then: the caller still has the facts. Nothing is stored here.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, overload

from salience.consolidation_core import Steps, consolidation_steps
from salience.consolidation_inputs import Fact, Known
from salience.consolidation_policy import ConsolidationPolicy
from salience.consolidation_types import ConsolidationBatch, ConsolidationDecision, ConsolidationResult, ExtractedMemory, RecallResult
from salience.errors import OptionError, SeamError
from salience.policy import Policy
from salience.protocols import AsyncChatClient, AsyncLlmClient, ChatClient, LlmClient
from salience.recall import read_recall, recall_policy, recall_requests
from salience.requests import Request
from salience.seams import as_reply, call, seam_of
from salience.types import Reply, Turn


def _batch(done: StopIteration) -> ConsolidationBatch:
    batch: ConsolidationBatch = done.value
    return batch


class _Shell:
    """What both shells have: a client, two policies, and which method of the client each policy uses."""

    def __init__(self, llm: Any, policy: ConsolidationPolicy | None, recall: Policy | None) -> None:
        if policy is not None and not isinstance(policy, ConsolidationPolicy):
            raise OptionError(f"policy must be a salience.ConsolidationPolicy, got {policy!r}; ConsolidationPolicy.load(...) loads one")
        self.llm: Any = llm
        self.policy = ConsolidationPolicy() if policy is None else policy
        self.recall = recall_policy() if recall is None else recall
        self.seam = seam_of(llm, self.policy.seam_policy())
        self.recall_seam = seam_of(llm, self.recall)


class ModelConsolidator(_Shell):
    """Finds facts and consolidates them with a model.

    Args:
        llm: Any client; one with `chat` is asked through it, and a policy may need that.
        policy: What to ask about new facts and known memories. The default has no schema, so `complete` is enough.
        recall: What to ask about a text; the same holds. `recall_policy("default")` has a schema.

    Raises:
        OptionError: A policy is not of its kind.
        SeamError: The client cannot do what a policy needs.
    """

    def __init__(self, llm: LlmClient | ChatClient, *, policy: ConsolidationPolicy | None = None, recall: Policy | None = None) -> None:
        super().__init__(llm, policy, recall)

    def extract(self, text: str | Turn) -> list[ExtractedMemory]:
        """Return the facts about the user in a text.

        Args:
            text: What was said; a `Turn` brings its date along, by which relative dates are resolved.

        Returns:
            The facts; an empty list if there is none or the reply could not be read (`extract_result` tells which).

        Raises:
            Exception: Whatever the client raises.
        """
        return list(self.extract_result(text).memories)

    def extract_result(self, text: str | Turn) -> RecallResult:
        """Return the facts in a text with their evidence: the reply, how it could be read, what was dropped, the calls."""
        replies = [self._ask(request, self.recall_seam) for request in recall_requests(self.recall, text)]
        return read_recall(self.recall, text, replies)

    def consolidate(self, new_fact: Fact, existing: Sequence[Known]) -> ConsolidationDecision:
        """Return what is to be done with a new fact.

        Without memories, and for a fact that one states word for word, no model is asked. Whatever the model answers, the
        decision names only memories of `existing`, and where it answers nothing usable the fact is added.

        Args:
            new_fact: The fact.
            existing: The memories it is held against: objects or mappings with `id` and `content`, or pairs of them.

        Returns:
            The decision, with the memories' own ids.

        Raises:
            OptionError: An argument is not of its kind.
            Exception: Whatever the client raises.
        """
        return self.consolidate_result(new_fact, existing).decision

    def consolidate_result(self, new_fact: Fact, existing: Sequence[Known]) -> ConsolidationResult:
        """Return the decision on a new fact with its evidence."""
        return self._run(consolidation_steps(self.policy, [new_fact], existing)).results[0]

    def consolidate_many(
        self, facts: Sequence[Fact], existing: Sequence[Known] = (), *, existing_by_fact: Sequence[Sequence[Known]] | None = None
    ) -> ConsolidationBatch:
        """Return the decisions on several facts, of one model call where its reply can be used for all.

        Args:
            facts: The new facts.
            existing: Memories for all facts.
            existing_by_fact: Further memories for each fact, in the order of the facts, such as those nearest to it.

        Returns:
            The decisions with their evidence and the calls, to be applied in order. `salience.consolidation_core` says when a fact is
            asked about alone. Errors are those of `consolidate`.
        """
        return self._run(consolidation_steps(self.policy, facts, existing, existing_by_fact))

    def _run(self, steps: Steps) -> ConsolidationBatch:
        reply: Reply | None = None
        while True:
            try:
                request = steps.send(reply)  # type: ignore[arg-type]  # None starts it
            except StopIteration as done:
                return _batch(done)
            reply = self._ask(request, self.seam)

    def _ask(self, request: Request, seam: Any) -> Reply:
        answer = call(self.llm, seam, request)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise SeamError(f"{type(self.llm).__name__}.{seam} is asynchronous: use AsyncModelConsolidator")
        return as_reply(self.llm, seam, answer)


class AsyncModelConsolidator(_Shell):
    """`ModelConsolidator` for asyncio clients; the same contract. Requests go out one after another."""

    def __init__(
        self, llm: AsyncLlmClient | AsyncChatClient, *, policy: ConsolidationPolicy | None = None, recall: Policy | None = None
    ) -> None:
        super().__init__(llm, policy, recall)

    async def extract(self, text: str | Turn) -> list[ExtractedMemory]:
        """Return the facts about the user in a text; see `ModelConsolidator.extract`."""
        return list((await self.extract_result(text)).memories)

    async def extract_result(self, text: str | Turn) -> RecallResult:
        """Return the facts in a text with their evidence."""
        replies = [await self._ask(request, self.recall_seam) for request in recall_requests(self.recall, text)]
        return read_recall(self.recall, text, replies)

    async def consolidate(self, new_fact: Fact, existing: Sequence[Known]) -> ConsolidationDecision:
        """Return what is to be done with a new fact; see `ModelConsolidator.consolidate`."""
        return (await self.consolidate_result(new_fact, existing)).decision

    async def consolidate_result(self, new_fact: Fact, existing: Sequence[Known]) -> ConsolidationResult:
        """Return the decision on a new fact with its evidence."""
        return (await self._run(consolidation_steps(self.policy, [new_fact], existing))).results[0]

    async def consolidate_many(
        self, facts: Sequence[Fact], existing: Sequence[Known] = (), *, existing_by_fact: Sequence[Sequence[Known]] | None = None
    ) -> ConsolidationBatch:
        """Return the decisions on several facts; see `ModelConsolidator.consolidate_many`."""
        return await self._run(consolidation_steps(self.policy, facts, existing, existing_by_fact))

    async def _run(self, steps: Steps) -> ConsolidationBatch:
        reply: Reply | None = None
        while True:
            try:
                request = steps.send(reply)  # type: ignore[arg-type]  # None starts it
            except StopIteration as done:
                return _batch(done)
            reply = await self._ask(request, self.seam)

    async def _ask(self, request: Request, seam: Any) -> Reply:
        pending = call(self.llm, seam, request)
        if not inspect.isawaitable(pending):
            raise SeamError(f"{type(self.llm).__name__}.{seam} is not asynchronous: use ModelConsolidator")
        return as_reply(self.llm, seam, await pending)


@overload
def create_consolidator(
    llm: AsyncLlmClient | AsyncChatClient, *, policy: ConsolidationPolicy | None = None, recall: Policy | None = None
) -> AsyncModelConsolidator: ...
@overload
def create_consolidator(
    llm: LlmClient | ChatClient, *, policy: ConsolidationPolicy | None = None, recall: Policy | None = None
) -> ModelConsolidator: ...
def create_consolidator(
    llm: Any, *, policy: ConsolidationPolicy | None = None, recall: Policy | None = None
) -> ModelConsolidator | AsyncModelConsolidator:
    """Return the consolidator that fits a client: the asynchronous one if the method it would use is a coroutine function.

    Arguments and errors are those of `ModelConsolidator`.
    """
    shell = _Shell(llm, policy, recall)
    kind = AsyncModelConsolidator if inspect.iscoroutinefunction(getattr(llm, shell.seam)) else ModelConsolidator
    return kind(llm, policy=policy, recall=recall)
