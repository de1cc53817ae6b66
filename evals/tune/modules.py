"""The two programs that DSPy optimises: one `Predict` each, whose instructions and demos are a policy's prompt and examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from evals.tune.adapter import REPLY, PolicyAdapter, signature_of
from evals.tune.canonical import check_canonical
from evals.tune.tasks import AnyPolicy, TuningTask


class PolicyModule(dspy.Module):
    """A policy as a program.

    Args:
        task: What is tuned.
        base: Where it begins; its schema, decoding, options and where examples go stay as they are.

    Raises:
        PromptError: The base's prompt would not be scored as it stands, or it splits turns.
    """

    def __init__(self, task: TuningTask, base: AnyPolicy) -> None:
        super().__init__()
        check_canonical(base.name, base.system)
        self.task, self.base = task, base
        self.predict = dspy.Predict(signature_of(task, base.system))
        self.predict.demos = demos_of(task, base)

    def forward(self, **inputs: str) -> dspy.Prediction:
        """Return the reply of a case, and beside it what judging needs.

        The adapter is bound here and not globally: an optimiser's own calls keep DSPy's.
        """
        adapter = PolicyAdapter(self.task, self.base)
        with dspy.context(adapter=adapter):
            found = self.predict(**inputs)
        return dspy.Prediction(reply=found[REPLY], played=adapter.played, candidate=adapter.candidate)

    def policy(self, name: str | None = None) -> AnyPolicy:
        """Return the policy that ships."""
        return PolicyAdapter(self.task, self.base).policy(self.predict.signature, self.predict.demos, name)


def demos_of(task: TuningTask, policy: AnyPolicy) -> list[dspy.Example]:
    """Return a policy's examples as demos."""
    return [_example(task, text, reply) for text, reply in task.shown(policy)]


def examples_of(task: TuningTask, cases: Sequence[Any], policy: AnyPolicy) -> list[dspy.Example]:
    """Return cases as DSPy's examples: the message in, and the reply that it should get where there is one that may be shown."""
    return [_example(task, task.text(case), task.gold(case, policy) or "") for case in cases]


def _example(task: TuningTask, text: str, reply: str) -> dspy.Example:
    example: dspy.Example = dspy.Example(**{task.kind: text, REPLY: reply}).with_inputs(task.kind)
    return example
