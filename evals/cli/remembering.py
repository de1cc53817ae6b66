"""`salience extract --memory`: what was found in a text is put into a memory store, and it is told what became of each candidate.

All of a text is written in one transaction after the last call to a model. Where something fails before, nothing is.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evals.cli.candidates import as_dict, note_evidence, note_refusals, print_candidates
from evals.cli.listening import Listener
from evals.cli.memory_text import counted
from evals.cli.outcomes import Outcome, outcomes, rendered
from evals.cli.output import note, print_json, print_text, terminal_width
from evals.cli.stores import check_user, embeddings_of, opened, short_ids
from evals.errors import CallError, WorkbenchError
from evals.models.deciders import DECIDERS, Decider
from salience import AsyncModelConsolidator, ConsolidationPolicy, PolicyError, SalienceError, Turn
from salience.memory import EmbeddingsProvider, EnrichmentResult, SqliteStore, StoredMemory, aenrich_from_turn

NOBODY = "none"
"""Stands for no consolidation policy: distance decides."""


def check_options(options: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is asked or opened.

    Raises:
        WorkbenchError: Some do not.
    """
    if options.memory is None:
        given = [f"--{name.replace('_', '-')}" for name in ("user", "consolidation", "source_id") if getattr(options, name) is not None]
        if given:
            raise WorkbenchError(f"{given[0]} is about a memory store: name its file with --memory FILE, or leave {given[0]} out")
        return
    if options.user is None:
        raise WorkbenchError("--memory needs --user NAME: whose memories these are")
    check_user(options.user)
    if options.source_id is not None and not options.source_id.strip():
        raise WorkbenchError("--source-id must not be empty; leave it out where there is none")


def remember(options: argparse.Namespace, listener: Listener, turn: Turn) -> int:
    """Run `salience extract --memory` and return its exit code.

    Args:
        options: Those of `salience extract`.
        listener: Finds the candidates; it is closed here.
        turn: The turn.

    Raises:
        WorkbenchError: Something failed. What was found by then was printed, and nothing was written.
    """
    policy = _consolidation(options, listener)
    with opened(options.memory, create=True) as store:
        work = _Work(store, options.user, embeddings_of(store, options.user), listener, policy)
        try:
            result = asyncio.run(work.take_in(turn))
        except KeyboardInterrupt:
            _show_unwritten(options, listener, "interrupted")
            raise
        except (WorkbenchError, SalienceError) as error:
            _show_unwritten(options, listener, str(error))
            raise _unwritten(options, listener, error) from None
        finally:
            note_refusals(listener)
        _show(options, work, result)
    return 0


def _consolidation(options: argparse.Namespace, listener: Listener) -> ConsolidationPolicy | Decider | None:
    """Return the policy by which a model holds candidates against what is known, or the rule that does; None where distance decides.

    Raises:
        WorkbenchError: It does not exist or is not valid, or a baseline is to ask a model.
    """
    if options.consolidation == NOBODY:
        return None
    if options.consolidation in DECIDERS:
        return DECIDERS[options.consolidation]
    if listener.client is None:
        if options.consolidation is not None:
            raise WorkbenchError(
                f"{options.model} is a baseline and asks no model: leave --consolidation out, or name a rule: {', '.join(DECIDERS)}"
            )
        return None
    try:
        return ConsolidationPolicy.load(options.consolidation or "default")
    except PolicyError as error:
        raise WorkbenchError(f"{error}; a rule decides too: {', '.join(DECIDERS)}; {NOBODY!r} lets distance decide") from None


@dataclass(frozen=True, slots=True)
class _Work:
    """A text of one user on its way into a store."""

    store: SqliteStore
    user: str
    embeddings: EmbeddingsProvider
    listener: Listener
    policy: ConsolidationPolicy | Decider | None

    async def take_in(self, turn: Turn) -> EnrichmentResult:
        client = self.listener.client
        consolidator: AsyncModelConsolidator | Decider | None = self.policy if isinstance(self.policy, Decider) else None
        if client is not None and isinstance(self.policy, ConsolidationPolicy):
            consolidator = AsyncModelConsolidator(client, policy=self.policy)
        try:
            return await aenrich_from_turn(
                self.store, self.listener, turn, user_id=self.user, embeddings=self.embeddings, consolidator=consolidator
            )  # fmt: skip
        finally:
            await self.listener.close()

    def outcomes(self, result: EnrichmentResult) -> list[Outcome]:
        found = self.listener.result
        return outcomes(() if found is None else found.candidates, result, self.listener.policy.threshold, self._before)

    def _before(self, memory: StoredMemory) -> StoredMemory | None:
        versions = self.store.history(self.user, memory.id)
        return next((one for one in versions if one.id == memory.id and one.version == memory.version - 1), None)

    def calls(self, result: EnrichmentResult) -> dict[str, int]:
        """How many calls were made to find candidates, and how many to decide about them."""
        every, deciding = 0 if self.listener.client is None else self.listener.client.calls, result.calls or 0
        return {"extraction": every - deciding, "consolidation": deciding}


def _show(options: argparse.Namespace, work: _Work, result: EnrichmentResult) -> None:
    found = work.outcomes(result)
    if options.json:
        _print_json(options, work.listener, {
            "outcomes": [one.to_dict() for one in found], "calls": work.calls(result), "invented": result.invented,
            "fallbacks": result.fallbacks,
        })  # fmt: skip
        return
    ids = short_ids([one.id for one in work.store.list(work.user, retired=True)])
    if found:
        print_text(rendered(found, ids, terminal_width()))
    if not options.quiet:
        _note(options, work, result)


def _print_json(options: argparse.Namespace, listener: Listener, told: dict[str, Any]) -> None:
    if listener.result is not None:
        print_json(as_dict(listener.result) | {"memory": {"file": options.memory, "user": options.user, **told}})


def _note(options: argparse.Namespace, work: _Work, result: EnrichmentResult) -> None:
    """Write to stderr who found and decided, at what price, and where to look at what is known now."""
    listener = work.listener
    if listener.result is not None:
        note_evidence(listener.result, options, listener)
    told = [_who_decides(options, work), *([] if listener.client is None else [_calls(work.calls(result))])]
    told += [f"decisions that could not be used: {result.fallbacks}"] if result.fallbacks else []
    told += [f"memories that the model made up: {result.invented}"] if result.invented else []
    note(f"({'; '.join(told)})")
    words = ["salience", "memory", "list", options.memory, "--user", options.user]
    note(f"({options.user} has {counted(work.store.count(work.user), 'memory', 'memories')} now: {shlex.join(words)})")


def _who_decides(options: argparse.Namespace, work: _Work) -> str:
    if isinstance(work.policy, Decider):
        return f"the rule {work.policy.name} decides"
    if work.policy is not None:
        return f"consolidation {work.policy.name} {work.policy.hash}"
    who = f"{options.model} asks no model" if work.listener.client is None else f"--consolidation {NOBODY}"
    return f"{who}: near-duplicates are skipped by distance, nothing is updated or contradicted"


def _calls(calls: Mapping[str, int]) -> str:
    every = counted(sum(calls.values()), "model call", "model calls")
    return f"{every}: {calls['extraction']} to extract, {calls['consolidation']} to consolidate" if calls["consolidation"] else every


def _show_unwritten(options: argparse.Namespace, listener: Listener, why: str) -> None:
    """Print what was found before something failed, so that it is not lost."""
    if listener.result is None:
        return
    if options.json:
        _print_json(options, listener, {"error": why})
    else:
        print_candidates(listener.result)


def _unwritten(options: argparse.Namespace, listener: Listener, error: Exception) -> WorkbenchError:
    if listener.result is None:
        said = f"nothing was found or written to {options.memory}: {error}"
    else:
        said = f"nothing was written to {options.memory}; the candidates that were found are printed. What failed: {error}"
    if isinstance(error, CallError):
        return CallError(
            error.kind, said, retryable=error.retryable, retry_after=error.retry_after, attempts=error.attempts, status=error.status
        )  # fmt: skip
    made = WorkbenchError(said)
    made.exit_code = getattr(error, "exit_code", made.exit_code)
    return made
