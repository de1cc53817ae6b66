"""The reference extractor: one core without input or output, and two thin shells around it, sync and async.

The core is `build_request` (what to ask) and `read_result` (what came of it); both are pure. A client's errors pass through
untouched, so that the caller still has the turn and decides.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, overload

from salience.errors import OptionError, SeamError
from salience.policy import Policy
from salience.protocols import AsyncChatClient, AsyncLlmClient, ChatClient, LlmClient, Message
from salience.rendering import render_messages
from salience.reply import read_reply
from salience.types import Candidate, Dropped, ExtractionResult, ExtractOptions, Reply, Status, Turn

Seam = Literal["chat", "complete"]


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked: messages, reply schema and decoding parameters, exactly as a client gets them."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int | None
    temperature: float | None


def build_request(policy: Policy, turn: Turn) -> Request:
    """Return what to ask a model about a turn under a policy.

    Raises:
        OptionError: `turn` is no Turn.
    """
    if not isinstance(turn, Turn):
        raise OptionError(f"turn must be a salience.Turn, got {type(turn).__name__}; see Turn(...) and Turn.from_messages([...])")
    return Request(tuple(render_messages(policy, turn)), policy.schema, policy.decoding.max_tokens, policy.decoding.temperature)


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
    dropped = list(reading.dropped)
    kept: list[Candidate] = []
    for item in reading.items:
        candidate = _with_provenance(item, turn, wanted.default_observed)
        if policy.calibration is not None:
            candidate = replace(candidate, salience=policy.calibration(candidate.salience))
        if candidate.salience < wanted.min_salience:
            dropped.append(Dropped("below min_salience", candidate.content[:200]))
        else:
            kept.append(candidate)
    kept.sort(key=lambda candidate: -candidate.salience)
    if wanted.max_candidates is not None:
        dropped += [Dropped("over max_candidates", candidate.content[:200]) for candidate in kept[wanted.max_candidates :]]
        del kept[wanted.max_candidates :]
    return ExtractionResult(tuple(kept), reply, status, tuple(dropped))


def _with_provenance(item: Candidate, turn: Turn, default_observed: str | None) -> Candidate:
    return replace(
        item,
        source=item.source or turn.source,
        observed=item.observed or turn.observed or default_observed,
        date=item.date or turn.date,
        meta={**(turn.meta or {}), **item.meta},
    )


def seam_of(client: object, policy: Policy) -> Seam:
    """Return which method of a client to use: `chat` where it has one, else `complete`.

    Raises:
        OptionError: `policy` is no Policy.
        SeamError: The client has neither, or the policy needs `chat` and the client lacks it.
    """
    given = type(client).__name__
    if not isinstance(policy, Policy):
        raise OptionError(f"policy must be a salience.Policy, got {policy!r}; Policy.load(...) loads one by name or file")
    if callable(getattr(client, "chat", None)):
        return "chat"
    if not callable(getattr(client, "complete", None)):
        raise SeamError(f"{given} is no model client: it has neither chat(messages, ...) nor complete(system=..., prompt=...)")
    if policy.needs_chat:
        raise SeamError(
            f"the policy {policy.name!r} has a reply schema, decoding parameters or examples sent as turns, which needs a client with "
            f"chat(messages, *, schema, max_tokens, temperature); {given} has only complete(). Give it a chat method (see "
            f"salience.ChatClient), or use a policy without them, such as 'plain'"
        )
    return "complete"


def _texts(request: Request) -> tuple[str, str]:
    system, user = request.messages  # without examples sent as turns there are exactly two
    return system["content"], user["content"]


def _wrong_answer(client: object, method: str, answer: object) -> NoReturn:
    if inspect.iscoroutine(answer):
        answer.close()
        raise SeamError(f"{type(client).__name__}.{method} is asynchronous: use AsyncModelSalienceExtractor")
    wanted = "a salience.Reply" if method == "chat" else "a str"
    raise SeamError(f"{type(client).__name__}.{method} must return {wanted}, got {type(answer).__name__}")


def _as_reply(client: object, seam: Seam, answer: object) -> Reply:
    if seam == "chat" and isinstance(answer, Reply):
        if not isinstance(answer.text, str):
            raise SeamError(f'{type(client).__name__}.chat returned a Reply whose text is {answer.text!r}; it must be a str, "" for none')
        return answer
    if seam == "complete" and isinstance(answer, str):
        return Reply(answer)
    _wrong_answer(client, seam, answer)


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
        request = build_request(self.policy, turn)
        if self.seam == "chat":
            answer = self.llm.chat(request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature)
        else:
            system, prompt = _texts(request)
            answer = self.llm.complete(system=system, prompt=prompt)
        return read_result(self.policy, turn, _as_reply(self.llm, self.seam, answer), options)


class AsyncModelSalienceExtractor:
    """`ModelSalienceExtractor` for asyncio clients; the same contract."""

    def __init__(self, llm: AsyncLlmClient | AsyncChatClient, *, policy: Policy | None = None) -> None:
        self.llm: Any = llm
        self.policy = Policy() if policy is None else policy
        self.seam = seam_of(llm, self.policy)

    async def extract_salient(self, turn: Turn, options: ExtractOptions | None = None) -> list[Candidate]:
        """Return the candidates of one turn; see `ModelSalienceExtractor.extract_salient`."""
        return list((await self.extract(turn, options)).candidates)

    async def extract(self, turn: Turn, options: ExtractOptions | None = None) -> ExtractionResult:
        """Return the candidates of one turn with their evidence."""
        request = build_request(self.policy, turn)
        if self.seam == "chat":
            pending = self.llm.chat(request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature)
        else:
            system, prompt = _texts(request)
            pending = self.llm.complete(system=system, prompt=prompt)
        if not inspect.isawaitable(pending):
            raise SeamError(f"{type(self.llm).__name__}.{self.seam} is not asynchronous: use ModelSalienceExtractor")
        return read_result(self.policy, turn, _as_reply(self.llm, self.seam, await pending), options)


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
