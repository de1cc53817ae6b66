"""What is tuned: extraction or consolidation. How a case is put to a candidate, what an example of it is, and what became of the answer.

A candidate is a policy, and it is the library's own extractor or consolidator that plays it, over a client that asks the engine. Nothing
of DSPy is in here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from evals.cases import Case
from evals.cell_scoring import Scorer
from evals.errors import WorkbenchError
from evals.examples import MOST_BYTES, as_example
from evals.matching.tables import Grid, VerdictTables, score_grids
from evals.metrics import consolidation
from evals.metrics.counts import count_case
from evals.metrics.measures import MEASURES
from evals.metrics.outcomes import decide
from evals.metrics.tables import match_cases
from evals.recall_cases import ConsolidationCase
from evals.recall_cases import Decision as Labelled
from evals.stats.figures import Floats
from evals.tune.engine import EngineClient
from evals.tune.objective import (
    Weights,
    consolidation_feedback,
    consolidation_score,
    extraction_feedback,
    extraction_score,
    perfect,
)
from salience import (
    ConsolidationExample,
    ConsolidationPolicy,
    Example,
    ModelConsolidator,
    ModelSalienceExtractor,
    Policy,
    Reply,
    Request,
    render_turn,
)
from salience.consolidation_core import settled
from salience.consolidation_requests import render_consolidation
from salience.consolidation_types import KnownMemory

AnyPolicy = Policy | ConsolidationPolicy
NO_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Played:
    """What a candidate made of a case.

    Attributes:
        result: The library's result.
        replies: The texts that the model answered; none where it need not be asked.
        too_long: Whether the request did not fit the model's context.
        explored: Whether it was asked with a temperature of the optimiser's own, which the policy would not be.
        requests: What was asked.
        answers: `replies` with how they ended.
    """

    result: Any
    replies: tuple[str, ...]
    too_long: bool = False
    explored: bool = False
    requests: tuple[Request, ...] = ()
    answers: tuple[Reply, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What a case is worth.

    Attributes:
        score: The objective, -1 to 1.
        perfect: Whether the reply may be an example.
        feedback: What went wrong, in words.
        counts: The row of counts that the task's figures are functions of.
    """

    score: float
    perfect: bool
    feedback: str
    counts: Floats


class TuningTask(Protocol):
    """What is tuned.

    1. `text` is the user message of a case, as a model gets it; two cases with the same text are the same to a model.
    2. `play` raises nothing for what a model answers; what stops a search passes through.
    3. `example` returns None for what cannot be an example.
    """

    name: Any
    kind: str
    scorer: Scorer
    weights: Weights

    def text(self, case: Any) -> str:
        """Return the user message of a case."""
        ...

    def asks(self, case: Any) -> bool:
        """Return whether a model is asked about a case at all."""
        ...

    def case(self, text: str) -> Any:
        """Return the case of a user message."""
        ...

    def gold(self, case: Any, policy: Any) -> str | None:
        """Return the reply that a case should get, or None where the policy does not allow for it or the case is too long to be shown."""
        ...

    def policy(self, base: Any, instructions: str, shown: Sequence[tuple[str, str]], name: str | None = None) -> Any:
        """Return the policy of a candidate: the base with other instructions and examples (user message and reply)."""
        ...

    def shown(self, policy: Any) -> list[tuple[str, str]]:
        """Return a policy's examples as user messages and replies."""
        ...

    def play(self, policy: Any, case: Any, client: EngineClient) -> Played:
        """Let a candidate decide on a case."""
        ...

    def judge(self, policy: Any, case: Any, played: Played) -> Judged:
        """Return what an answer is worth."""
        ...


class _Matching:
    """Asks the matcher, one thread at a time."""

    def __init__(self, scorer: Scorer) -> None:
        matcher = scorer.matcher
        self._match = VerdictTables(matcher, scorer.tables).score if scorer.tables else (lambda grids: score_grids(matcher, grids))
        self._lock = threading.Lock()

    def __call__(self, grids: Sequence[Grid]) -> Any:
        with self._lock:
            return self._match(grids)


class ExtractionTask:
    """Extraction.

    Args:
        cases: All cases that may be asked about or shown.
        scorer: The matcher and the rubric.
        weights: What else counts in the objective.
        base: The policies that a search begins from: their examples are known by their text.
    """

    name = "extraction"
    kind = "turn"

    def __init__(self, cases: Sequence[Case], scorer: Scorer, weights: Weights = NO_WEIGHTS, base: Sequence[Policy] = ()) -> None:
        self.scorer, self.weights = scorer, weights
        self._match = _Matching(scorer)
        self._cases = {self.text(case): case for case in cases}
        self._turns = {text: case.turn() for text, case in self._cases.items()}
        self._turns |= {render_turn(one.turn): one.turn for policy in base for one in policy.examples}

    def __deepcopy__(self, memo: dict[int, Any]) -> ExtractionTask:
        return self

    def text(self, case: Case) -> str:
        """Return the user message of a case."""
        return render_turn(case.turn())

    def asks(self, case: Case) -> bool:  # noqa: ARG002  (the seam's signature)
        """Return True: a model is always asked."""
        return True

    def case(self, text: str) -> Case:
        """Return the case of a user message."""
        found: Case = _found(self._cases, text)
        return found

    def gold(self, case: Case, policy: Policy) -> str | None:
        """Return the required memories as a reply, in the form that the policy's schema asks for."""
        if len(case.turn().text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
            return None
        items = json.loads(as_example(case).reply)
        array, key = _array_of(policy.schema)
        most, longest = _bounds(array)
        if len(items) > most or any(len(item["content"]) > longest for item in items):
            return None
        return json.dumps(items if key is None else {key: items}, ensure_ascii=False)

    def policy(self, base: Policy, instructions: str, shown: Sequence[tuple[str, str]], name: str | None = None) -> Policy:
        """Return a candidate."""
        examples = tuple(Example(_found(self._turns, text), reply) for text, reply in shown if reply.strip())
        return replace(base, system=instructions, examples=examples, name=name or base.name, provenance={})

    def shown(self, policy: Policy) -> list[tuple[str, str]]:
        """Return a policy's examples as user messages and replies."""
        return [(render_turn(one.turn), one.reply) for one in policy.examples]

    def play(self, policy: Policy, case: Case, client: EngineClient) -> Played:
        """Let the library's extractor decide on a case."""
        options = replace(policy.options, default_observed=None)  # as evaluation does
        result = ModelSalienceExtractor(client, policy=policy).extract(case.turn(), options)
        return _played(result, client)

    def judge(self, policy: Policy, case: Case, played: Played) -> Judged:
        """Return what the candidates of a reply are worth at the policy's operating threshold."""
        rubric, matcher = self.scorer.rubric, self.scorer.matcher
        found = () if played.too_long else played.result.candidates
        status = "too_long" if played.too_long else played.result.status
        table = match_cases([(case, found)], self._match)[0]
        if table.unscored is not None:
            raise WorkbenchError(f"case {case.id!r} cannot be matched: {table.unscored}")
        at, every = (
            decide(case, found, table, threshold=threshold, rubric=rubric, tie_margin=matcher.tie_margin)
            for threshold in (policy.threshold, 0.0)
        )
        score = extraction_score(case, at, status, rubric, self.weights)
        counts = count_case(case, at, status=status, rubric=rubric, extras={}, relations=matcher.tells_relations)
        length = self.weights.length * len(policy.system) / 1000
        return Judged(score - length, perfect(every, status), extraction_feedback(case, at, status), counts)


class ConsolidationTask:
    """Consolidation, one new fact at a time.

    Args:
        cases: As for `ExtractionTask`.
        scorer: The matcher.
        weights: Of the length of the prompt; the others mean nothing here.
        base: As for `ExtractionTask`.
    """

    name = "consolidation"
    kind = "facts"

    def __init__(
        self, cases: Sequence[ConsolidationCase], scorer: Scorer, weights: Weights = NO_WEIGHTS, base: Sequence[ConsolidationPolicy] = ()
    ) -> None:
        self.scorer, self.weights = scorer, weights
        self._match = _Matching(scorer)
        self._cases = {self.text(case): case for case in cases}
        self._shown: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
            text: ((case.new_fact,), tuple(one.content for one in case.existing)) for text, case in self._cases.items()
        }
        self._shown |= {
            render_consolidation(one.facts, one.existing): (one.facts, one.existing) for policy in base for one in policy.examples
        }

    def __deepcopy__(self, memo: dict[int, Any]) -> ConsolidationTask:
        return self

    def text(self, case: ConsolidationCase) -> str:
        """Return the user message of a case."""
        return render_consolidation([case.new_fact], [one.content for one in case.existing])

    def asks(self, case: ConsolidationCase) -> bool:
        """Return whether it takes a model to decide."""
        return settled(case.new_fact, [KnownMemory(one.id, one.content) for one in case.existing]) is None

    def case(self, text: str) -> ConsolidationCase:
        """Return the case of a user message."""
        found: ConsolidationCase = _found(self._cases, text)
        return found

    def gold(self, case: ConsolidationCase, policy: ConsolidationPolicy) -> str | None:  # noqa: ARG002  (the seam's signature)
        """Return the labelled decision as a reply."""
        if not self.asks(case) or len(self.text(case).encode("utf-8", "surrogatepass")) > 2 * MOST_BYTES:
            return None
        numbers = {one.id: number for number, one in enumerate(case.existing, 1)}
        label = case.decision
        entry = {
            "fact": 1,
            "action": label.action,
            "id": numbers[label.id] if label.id is not None else None,
            "content": label.content,
            "also_retire": [numbers[one] for one in label.also_retire],
        }
        return json.dumps({"decisions": [entry]}, ensure_ascii=False)

    def policy(
        self, base: ConsolidationPolicy, instructions: str, shown: Sequence[tuple[str, str]], name: str | None = None
    ) -> ConsolidationPolicy:
        """Return a candidate."""
        known = [(_found(self._shown, text), reply) for text, reply in shown if reply.strip()]
        examples = tuple(ConsolidationExample(facts, existing, reply) for (facts, existing), reply in known)
        return replace(base, system=instructions, examples=examples, name=name or base.name, provenance={})

    def shown(self, policy: ConsolidationPolicy) -> list[tuple[str, str]]:
        """Return a policy's examples as user messages and replies."""
        return [(render_consolidation(one.facts, one.existing), one.reply) for one in policy.examples]

    def play(self, policy: ConsolidationPolicy, case: ConsolidationCase, client: EngineClient) -> Played:
        """Let the library's consolidator decide on a case."""
        known = [KnownMemory(one.id, one.content) for one in case.existing]
        result = ModelConsolidator(client, policy=policy).consolidate_result(case.new_fact, known)
        return _played(result, client)

    def judge(self, policy: ConsolidationPolicy, case: ConsolidationCase, played: Played) -> Judged:
        """Return what a decision is worth."""
        verdicts = self._match([consolidation.grid(case, played.result)])[0]
        if any(one.score is None for one in verdicts):
            raise WorkbenchError(f"case {case.id!r} cannot be matched: {next(one.reason for one in verdicts if one.score is None)}")
        outcome = consolidation.judge(case, played.result, verdicts)
        score = consolidation_score(outcome)
        counts = consolidation.count(case, outcome, calls=played.result.calls)
        told = dict(zip(consolidation.COUNTED.columns, counts.tolist(), strict=True))
        row = MEASURES["consolidation"].counted.row(told)
        length = self.weights.length * len(policy.system) / 1000
        return Judged(score - length, score == 1 and bool(played.replies), consolidation_feedback(outcome, right_decision(case)), row)


def _played(result: Any, client: EngineClient) -> Played:
    texts = tuple(reply.text for reply in client.replies)
    return Played(result, texts, client.too_long, client.explores, tuple(client.requests), tuple(client.replies))


def right_decision(case: ConsolidationCase) -> str:
    """Return the labelled decision in words, with the contents of the memories that it names."""
    contents = {one.id: one.content for one in case.existing}
    label: Labelled = case.decision
    parts: list[str] = [label.action]
    if label.id is not None:
        parts.append(f"of {contents[label.id]!r}")
    if label.content is not None:
        parts.append(f"storing {label.content!r}")
    if label.also_retire:
        parts.append(f"retiring also {', '.join(repr(contents[one]) for one in label.also_retire)}")
    return " ".join(parts)


def figures_of(task: TuningTask, rows: Sequence[Floats]) -> dict[str, float]:
    """Return the pooled figures of cases: all of the task's, by name; NaN where undefined."""
    total = np.sum(np.array(rows), axis=0)
    return {name: float(figure(total)) for name, figure in MEASURES[task.name].figures.items()}


def _found(known: Mapping[str, Any], text: str) -> Any:
    if text not in known:
        raise WorkbenchError(f"an optimiser asked about a text that is none of the cases: {text[:120]!r}")
    return known[text]


def _array_of(schema: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], str | None]:
    """The part of a reply schema that is the array of memories, and the key that it stands under, if any."""
    if schema is None or schema.get("type") == "array":
        return schema or {}, None
    arrays = {key: one for key, one in schema.get("properties", {}).items() if isinstance(one, dict) and one.get("type") == "array"}
    if len(arrays) != 1:
        raise WorkbenchError(f"the policy's reply schema has no array of memories, got {json.dumps(schema)[:200]}")
    key, array = next(iter(arrays.items()))
    return array, key


def _bounds(array: Mapping[str, Any]) -> tuple[float, float]:
    items = array.get("items", {})
    content = items.get("properties", {}).get("content", {}) if isinstance(items, dict) else {}
    return array.get("maxItems", float("inf")), content.get("maxLength", float("inf"))
