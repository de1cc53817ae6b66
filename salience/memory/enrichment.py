"""Candidates of a salience extractor into a store (contract C1): what is worth keeping, not yet known, and what it supersedes.

What is decided and how is in `salience.memory.enriching`; here are the functions to call, with their twins for asyncio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salience.memory.embeddings import EmbeddingsProvider
from salience.memory.enriching import NEAR_DISTANCE, Enricher, EnrichmentResult
from salience.memory.steps import adrive, drive
from salience.memory.store import Store
from salience.policy import Policy
from salience.protocols import AsyncSalienceExtractor, SalienceExtractor
from salience.types import Candidate, Turn


def enrich(
    store: Store,
    candidates: Sequence[Candidate],
    *,
    user_id: str,
    embeddings: EmbeddingsProvider,
    policy: Policy | None = None,
    consolidator: Any = None,
    near: float = NEAR_DISTANCE,
    batch: bool = True,
) -> EnrichmentResult:
    """Put candidates into a store, in one transaction.

    In this order, for each: drop it below the policy's `operating_threshold`; where it repeats a live memory word for word, count that as
    seen once more; where `meta["supersedes"]` names live memories of this user (an id or a list of ids), write it and retire them; else ask
    the consolidator, or skip it as a near-duplicate, or write it. Candidates are held against those before them, too. A text in
    `meta["source_id"]` is stored as the memory's `source_id`.

    Args:
        store: The store.
        candidates: What an extractor found, with calibrated salience where the policy has a map.
        user_id: Whose memories these are; exactly these characters.
        embeddings: Makes the vectors.
        policy: The policy that the candidates were extracted with; None means a threshold of 0.5.
        consolidator: A `salience.Consolidator` to decide about what is near (`salience.memory.consolidators` says what else of it is used).
        near: The cosine distance under which a memory is near, 0 to 2; without a consolidator.
        batch: Whether all candidates that the consolidator is to decide about go to it in one call, where it has `consolidate_many`. It
            does not see them beside each other then, as it does one by one; what is said twice word for word is still written once.

    Returns:
        What was written, superseded and skipped. Errors of the consolidator pass through; then nothing was written.

    Raises:
        OptionError: An argument is out of range or cannot be stored.
        SeamError: The consolidator or the embeddings are asynchronous.
        EmbeddingsError: The user's vectors are of another model.
        StoreError: The store cannot be read or written.
    """
    return drive(Enricher(store, embeddings, policy, consolidator, near, batch).steps(candidates, user_id))


async def aenrich(
    store: Store,
    candidates: Sequence[Candidate],
    *,
    user_id: str,
    embeddings: EmbeddingsProvider,
    policy: Policy | None = None,
    consolidator: Any = None,
    near: float = NEAR_DISTANCE,
    batch: bool = True,
) -> EnrichmentResult:
    """`enrich` for asyncio, where the consolidator or the embeddings are asynchronous."""
    return await adrive(Enricher(store, embeddings, policy, consolidator, near, batch).steps(candidates, user_id))


def enrich_from_turn(
    store: Store,
    extractor: SalienceExtractor,
    turn: Turn,
    *,
    user_id: str,
    embeddings: EmbeddingsProvider,
    policy: Policy | None = None,
    consolidator: Any = None,
    batch: bool = True,
) -> EnrichmentResult:
    """Extract what a turn is worth, and put it into a store; see `enrich`.

    Args:
        store: The store.
        extractor: Finds the candidates; nothing is written where it raises.
        turn: The turn.
        user_id: Whose memories these are.
        embeddings: Makes the vectors.
        policy: None takes the extractor's own, where it has one.
        consolidator: As in `enrich`.
        batch: As in `enrich`.
    """
    used = _policy_of(extractor, policy)
    return enrich(
        store, extractor.extract_salient(turn), user_id=user_id, embeddings=embeddings, policy=used, consolidator=consolidator, batch=batch
    )  # fmt: skip


async def aenrich_from_turn(
    store: Store,
    extractor: AsyncSalienceExtractor,
    turn: Turn,
    *,
    user_id: str,
    embeddings: EmbeddingsProvider,
    policy: Policy | None = None,
    consolidator: Any = None,
    batch: bool = True,
) -> EnrichmentResult:
    """`enrich_from_turn` for asyncio."""
    candidates = await extractor.extract_salient(turn)
    used = _policy_of(extractor, policy)
    return await aenrich(
        store, candidates, user_id=user_id, embeddings=embeddings, policy=used, consolidator=consolidator, batch=batch
    )  # fmt: skip


def _policy_of(extractor: object, policy: Policy | None) -> Policy | None:
    own = getattr(extractor, "policy", None)
    return own if policy is None and isinstance(own, Policy) else policy
