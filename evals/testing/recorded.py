"""A model that answers from a recording, and asks the real one only where it is told to record. What is asked is decided elsewhere."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evals.calls import storable
from evals.errors import CallError
from evals.models.base import Fingerprint, Model, ModelReply, RefusedParameterError
from evals.models.redaction import Secrets, secret_values
from evals.plan import Plan
from evals.requests import RequestHasher, request_hash
from evals.testing.recordings import Key, Recorded, Recording
from salience import Request, RequestBuilder
from salience.protocols import Message

_IN_FLIGHT = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a plan.

    Attributes:
        key: What its reply is recorded under.
        case: The case's id.
        policy: The policy's name.
        part: Which part of a turn that was split, from 0.
        request: What is sent.
    """

    key: Key
    case: str
    policy: str
    part: int
    request: Request


def requests_of(plan: Plan) -> list[Asked]:
    """Return every request that a plan makes of its models, repeats included; baselines make none."""
    asked, hasher = [], RequestHasher()
    for cell in plan.cells:
        if cell.policy is None:
            continue
        builder = RequestBuilder(cell.policy)
        for case in plan.cases:
            for part, request in enumerate(builder.parts(case.turn())):
                hashed = hasher.hash(request)
                asked += [
                    Asked((cell.model, hashed, plan.config.seed + repeat), case.id, cell.policy.name, part, request)
                    for repeat in range(plan.config.repeats)
                ]
    return asked


class RecordedModel:
    """Answers from a recording; the `Model` seam's contract holds.

    Args:
        name: The model's name.
        recording: Where replies are looked up and kept.
        asked: What the requests to come belong to.
        live: Who is asked for what is not recorded; None to ask nobody.
    """

    def __init__(self, name: str, recording: Recording, asked: Sequence[Asked], live: Model | None = None) -> None:
        self.name = name
        self.fingerprint: Fingerprint = {"engine": "recording", "model": name}
        self.concurrency = live.concurrency if live is not None else _IN_FLIGHT
        self._recording, self._live = recording, live
        self._asked = {one.key: one for one in reversed(asked)}
        self._secrets = Secrets(secret_values(os.environ))

    async def prepare(self) -> None:
        """Do nothing: where all is recorded, the real model is not needed, and its `chat` works without this."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> ModelReply:
        """Return the recorded reply, or ask for it and record it.

        Raises:
            CallError: It is not recorded and nobody may be asked, or the call failed, or the input is recorded as too long.
        """
        key = (self.name, request_hash(Request(tuple(messages), schema, max_tokens, temperature)), seed or 0)
        found = self._recording.get(key)
        if found is not None:
            return _replayed(found)
        if self._live is None:
            raise CallError("unrecorded", f"the request {key[1]} is not recorded in {self._recording.path}")
        chat = self._live.chat
        return await self._ask(
            partial(chat, messages, schema=schema, max_tokens=max_tokens, temperature=temperature, seed=seed), key
        )  # fmt: skip

    async def close(self) -> None:
        """Do nothing: whoever opened the real model closes it."""

    async def _ask(self, send: Callable[[], Awaitable[ModelReply]], key: Key) -> ModelReply:
        try:
            reply = await send()
        except RefusedParameterError as error:
            raise RefusedParameterError(error, partial(self._ask, error.again, key)) from None
        except CallError as error:
            if error.kind == "too_long":  # asking again would be pointless: it is an answer, and scored
                self._keep(key, too_long=self._secrets.redact(storable(str(error))))
            raise
        reply = replace(reply, text=self._secrets.hide(storable(reply.text)))
        self._keep(
            key, reply=reply.text, finish_reason=reply.finish_reason, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens,
            fallbacks=reply.fallbacks, reasoning_tokens=reply.reasoning_tokens, reasoning_only=reply.reasoning_only,
        )  # fmt: skip
        return reply

    def _keep(self, key: Key, **fields: Any) -> None:
        about = self._asked[key]
        model, request, seed = key
        self._recording.add(
            Recorded(model=model, case=about.case, policy=about.policy, part=about.part, seed=seed, request=request, **fields)
        )


def _replayed(found: Recorded) -> ModelReply:
    if found.reply is None:
        raise CallError("too_long", found.too_long or "")
    return ModelReply(
        found.reply, found.finish_reason, found.input_tokens, found.output_tokens, fallbacks=found.fallbacks,
        reasoning_tokens=found.reasoning_tokens, reasoning_only=found.reasoning_only,
    )  # fmt: skip
