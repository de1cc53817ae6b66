"""The reference extractor: one core without input or output, and two thin shells around it, sync and async.

The core is `build_requests` (what to ask) and `read_results` (what came of it); both are pure. There is one request for a turn, or one
for each part where the policy's `max_turn_chars` splits it. A client's errors pass through untouched, so that the caller still has
the turn and decides.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, overload

from salience.choosing import choose, complete_items
from salience.errors import OptionError, SeamError
from salience.merging import merge_candidates, merge_replies, merge_status
from salience.policy import Policy
from salience.protocols import AsyncChatClient, AsyncLlmClient, ChatClient, LlmClient
from salience.reply import read_reply
from salience.requests import build_requests, turn_parts
from salience.seams import as_reply, call, seam_of
from salience.types import Candidate, ExtractionResult, ExtractOptions, Reply, Status, Turn


def read_result(policy: Policy, turn: Turn, reply: Reply, options: ExtractOptions | None = None) -> ExtractionResult:
    """Return the candidates that a reply holds for a turn; never raises, whatever the reply.

    In this order: reading (`read_reply`), provenance from the turn, the policy's calibration map, `min_salience`, a stable sort by
    salience, and `max_candidates`.

    Args:
        policy: The policy that the request was made with.
        turn: The turn that was asked about.
        reply: The model's answer.
        options: Instead of the policy's own options.

    Returns:
        The candidates with their evidence. A reply that ended at its token limit with nothing to read is `truncated`.
    """
    wanted = policy.options if options is None else options
    reading = read_reply(reply.text)
    status: Status = "truncated" if reading.status == "malformed" and reply.finish_reason == "length" else reading.status
    candidates, left_out = choose(complete_items(reading.items, turn, policy.calibration, wanted.default_observed), wanted)
    return ExtractionResult(candidates, reply, status, (*reading.dropped, *left_out))


def read_results(policy: Policy, turn: Turn, replies: Sequence[Reply], options: ExtractOptions | None = None) -> ExtractionResult:
    """Return the candidates that the replies to `build_requests` hold for a turn.

    For a turn that was not split this is `read_result`. For one that was, each reply is read on its own (reading, provenance,
    calibration), duplicates are merged (`salience.merging` says which are), and then `min_salience`, the sort and
    `max_candidates` apply once, to the whole.

    Args:
        policy: The policy that the requests were made with.
        turn: The whole turn.
        replies: The model's answers, in the order of the requests.
        options: Instead of the policy's own options.

    Returns:
        The candidates with their evidence, that of each part in `parts`. The status of the whole is `malformed` if every part is, else
        `truncated` if any part is truncated or malformed, else `repaired` if any is, else `ok` if any is, else `empty`.

    Raises:
        OptionError: There are more replies or fewer than the turn has parts.
    """
    number = len(turn_parts(policy, turn))
    if len(replies) != number:
        raise OptionError(f"replies must be {number}, one for each of build_requests(policy, turn), got {len(replies)}")
    if number == 1:
        return read_result(policy, turn, replies[0], options)
    wanted = policy.options if options is None else options
    everything = ExtractOptions(default_observed=wanted.default_observed)
    parts = tuple(read_result(policy, turn, reply, everything) for reply in replies)
    merged, duplicates = merge_candidates(parts)
    candidates, left_out = choose(merged, wanted)
    dropped = (*(item for part in parts for item in part.dropped), *duplicates, *left_out)
    return ExtractionResult(candidates, merge_replies(replies), merge_status([part.status for part in parts]), dropped, parts)


class ModelSalienceExtractor:
    """Extracts candidate memories with a model, under a policy.

    Args:
        llm: Any client; one with `chat` is asked through it, and a policy may need that.
        policy: What to ask for and what to keep. The default has neither schema nor examples, so `complete` is enough.

    Raises:
        SeamError: The client cannot do what the policy needs.
    """

    def __init__(self, llm: LlmClient | ChatClient, *, policy: Policy | None = None) -> None:
        self.llm: Any = llm
        self.policy = Policy() if policy is None else policy
        self.seam = seam_of(llm, self.policy)

    def extract_salient(self, turn: Turn, options: ExtractOptions | None = None) -> list[Candidate]:
        """Return the candidates of one turn, the most salient first.

        Args:
            turn: The turn to decide about.
            options: Instead of the policy's own options.

        Returns:
            The candidates; an empty list if nothing is worth keeping or the reply could not be read (`extract` tells which).

        Raises:
            Exception: Whatever the client raises.
        """
        return list(self.extract(turn, options).candidates)

    def extract(self, turn: Turn, options: ExtractOptions | None = None) -> ExtractionResult:
        """Return the candidates of one turn with their evidence: the reply, how it could be read, what was dropped."""
        replies = [as_reply(self.llm, self.seam, call(self.llm, self.seam, request)) for request in build_requests(self.policy, turn)]
        return read_results(self.policy, turn, replies, options)


class AsyncModelSalienceExtractor:
    """`ModelSalienceExtractor` for asyncio clients; the same contract.

    The parts of a long turn are asked about one after another, so that a client is never called twice at once, a failure is known
    before more is spent, and any event loop will do. To ask about them all at once, gather over `build_requests` and give the
    answers to `read_results`.
    """

    def __init__(self, llm: AsyncLlmClient | AsyncChatClient, *, policy: Policy | None = None) -> None:
        self.llm: Any = llm
        self.policy = Policy() if policy is None else policy
        self.seam = seam_of(llm, self.policy)

    async def extract_salient(self, turn: Turn, options: ExtractOptions | None = None) -> list[Candidate]:
        """Return the candidates of one turn; see `ModelSalienceExtractor.extract_salient`."""
        return list((await self.extract(turn, options)).candidates)

    async def extract(self, turn: Turn, options: ExtractOptions | None = None) -> ExtractionResult:
        """Return the candidates of one turn with their evidence."""
        replies = []
        for request in build_requests(self.policy, turn):
            pending = call(self.llm, self.seam, request)
            if not inspect.isawaitable(pending):
                raise SeamError(f"{type(self.llm).__name__}.{self.seam} is not asynchronous: use ModelSalienceExtractor")
            replies.append(as_reply(self.llm, self.seam, await pending))
        return read_results(self.policy, turn, replies, options)


@overload
def create_salience_extractor(llm: AsyncLlmClient | AsyncChatClient, *, policy: Policy | None = None) -> AsyncModelSalienceExtractor: ...
@overload
def create_salience_extractor(llm: LlmClient | ChatClient, *, policy: Policy | None = None) -> ModelSalienceExtractor: ...
def create_salience_extractor(
    llm: LlmClient | ChatClient | AsyncLlmClient | AsyncChatClient, *, policy: Policy | None = None
) -> ModelSalienceExtractor | AsyncModelSalienceExtractor:
    """Return the extractor that fits a client: the asynchronous one if the method it would use is a coroutine function.

    Args:
        llm: Any model client.
        policy: As in `ModelSalienceExtractor`.

    Raises:
        SeamError: The client cannot do what the policy needs.
    """
    seam = seam_of(llm, Policy() if policy is None else policy)
    if inspect.iscoroutinefunction(getattr(llm, seam)):
        return AsyncModelSalienceExtractor(llm, policy=policy)  # type: ignore[arg-type]
    return ModelSalienceExtractor(llm, policy=policy)  # type: ignore[arg-type]
