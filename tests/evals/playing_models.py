"""Models whose answers are known beforehand, for tests of runs that are played: they see what a model sees, and may look at the labels."""

import json
import re

from evals.errors import CallError
from evals.models.base import ModelReply

DECISION = ("fact", "action", "id", "content", "also_retire")


def offered(messages):
    """The facts and memories of a consolidation request, read out of its last message."""
    lines = [json.loads(line) for line in messages[-1]["content"].splitlines() if line.startswith("{")]
    return [line["content"] for line in lines if "fact" in line], [line["content"] for line in lines if "id" in line]


def decisions(*found):
    return json.dumps({"decisions": [dict(zip(DECISION, one, strict=True)) for one in found]}, ensure_ascii=False)


class StoppedError(Exception):
    """Ends a run as nothing that a model does would."""


class KnownModel:
    """Answers with a function of the messages, and counts what it was asked.

    Args:
        answer: Messages -> text, or an exception to raise.
        interrupt_after: After so many calls every further one ends the run.
    """

    concurrency = 2

    def __init__(self, answer, *, name="known/model", interrupt_after=None):
        self.name, self.answer, self.fingerprint = name, answer, {"known": name}
        self.asked = []
        self.interrupt_after = interrupt_after

    async def prepare(self):
        pass

    async def close(self):
        pass

    async def chat(self, messages, *, schema=None, max_tokens=None, temperature=None, seed=None):
        if self.interrupt_after is not None and len(self.asked) >= self.interrupt_after:
            raise StoppedError
        self.asked.append([dict(message) for message in messages])
        answer = self.answer(messages)
        if isinstance(answer, Exception):
            raise answer
        return ModelReply(answer, "stop", 100, 20)


def consolidation_oracle(cases, pick=lambda case: case.decision):
    """Answers with the labelled decision of the case whose fact and memories are asked about."""
    known = {(case.new_fact, tuple(one.content for one in case.existing)): case for case in cases}

    def answer(messages):
        facts, memories = offered(messages)
        case = known[facts[0], tuple(memories)]
        decision, numbers = pick(case), {one.id: place for place, one in enumerate(case.existing, 1)}
        also = [numbers[one] for one in decision.also_retire]
        return decisions((1, decision.action, numbers.get(decision.id), decision.content, also))

    return answer


def refused(messages):
    return CallError("connection", "the server is gone")


def is_extraction(messages):
    return not messages[-1]["content"].startswith("Known memories:")


def dates_of(messages):
    return re.findall(r"\d{4}-\d\d-\d\d", messages[-1]["content"])
