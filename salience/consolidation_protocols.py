"""The seams of recall: what finds facts, and what holds a new fact against known memories. No implementation.

A client raises whatever its transport raises; nothing here catches it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from salience.consolidation_inputs import Known, fact_text
from salience.consolidation_types import ConsolidationDecision, ExtractedMemory
from salience.errors import SeamError


@runtime_checkable
class MemoryExtractor(Protocol):
    """Finds the facts in a text; all that an extractor of one's own needs.

    1. Every fact stands alone, in the third person.
    2. An empty list means that there is none. It never raises for what a model answered, only for a failing client or invalid arguments.
    """

    def extract(self, text: str) -> Sequence[ExtractedMemory]:
        """Return the facts in a text."""
        ...


@runtime_checkable
class Consolidator(Protocol):
    """Decides what becomes of a new fact.

    1. The decision names no memory but those in `existing`, by their own ids.
    2. Without memories it is ADD.
    3. Where nothing can be decided it is ADD: neither the fact nor a memory is lost. It never raises for what a model answered.
    """

    def consolidate(self, new_fact: str, existing: Sequence[Known]) -> ConsolidationDecision:
        """Return the decision on a new fact against known memories."""
        ...


@runtime_checkable
class AsyncMemoryExtractor(Protocol):
    """`MemoryExtractor` for asyncio; the same contract."""

    async def extract(self, text: str) -> Sequence[ExtractedMemory]:
        """Return the facts in a text."""
        ...


@runtime_checkable
class AsyncConsolidator(Protocol):
    """`Consolidator` for asyncio; the same contract."""

    async def consolidate(self, new_fact: str, existing: Sequence[Known]) -> ConsolidationDecision:
        """Return the decision on a new fact against known memories."""
        ...


def consolidate_with(extractor: object, new_fact: str, existing: Sequence[Known]) -> ConsolidationDecision:
    """Return what an extractor decides on a new fact; one without `consolidate` always adds.

    Args:
        extractor: Anything with or without a method `consolidate`.
        new_fact: The fact.
        existing: The memories it is held against.

    Raises:
        SeamError: `consolidate` is asynchronous, or returned no decision.
    """
    method: Any = getattr(extractor, "consolidate", None)
    if not callable(method):
        fact_text(new_fact)
        return ConsolidationDecision("ADD")
    answer = method(new_fact, existing)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise SeamError(f"{type(extractor).__name__}.consolidate is asynchronous: use aconsolidate_with")
    return _checked(extractor, answer)


async def aconsolidate_with(extractor: object, new_fact: str, existing: Sequence[Known]) -> ConsolidationDecision:
    """`consolidate_with` for asyncio; `consolidate` may be a coroutine function or not."""
    method: Any = getattr(extractor, "consolidate", None)
    if not callable(method):
        fact_text(new_fact)
        return ConsolidationDecision("ADD")
    answer = method(new_fact, existing)
    return _checked(extractor, await answer if inspect.isawaitable(answer) else answer)


def _checked(extractor: object, answer: object) -> ConsolidationDecision:
    if not isinstance(answer, ConsolidationDecision):
        raise SeamError(f"{type(extractor).__name__}.consolidate must return a ConsolidationDecision, got {type(answer).__name__}")
    return answer
