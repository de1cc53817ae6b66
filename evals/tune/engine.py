"""The way from DSPy to a model: the workbench's own client, retries, cache and budget behind `dspy.LM(name, engine=...)`.

A task model is asked through `Engine.ask` with the library's own `Request`, which DSPy neither makes nor changes. What DSPy and its
optimisers ask themselves (a writer model) comes through `Engine.complete`, in DSPy's own form. Both are the same call to the same client.
LiteLLM and DSPy's caches have no part in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evals.cache import CacheKeys
from evals.errors import CallError
from evals.limits import LimitReachedError
from evals.models.base import Model, ModelReply
from evals.models.calling import Caller, Retry
from evals.prices import Price
from evals.requests import request_hash
from evals.tune.desk import Desk
from evals.tune.stops import BudgetSpent, Outage, ParityBroken, TuningStopped
from evals.tune.tasks import TunedPolicy
from salience import Request
from salience.protocols import Message

if TYPE_CHECKING:
    from dspy.lm15 import Request as DspyRequest  # type: ignore[import-untyped]
    from dspy.lm15 import Response as DspyResponse

TOO_LONG = "too_long"
"""The kind of a failure that is the prompt's own: it does not fit the model's context."""


@dataclass(slots=True)
class Spent:
    """What one model was asked for.

    Attributes:
        sent: Requests sent, failed and repeated ones included.
        answered: Calls that a model answered.
        cached: Calls that the reply cache answered.
        too_long: Calls that did not fit the model's context.
        empty: Answers without text; a writer that gives only such is dead.
        untold: Answers whose server did not tell their tokens.
        input_tokens: Of the requests that were answered, where told.
        output_tokens: Of the answers, where told.
        seconds: How long the answers took, added up.
    """

    sent: int = 0
    answered: int = 0
    cached: int = 0
    too_long: int = 0
    empty: int = 0
    untold: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def add(self, reply: ModelReply, seconds: float) -> None:
        """Count an answer."""
        self.answered += 1
        self.empty += not reply.text.strip()
        self.seconds += seconds
        if reply.input_tokens is None or reply.output_tokens is None:
            self.untold += 1
        else:
            self.input_tokens += reply.input_tokens
            self.output_tokens += reply.output_tokens

    def cost(self, price: Price | None) -> float | None:
        """Return US dollars, or None where the price or the tokens of an answer are not known."""
        return None if price is None or self.untold else price.of(self.input_tokens, self.output_tokens)


class Engine:
    """Asks one model, from any thread; what `dspy.LM` takes as `engine`.

    Args:
        model: Who answers. The desk closes it.
        desk: Where calls are made; task and writer models of a run share one.
        price: What its tokens cost, None where it is not known.
        seed: Seed of the sampling; the repeat is added to it, as in `salience eval`.
        retry: When to try a failed call again.

    Attributes:
        spent: What was asked for so far.
    """

    def __init__(self, model: Model, desk: Desk, *, price: Price | None = None, seed: int = 0, retry: Retry | None = None) -> None:
        self.model, self.desk, self.price, self.seed = model, desk, price, seed
        self.spent = Spent()
        self._keys = CacheKeys(model.fingerprint)
        self._caller = Caller(model, retry=retry)
        self._preparing, self._prepared = asyncio.Lock(), False
        self._times: Counter[str] = Counter()
        self._counting = threading.Lock()
        desk.add(model)

    def __deepcopy__(self, _: object) -> Engine:
        """Return itself: optimisers copy programs and their models, and there is one model."""
        return self

    def ask(self, request: Request, *, repeat: int = 0) -> ModelReply:
        """Return the reply to a request, from the cache or the model.

        Args:
            request: What is asked, as the library makes it.
            repeat: 0, or another whole number for another reply to the same request.

        Raises:
            CallError: The request does not fit the model's context; no other kind.
            BudgetSpent: A limit was reached.
            Outage: The model cannot be had, or the call was given up.
        """
        self.desk.check()
        try:
            return self.desk.run(self._answer(request, repeat))
        except LimitReachedError as error:
            raise self.desk.stop(BudgetSpent(str(error))) from None
        except CallError as error:
            if error.kind == TOO_LONG:
                raise
            raise self.desk.stop(Outage(f"{self.model.name}: {error}")) from error
        except Exception as error:  # whatever it is: it must not become a score
            said = str(error) or type(error).__name__
            raise self.desk.stop(Outage(said if self.model.name in said else f"{self.model.name}: {said}")) from error

    async def _answer(self, request: Request, repeat: int) -> ModelReply:
        key = self._keys.key(request_hash(request), seed=None if request.temperature == 0 else self.seed, repeat=repeat)
        async with self.desk.lock(key):
            found = self.desk.cache.get(key)
            if found is not None:
                self.spent.cached += 1
                return found[0]
            started = time.perf_counter()
            reply = await self._call(request, repeat)
            seconds = time.perf_counter() - started
            self.desk.cache.put(key, reply, seconds)
            self.spent.add(reply, seconds)
            return reply

    async def _call(self, request: Request, repeat: int) -> ModelReply:
        budget = self.desk.budget
        reserve = await budget.enter(request, self.price)
        reply, failed = None, None
        try:
            await self._prepare()
            reply = await self._caller.chat(
                request.messages, schema=request.schema, max_tokens=request.max_tokens, temperature=request.temperature,
                seed=self.seed + repeat, before_attempt=self._sending,
            )  # fmt: skip
        except CallError as error:
            failed = error
            self.spent.too_long += error.kind == TOO_LONG
            raise
        finally:
            budget.leave(reserve, reply, failed)
        text = _storable(reply.text)
        return reply if text == reply.text else replace(reply, text=text)

    async def _prepare(self) -> None:
        """Prepare the model once, and only now: what the cache answers needs neither weights nor server."""
        async with self._preparing:
            if not self._prepared:
                await self.model.prepare()
                self._prepared = True

    def _sending(self) -> None:
        self.desk.check_open()
        self.desk.budget.sending()
        self.spent.sent += 1

    def complete(self, request: DspyRequest) -> DspyResponse:
        """Answer a call of DSPy's own; what `dspy.LM` calls.

        The same request at a temperature above 0 gets another reply each time, the first of a run always the same one.

        Raises:
            dspy.lm15.ContextLengthError: The request does not fit the model's context.
            TuningStopped: As for `ask`.
        """
        from dspy import lm15

        asked = _from_dspy(request)
        try:
            reply = self.ask(asked, repeat=self._time(asked))
        except CallError as error:
            raise lm15.ContextLengthError(str(error)) from None
        given, made = reply.input_tokens, reply.output_tokens
        total = None if given is None or made is None else given + made
        return lm15.Response(
            id=None,
            model=request.model,
            message=lm15.Message.assistant([lm15.TextPart(reply.text)]),
            finish_reason="length" if reply.finish_reason == "length" else "stop",
            usage=lm15.Usage(input_tokens=given, output_tokens=made, total_tokens=total),
        )

    def _time(self, request: Request) -> int:
        """How often the same was asked before by `complete`; always 0 where the reply would be the same anyway."""
        if request.temperature == 0:
            return 0
        key = request_hash(request)
        with self._counting:
            self._times[key] += 1
            return self._times[key] - 1

    def close(self) -> None:
        """Do nothing: the model belongs to the desk."""

    def name(self, policy: TunedPolicy | None = None) -> str:
        """Return a name that no other model, and the same model under no other sampling or schema, has.

        Args:
            policy: What the model is asked under, None for a writer.
        """
        kept = None if policy is None else [policy.schema_json, policy.decoding.max_tokens, policy.decoding.temperature]
        text = json.dumps([dict(self.model.fingerprint), self.seed, kept], sort_keys=True, ensure_ascii=True)
        digest = hashlib.sha256(text.encode("ascii")).hexdigest()[:12]
        return f"salience/{re.sub(r'[^0-9A-Za-z.-]+', '_', self.model.name)}@{digest}"  # DSPy takes "openai/..." for a client of its own

    def lm(self, policy: TunedPolicy | None = None, *, temperature: float | None = None, max_tokens: int | None = None) -> Any:
        """Return the `dspy.LM` of this model.

        Args:
            policy: What a task model is asked under. Its decoding parameters are the policy's own.
            temperature: Of a writer, from 0 up; None leaves the model's default.
            max_tokens: Of a writer, from 1 up; None leaves the model's default.

        Raises:
            ParityBroken: A task model is given decoding parameters.
        """
        if policy is not None and (temperature, max_tokens) != (None, None):
            raise ParityBroken("the temperature and max_tokens of a task model are its policy's: set them there")
        import dspy  # type: ignore[import-untyped]

        return dspy.LM(self.name(policy), engine=self, cache=False, num_retries=0, temperature=temperature, max_tokens=max_tokens)


@dataclass(slots=True)
class EngineClient:
    """The engine as a `salience.ChatClient`: what the library's own extractor and consolidator ask through.

    Attributes:
        engine: Who is asked.
        repeat: Which of several replies to the same request is wanted.
        temperature: Instead of the policy's, where an optimiser wants varied replies; None leaves it.
        failures: Why requests got no answer: the prompt did not fit the model's context. The reply is then empty, which cannot be read.
    """

    engine: Engine
    repeat: int = 0
    temperature: float | None = None
    failures: list[str] = field(default_factory=list)

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> ModelReply:
        """Return the answer to a list of messages."""
        heat = temperature if self.temperature is None else self.temperature
        try:
            return self.engine.ask(Request(tuple(messages), schema, max_tokens, heat), repeat=self.repeat)
        except CallError as error:
            self.failures.append(str(error))
            return ModelReply("")


def _from_dspy(request: DspyRequest) -> Request:
    """Return a request of DSPy's own as the workbench's.

    Raises:
        ParityBroken: It holds more than text, or settings that the workbench does not send.
    """
    from dspy.lm15 import Config

    config = request.config
    if config != Config(max_tokens=config.max_tokens, temperature=config.temperature) or request.tools:
        raise ParityBroken(f"a model was asked with settings that the workbench does not send: {config!r:.300}")
    system = request.system if isinstance(request.system, str) or request.system is None else "\n".join(one.text for one in request.system)
    messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    for message in request.messages:
        if message.text is None or message.role == "tool":
            raise ParityBroken(f"a model was asked with a message that is not plain text: {message!r:.300}")
        messages.append({"role": "system" if message.role == "developer" else message.role, "content": message.text})
    return Request(tuple(messages), None, config.max_tokens, config.temperature)


def _storable(text: str) -> str:
    r"""Text with lone surrogates, which no UTF-8 file can hold, written out as `\udXXX`, as `salience eval` keeps it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


__all__ = ["TOO_LONG", "BudgetSpent", "Engine", "EngineClient", "Outage", "ParityBroken", "Spent", "TuningStopped"]
