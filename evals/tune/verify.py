"""Sends cases the way production does and the way a search does, and compares what goes out, byte for byte. It judges no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals.models.base import ModelReply
from evals.requests import request_hash
from evals.tune.engine import Engine
from evals.tune.tasks import AnyPolicy, TuningTask
from salience import (
    AsyncModelConsolidator,
    AsyncModelSalienceExtractor,
    KnownMemory,
    Policy,
    Request,
)
from salience.protocols import Message


@dataclass(frozen=True, slots=True)
class Verified:
    """One case.

    Attributes:
        case: Its id.
        requests: How many requests the plain library sent.
        same_requests: Whether the search sends the same ones: messages, schema, decoding parameters.
        same_replies: Whether the model answered the same to both; None where no request was sent or they differ.
    """

    case: str
    requests: int
    same_requests: bool
    same_replies: bool | None


@dataclass(slots=True)
class _Recorder:
    """A client over a model without cache, engine or DSPy: what production has."""

    chat_with: Any
    seed: int
    requests: list[Request] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> ModelReply:
        request = Request(tuple(dict(message) for message in messages), schema, max_tokens, temperature)
        self.requests.append(request)
        reply: ModelReply = await self.chat_with(messages, schema=schema, max_tokens=max_tokens, temperature=temperature, seed=self.seed)
        self.replies.append(reply.text)
        return reply


def verify(task: TuningTask, policy: AnyPolicy, cases: Sequence[Any], engine: Engine) -> list[Verified]:
    """Compare a policy as DSPy's program with the plain library.

    Args:
        task: What is tuned.
        policy: The policy that ships.
        cases: Cases to send.
        engine: Answers the search's side, from the cache where it knows; its model is asked anew for the plain side.

    Raises:
        TuningStopped: The model cannot be asked.
        CallError: Likewise, of the plain side.
    """
    import dspy

    from evals.tune.adapter import lm_of
    from evals.tune.modules import PolicyModule

    module = PolicyModule(task, policy)
    found = []
    with dspy.context(lm=lm_of(engine)):
        for case in cases:
            searched = module(**{task.kind: task.text(case)})
            plain = _Recorder(engine.model.chat, engine.seed)
            engine.desk.run(_play(policy, case, plain))
            sent = searched.played.requests
            same = [request_hash(one) for one in sent] == [request_hash(one) for one in plain.requests]
            replies = searched.played.replies == tuple(plain.replies) if same and sent else None
            found.append(Verified(case.id, len(plain.requests), same, replies))
    return found


async def _play(policy: AnyPolicy, case: Any, client: Any) -> None:
    if isinstance(policy, Policy):
        await AsyncModelSalienceExtractor(client, policy=policy).extract(case.turn())
    else:
        known = [KnownMemory(one.id, one.content) for one in case.existing]
        await AsyncModelConsolidator(client, policy=policy).consolidate_result(case.new_fact, known)
