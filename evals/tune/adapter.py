"""DSPy's side of parity: a candidate becomes the policy that would ship, and the library's own code asks and reads.

No prompt is rendered here and no reply is parsed: DSPy's formats and its own clients stay out of the way. What DSPy keeps of a call, for
traces and examples, is the user message and the reply, word for word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy
from dspy.lm15 import Message as Answer
from dspy.lm15 import Response, TextPart, Usage

from evals.errors import CallError
from evals.requests import request_hash
from evals.tune.canonical import canonical
from evals.tune.engine import Engine, EngineClient
from evals.tune.stops import Outage, SearchBroken
from evals.tune.tasks import AnyPolicy, Played, TuningTask
from salience import Reply, Request
from salience.protocols import Message

REPLY = "reply"
NOT_ASKED = ""
"""The reply that is kept of a case that no model was asked about."""


def signature_of(task: TuningTask, instructions: str) -> type[dspy.Signature]:
    """Return the signature of a task: its user message in, the reply out."""
    fields = {
        task.kind: (str, dspy.InputField(desc="the message as the model gets it")),
        REPLY: (str, dspy.OutputField(desc="the reply of the model, word for word")),
    }
    signature: type[dspy.Signature] = dspy.Signature(fields, instructions)
    return signature


class PolicyAdapter(dspy.Adapter):
    """Plays a candidate; one a call, as it keeps what became of it.

    Args:
        task: What is tuned.
        base: The policy that instructions and examples are put into.

    Attributes:
        played: What the candidate made of the case.
        candidate: The candidate as the policy that would ship.
    """

    def __init__(self, task: TuningTask, base: AnyPolicy) -> None:
        super().__init__()
        self.task, self.base = task, base
        self.played: Played | None = None
        self.candidate: AnyPolicy | None = None

    def policy(self, signature: type[dspy.Signature], demos: Sequence[Mapping[str, Any]], name: str | None = None) -> AnyPolicy:
        """Return the policy that a candidate is.

        Raises:
            TypeError: The signature is not that of the task: an optimiser's own call came here.
        """
        if list(signature.input_fields) != [self.task.kind] or list(signature.output_fields) != [REPLY]:
            raise TypeError(f"the adapter of {self.task.name} was called for another signature: {list(signature.fields)}")
        shown = [(demo[self.task.kind], demo[REPLY]) for demo in demos if demo.get(REPLY) and demo.get(self.task.kind) is not None]
        written = canonical(signature.instructions)  # a writer may indent what it writes, or write nothing, for which DSPy has a text
        system = self.base.system if written in ("", f"Given the fields `{self.task.kind}`, produce the fields `{REPLY}`.") else written
        policy: AnyPolicy = self.task.policy(self.base, system, shown, name)
        return policy

    def __call__(
        self, lm: Any, lm_kwargs: dict[str, Any], signature: type[dspy.Signature], demos: list[Any], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Let the library's own code play a case, over the engine of the language model that is bound."""
        try:
            return [self._play(lm, lm_kwargs, signature, demos, inputs)]
        except Exception as error:
            raise SearchBroken(f"a candidate could not be played: {error}") from error

    def _play(
        self, lm: Any, lm_kwargs: Mapping[str, Any], signature: type[dspy.Signature], demos: Sequence[Any], inputs: Mapping[str, Any]
    ) -> dict[str, Any]:
        seat = getattr(lm, "engine", None)
        if not isinstance(seat, Seat):
            raise TypeError(f"the task's model must be an engine's, got {type(lm).__name__}")
        policy = self.policy(signature, demos)
        case = self.task.case(inputs[self.task.kind])
        settings = {**getattr(lm, "kwargs", {}), **lm_kwargs}
        rollout = settings.get("rollout_id")
        # an optimiser explores with a temperature of its own and a number for each answer; everything else is asked as production does
        heat = settings.get("temperature") if rollout is not None else None
        client = EngineClient(seat.engine, int(rollout or 0), heat)
        self.candidate, self.played = policy, None
        played = self.task.play(policy, case, client)
        self.played = played
        # of a turn that was split there are several; such a case is no example
        return {REPLY: played.replies[0] if len(played.replies) == 1 else NOT_ASKED}


class Seat:
    """An engine of ours where DSPy wants one: for what plays candidates it only carries the engine, a writer is asked through it.

    Args:
        engine: Who answers.
        max_tokens: The most tokens of a writer's reply.
    """

    def __init__(self, engine: Engine, *, max_tokens: int = 2000) -> None:
        self.engine, self.max_tokens = engine, max_tokens
        self.answered = 0
        self._asked: dict[str, int] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Seat:
        return self

    def complete(self, request: Any) -> Any:
        """Return a writer's answer; each further one to the same request is another, and the same again when resumed."""
        messages: list[Message] = []
        if request.system is not None:
            system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system)
            messages.append({"role": "system", "content": system})
        messages += [{"role": message.role, "content": message.text or ""} for message in request.messages]
        heat = request.config.temperature
        asked = Request(tuple(messages), None, request.config.max_tokens or self.max_tokens, 1.0 if heat is None else float(heat))
        digest = request_hash(asked)
        repeat = self._asked[digest] = self._asked.get(digest, -1) + 1
        try:
            reply = self.engine.ask(asked, repeat=repeat)
        except CallError as error:
            raise Outage(f"the writer {self.engine.model.name}: {error}") from None
        self.answered += bool(reply.text.strip())
        return response_of(reply, str(request.model))

    def close(self) -> None:
        """Do nothing: whoever opened the model closes it."""


def response_of(reply: Reply, model: str) -> Any:
    """Return a reply as DSPy's engines return it."""
    read, written = getattr(reply, "input_tokens", None) or 0, getattr(reply, "output_tokens", None) or 0
    return Response(
        id=None, model=model, message=Answer.assistant([TextPart(reply.text)]),
        finish_reason="length" if reply.finish_reason == "length" else "stop",
        usage=Usage(input_tokens=read, output_tokens=written, total_tokens=read + written),
    )  # fmt: skip


def lm_of(engine: Engine, *, temperature: float | None = None) -> dspy.LM:
    """Return DSPy's language model over an engine; its own cache and its own retries are off."""
    settings = {} if temperature is None else {"temperature": temperature}
    return dspy.LM(engine.name, engine=Seat(engine), cache=False, num_retries=0, **settings)
