"""What is tuned: from a candidate (instructions and demos) to the policy that ships, and what becomes of an input under it. No DSPy here.

The exported policy is the single source. A candidate is made a policy first, and its calls are those of the library's own extractor or
consolidator under that policy, over a client that asks the engine. So there is no second renderer, parser or splitter that could differ
from production's. DSPy sees fields named as the model sees them labelled, and demos of the same fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from evals.cases import Case
from evals.errors import WorkbenchError
from evals.examples import as_example
from evals.recall_cases import ConsolidationCase
from evals.tune.canonical import canonical
from salience import (
    ConsolidationExample,
    ConsolidationPolicy,
    ConsolidationResult,
    Example,
    ExtractionResult,
    ModelConsolidator,
    ModelSalienceExtractor,
    Policy,
    Turn,
)
from salience.consolidation_core import settled
from salience.consolidation_types import KnownMemory
from salience.protocols import ChatClient
from salience.requests import turn_parts

Fields = Mapping[str, Any]
"""Values of DSPy's fields by name: the inputs of a call, or a demo."""
TunedPolicy = Policy | ConsolidationPolicy
Result = ExtractionResult | ConsolidationResult
REPLY = "reply"
"""The one output field: the model's answer, word for word."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one input.

    Attributes:
        reply: The model's answer, word for word; of a split turn the answers to all its parts, put together; "" where none was asked.
        result: What the library's own parser makes of it.
    """

    reply: str
    result: Result


class Task(Protocol):
    """What is tuned.

    1. `base` is the policy that tuning starts from. All but instructions and examples is kept as it is.
    2. `fields` names the inputs that the model sees; `extra` those that it does not.
    3. `policy` makes a policy of instructions and demos, always the same one of the same. A demo that cannot be sent is left out.
    4. `run` asks what production would ask, through `client` only, and never raises for what a model answered.
    """

    @property
    def base(self) -> TunedPolicy:
        """The policy that tuning starts from."""
        ...

    @property
    def fields(self) -> Mapping[str, Any]:
        """The types of the input fields, in order."""
        ...

    @property
    def extra(self) -> Sequence[str]:
        """Inputs of a module that are not shown to the model."""
        ...

    def demos(self) -> list[dict[str, Any]]:
        """Return the base policy's examples as demos."""
        ...

    def policy(self, instructions: str, demos: Iterable[Fields], name: str) -> TunedPolicy:
        """Return what ships.

        Raises:
            PolicyError: No policy has such instructions.
        """
        ...

    def settled(self, given: Fields) -> Outcome | None:
        """Return what comes of an input for which production asks no model, or None."""
        ...

    def run(self, policy: Any, given: Fields, client: ChatClient) -> Outcome:
        """Return what comes of an input under a policy."""
        ...

    def example(self, case: Any) -> dict[str, Any]:
        """Return a labelled case as inputs and the right reply.

        Raises:
            WorkbenchError: The case is not of this task, or nobody has labelled it.
        """
        ...


def _origin(base: TunedPolicy) -> dict[str, Any]:
    return {"base": {"name": base.name, "hash": base.hash}}


def _texts(demo: Fields, *names: str) -> bool:
    """Whether a demo has these fields as texts that say something."""
    return all(isinstance(demo.get(name), str) and demo[name].strip() for name in names)


@dataclass(frozen=True, slots=True)
class ExtractionTask:
    """Candidate memories out of a turn. The fields are named as `salience.render_turn` labels them."""

    base: Policy

    fields = {"date": str | None, "source": str | None, "turn": str}  # noqa: RUF012
    extra = ()

    def demos(self) -> list[dict[str, Any]]:
        """Return the base policy's examples as demos."""
        return [{**turn_fields(example.turn), REPLY: example.reply} for example in self.base.examples]

    def policy(self, instructions: str, demos: Iterable[Fields], name: str) -> Policy:
        """Return what ships; the example of a demo has the demo's reply, word for word.

        Left out are demos without a reply, and those whose turn the policy would split, as no single reply belongs to them.
        """
        usable = [demo for demo in demos if _texts(demo, REPLY) and isinstance(demo.get("turn"), str)]
        examples = [Example(_turn(demo), demo[REPLY]) for demo in usable]
        whole = tuple(example for example in examples if len(turn_parts(self.base, example.turn)) == 1)
        return replace(self.base, name=name, system=canonical(instructions), examples=whole, provenance=_origin(self.base))

    def settled(self, given: Fields) -> None:
        """Return None: a model is asked about every turn."""

    def run(self, policy: Policy, given: Fields, client: ChatClient) -> Outcome:
        """Return the candidates of a turn; one that the policy splits is asked about in parts, as in production."""
        result = ModelSalienceExtractor(client, policy=policy).extract(_turn(given))
        return Outcome(result.reply.text, result)

    def example(self, case: Case) -> dict[str, Any]:
        """Return a labelled case as inputs and the right reply: its required memories, as `evals.examples` writes them."""
        if not isinstance(case, Case) or not case.labelled:
            raise WorkbenchError(f"an example for extraction must be a labelled extraction case, got {case!r:.200}")
        return {**turn_fields(case.turn()), REPLY: as_example(case).reply, "case": case.id}


def turn_fields(turn: Turn) -> dict[str, str | None]:
    """Return a turn as input fields.

    Raises:
        WorkbenchError: The turn has `observed` or `meta`, which a model never sees and no field carries.
    """
    if turn.observed is not None or turn.meta:
        raise WorkbenchError(f"a turn with observed or meta cannot be tuned on, as no model sees them; got {turn!r:.200}")
    return {"date": turn.date, "source": turn.source, "turn": turn.text}


def _turn(given: Fields) -> Turn:
    return Turn(given["turn"], source=given.get("source"), date=given.get("date"))


@dataclass(frozen=True, slots=True)
class ConsolidationTask:
    """A decision on a new fact. The model sees the memories' contents, numbered; `ids` are what they are called in the store."""

    base: ConsolidationPolicy

    fields = {"known_memories": list[str], "new_fact": str}  # noqa: RUF012
    extra = ("ids",)

    def demos(self) -> list[dict[str, Any]]:
        """Return the base policy's examples as demos.

        Raises:
            WorkbenchError: One has several facts.
        """
        if any(len(example.facts) > 1 for example in self.base.examples):
            raise WorkbenchError(f"the policy {self.base.name!r} has examples with several facts; tuning takes one fact an example")
        return [
            {"known_memories": list(example.existing), "new_fact": example.facts[0], REPLY: example.reply} for example in self.base.examples
        ]

    def policy(self, instructions: str, demos: Iterable[Fields], name: str) -> ConsolidationPolicy:
        """Return what ships; the example of a demo has the demo's reply, word for word. Demos without a reply are left out."""
        examples = tuple(
            ConsolidationExample((demo["new_fact"],), tuple(demo.get("known_memories") or ()), demo[REPLY])
            for demo in demos
            if _texts(demo, REPLY, "new_fact")
        )
        return replace(self.base, name=name, system=canonical(instructions), examples=examples, provenance=_origin(self.base))

    def settled(self, given: Fields) -> Outcome | None:
        """Return what comes of a fact that needs no model: there is no memory, or one says it word for word."""
        result = settled(given["new_fact"], _known(given))
        return None if result is None else Outcome("", result)

    def run(self, policy: ConsolidationPolicy, given: Fields, client: ChatClient) -> Outcome:
        """Return the decision on a fact."""
        result = ModelConsolidator(client, policy=policy).consolidate_result(given["new_fact"], _known(given))
        return Outcome(result.reply.text if result.reply is not None else "", result)

    def example(self, case: ConsolidationCase) -> dict[str, Any]:
        """Return a labelled case as inputs and the right reply: the labelled decision, the memories by their numbers."""
        if not isinstance(case, ConsolidationCase):
            raise WorkbenchError(f"an example for consolidation must be a labelled consolidation case, got {case!r:.200}")
        ids = [memory.id for memory in case.existing]
        contents = [memory.content for memory in case.existing]
        return {"known_memories": contents, "new_fact": case.new_fact, "ids": ids, REPLY: _decision_reply(case, ids), "case": case.id}


def _known(given: Fields) -> list[KnownMemory]:
    """The memories of an input, with their ids where it has them, else numbered from 1."""
    contents = given["known_memories"]
    ids = given.get("ids") or [str(number) for number in range(1, len(contents) + 1)]
    return [KnownMemory(one, content) for one, content in zip(ids, contents, strict=True)]


def _decision_reply(case: ConsolidationCase, ids: Sequence[str]) -> str:
    """The labelled decision in the reply convention of the default prompt."""
    right = case.decision
    element = {
        "fact": 1,
        "action": right.action,
        "id": None if right.id is None else ids.index(right.id) + 1,
        "content": right.content,
        "also_retire": [ids.index(one) + 1 for one in right.also_retire],
    }
    return json.dumps({"decisions": [element]}, ensure_ascii=False)


def task_of(policy: TunedPolicy) -> ExtractionTask | ConsolidationTask:
    """Return what a policy is about.

    Raises:
        WorkbenchError: It is no policy.
    """
    if isinstance(policy, Policy):
        return ExtractionTask(policy)
    if isinstance(policy, ConsolidationPolicy):
        return ConsolidationTask(policy)
    raise WorkbenchError(f"only a salience.Policy or ConsolidationPolicy can be tuned, got {policy!r:.200}")
