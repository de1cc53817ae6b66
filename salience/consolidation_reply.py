"""Turns the decisions of a model's reply into decisions about real memories, or says why not. Never an exception, whatever the reply.

The reply is hostile or careless until shown otherwise, and nothing may be lost by it. So a decision is taken only if it is whole, names
only what was offered and brings its own content; anything else is an ADD of the new fact, which touches no memory (`fallback`):

* no decision on the fact, two different ones, or an action of another name;
* UPDATE or DELETE without `id`, UPDATE without content, or with that of a memory that was offered, in which the new fact would vanish;
* any number that was never offered, in `id` or in `also_retire`: a model that invents one of them may have confused the others;
* content out of the prompt's own text or examples, or many times longer than what it is made of.

DELETE with `"content": null` retires and stores nothing. If `content` is absent, a placeholder or the text of a memory that was offered,
the new fact is stored. What the action does not carry (content of ADD and NONE, `also_retire` of UPDATE) is passed over; NONE may name the
memory that says the fact, and 0 there means none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from salience.consolidation_inputs import Fact, Known, fact_text, known_memories
from salience.consolidation_policy import ConsolidationPolicy
from salience.consolidation_search import Element, Found, find_decisions
from salience.consolidation_types import ACTIONS, Action, ConsolidationDecision, ConsolidationResult, KnownMemory
from salience.merging import statement_key
from salience.prompts.recall import is_from_prompt
from salience.reply_items import clean_text, is_placeholder
from salience.types import Dropped, Reply, Status

_ADD = ConsolidationDecision("ADD")
_REFERENCE = re.compile(r"[\s#\[(]*(?:(?:id|fact|memory)\b[\s:#=]*)?([0-9]{1,9})[\s\]).]*", re.IGNORECASE | re.ASCII)
_NULLS = frozenset({"", "null", "none", "n/a"})
_MOST_READINGS = 8  # of different decisions on one fact two are one too many already


@dataclass(frozen=True, slots=True)
class _Verdict:
    decision: ConsolidationDecision | None
    reason: str = ""
    invented: int = 0
    known_by: str | None = None


def read_consolidation(
    policy: ConsolidationPolicy, facts: Sequence[Fact], existing: Sequence[Known], reply: Reply
) -> tuple[ConsolidationResult, ...]:
    """Return the decisions that a reply holds on new facts, in the order of the facts, each as if it were the only one.

    Args:
        policy: The policy that the request was made with.
        facts: The facts that were asked about.
        existing: The memories that were offered, in the same order.
        reply: The model's answer.

    Returns:
        A result for each fact; `calls` is 0, as who calls counts. `status` is `malformed`, or `truncated` where the answer was cut, if the
        reply says nothing usable on the fact; a decision refused for an invented number was readable.
    """
    texts, memories = list(map(fact_text, facts)), known_memories(existing)
    found = find_decisions(reply.text)
    by_fact, dropped = _sorted_out(found, len(texts))
    cut = found.truncated or (reply.finish_reason == "length" and not found.exact)
    status: Status = "truncated" if cut else "ok" if found.exact and not dropped else "repaired"
    unread: Status = "truncated" if cut else "malformed"
    judge = _Judge(policy.system, memories)
    results = []
    for number, text in enumerate(texts, 1):
        verdict = judge.all(text, by_fact.get(number, []))
        fails = verdict.decision is None
        results.append(
            ConsolidationResult(
                decision=verdict.decision or _ADD,
                reply=reply,
                status=unread if fails and not verdict.invented else status,
                reason=verdict.reason,
                fallback=fails,
                invented=verdict.invented,
                known_by=verdict.known_by,
            )
        )
    return tuple(replace(result, dropped=tuple(dropped)) if result is results[0] else result for result in results)


def _sorted_out(found: Found, count: int) -> tuple[dict[int, list[Element]], list[Dropped]]:
    """Return the different decisions on each fact by its number, and what belongs to none."""
    by_fact: dict[int, list[Element]] = {}
    dropped = [_dropped(reason, text) for reason, text in found.broken]
    for element, text in found.elements:
        number = _reference(element.get("fact"))
        if number is None and count == 1:
            number = 1
        if not isinstance(number, int) or not 1 <= number <= count:
            dropped.append(_dropped("no fact number" if number is None else "names a fact that was not given", text))
            continue
        same = by_fact.setdefault(number, [])
        if len(same) < _MOST_READINGS and element not in same:
            same.append(element)
    return by_fact, dropped


def _dropped(reason: str, text: str) -> Dropped:
    return Dropped(reason, text if len(text) <= 200 else text[:199] + "…")


def _reference(value: object) -> int | str | None:
    """Return the number that a value means, a text if it means something else, None if it means nothing."""
    if isinstance(value, list) and len(value) <= 1:
        value = value[0] if value else None
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        text = value.strip()
        match = _REFERENCE.fullmatch(text) if len(text) <= 40 else None
        return None if text.lower() in _NULLS else int(match[1]) if match else text[:40]
    return type(value).__name__


def _action(value: object) -> Action | None:
    text = value.strip(" \t\r\n.\"'*`").upper() if isinstance(value, str) and len(value) <= 40 else ""
    return next((action for action in ACTIONS if action == text), None)


class _Judge:
    """Holds the decisions of a reply against the memories that were offered."""

    def __init__(self, system: str, memories: Sequence[KnownMemory]) -> None:
        self._system = system
        self._memories = memories
        self._known = frozenset(statement_key(memory.content) for memory in memories)

    def all(self, fact: str, elements: Sequence[Element]) -> _Verdict:
        """Return what the decisions on one fact come to."""
        verdicts = [self._one(fact, element) for element in elements]
        if not verdicts:
            return _Verdict(None, "the reply has no decision on this fact")
        first = verdicts[0]
        invented = sum(verdict.invented for verdict in verdicts)
        if any(verdict.decision != first.decision for verdict in verdicts):
            return _Verdict(None, "the reply has different decisions on this fact", invented)
        return replace(first, invented=invented)

    def _one(self, fact: str, element: Element) -> _Verdict:
        action = _action(element.get("action"))
        if action is None:
            return _Verdict(None, f"the action is none of {', '.join(ACTIONS)}")
        if action == "ADD":
            return _Verdict(_ADD)
        if action == "NONE" and _reference(element.get("id")) in (None, 0):
            return _Verdict(ConsolidationDecision("NONE"))
        named, refusal = self._named(action, element)
        if refusal is not None:
            return refusal
        if action == "NONE":
            return _Verdict(ConsolidationDecision("NONE"), known_by=named[0].id)
        return self._change(action, fact, named, element)

    def _named(self, action: Action, element: Element) -> tuple[list[KnownMemory], _Verdict | None]:
        """Return the memories that an action names, its `id` first, or why they cannot be had."""
        given, retire = element.get("id"), element.get("alsoretire") if action == "DELETE" else None
        target = _reference(given)
        if isinstance(given, list) and isinstance(target, str):
            return [], _Verdict(None, f"{action} names several memories as id")
        numbers = dict.fromkeys([target, *map(_reference, retire if isinstance(retire, list) else [retire])])
        numbers.pop(None, None)
        offered = [one for one in numbers if isinstance(one, int) and 1 <= one <= len(self._memories)]
        invented = len(numbers) - len(offered)
        if invented:
            return [], _Verdict(None, f"{action} names {invented} {'memory' if invented == 1 else 'memories'} never offered", invented)
        if target is None:
            return [], _Verdict(None, f"{action} without id")
        return [self._memories[one - 1] for one in offered], None

    def _change(self, action: Action, fact: str, memories: Sequence[KnownMemory], element: Element) -> _Verdict:
        """Return what UPDATE or DELETE of memories that were offered comes to, the first of them its `id`."""
        given = element.get("content")
        content = clean_text(given).strip() if isinstance(given, str) else ""
        says_null = "content" in element and (given is None or (isinstance(given, str) and content.lower() in _NULLS))
        if content.lower() in _NULLS or is_placeholder(content):
            content = ""
        sources = [fact, *(memory.content for memory in memories)]
        if content and is_from_prompt(content, self._system, sources):
            return _Verdict(None, f"the content of {action} is the prompt's own text")
        if len(content) > 400 + 4 * sum(map(len, sources)):
            return _Verdict(None, f"the content of {action} is many times longer than what it is made of")
        repeats = bool(content) and statement_key(content) in self._known
        if action == "UPDATE":
            if not content:
                return _Verdict(None, "UPDATE without content")
            if repeats:
                own = statement_key(content) == statement_key(memories[0].content)
                return _Verdict(None, "UPDATE leaves the memory as it is" if own else "UPDATE only repeats another memory")
            return _Verdict(ConsolidationDecision("UPDATE", memories[0].id, content))
        kept = None if says_null else content if content and not repeats else fact
        also = tuple(memory.id for memory in memories[1:])
        return _Verdict(ConsolidationDecision("DELETE", memories[0].id, kept, also))
