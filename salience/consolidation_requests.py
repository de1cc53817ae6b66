"""From new facts and known memories to what a model is asked. The one place where this is decided, and nothing is sent here.

Facts and memories are data of unknown origin. Each stands as one JSON object on one line, and whatever could end that line or pass for a
model's own control token (`<|im_end|>`, `</s>`, `<think>`) is written as an escape, so that no content can pose as another entry, as a
message, or as an instruction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from salience.consolidation_inputs import Fact, Known, fact_text, known_memories
from salience.consolidation_policy import ConsolidationPolicy
from salience.consolidation_schema import fit_schema
from salience.errors import OptionError
from salience.protocols import Message
from salience.requests import Request

_NOT_PLAIN = re.compile("[<\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def _line(key: str, number: int, content: str) -> str:
    text = json.dumps({key: number, "content": content}, ensure_ascii=False)
    return _NOT_PLAIN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def render_consolidation(facts: Iterable[str], memories: Iterable[str]) -> str:
    """Return the user message: the memories and then the facts, one JSON object a line, each numbered from 1 in the order given.

    Numbers begin at 1 so that 0, which weak models write for "none", is never a memory.
    """
    known = [_line("id", number, content) for number, content in enumerate(memories, 1)]
    new = [_line("fact", number, content) for number, content in enumerate(facts, 1)]
    return "\n".join(["Known memories:", *known, "New facts:", *new])


def render_consolidation_messages(policy: ConsolidationPolicy, facts: Iterable[str], memories: Iterable[str]) -> list[Message]:
    """Return the whole message list; examples go where the policy's `examples_as` says, as in `salience.rendering`.

    Args:
        policy: The policy.
        facts: The texts of the new facts.
        memories: The contents of the known memories.

    Returns:
        Messages with `role` and `content`.
    """
    system = policy.system
    shown = [(render_consolidation(example.facts, example.existing), example.reply) for example in policy.examples]
    shots: list[Message] = []
    if shown and policy.examples_as == "system":
        system = "\n\n".join([system, "Examples:", *(f"{user}\nReply:\n{reply}" for user, reply in shown)])
    else:
        shots = [
            message for user, reply in shown for message in ({"role": "user", "content": user}, {"role": "assistant", "content": reply})
        ]
    return [{"role": "system", "content": system}, *shots, {"role": "user", "content": render_consolidation(facts, memories)}]


def build_consolidation_request(policy: ConsolidationPolicy, facts: Sequence[Fact], existing: Sequence[Known]) -> Request:
    """Return what to ask a model about new facts and known memories under a policy, for production, evaluation and tuning alike.

    Args:
        policy: The policy.
        facts: The new facts, at least one.
        existing: The known memories; the model sees their contents, numbered from 1 in this order, and never their ids.

    Returns:
        The request. The default schema is narrowed to these facts and memories (`salience.consolidation_schema`).

    Raises:
        OptionError: There is no fact, or a fact, a memory or the policy is not of its kind.
    """
    if not isinstance(policy, ConsolidationPolicy):
        raise OptionError(f"policy must be a salience.ConsolidationPolicy, got {policy!r}; ConsolidationPolicy.load(...) loads one")
    if isinstance(facts, str) or not facts:
        raise OptionError(f"facts must be a non-empty sequence of facts, got {facts!r}")
    contents = [memory.content for memory in known_memories(existing)]
    messages = render_consolidation_messages(policy, map(fact_text, facts), contents)
    schema = fit_schema(policy.schema, len(facts), len(contents))
    return Request(tuple(messages), schema, policy.decoding.max_tokens, policy.decoding.temperature)
