"""What is asked, in which order, until there is a decision on every new fact. No input or output: requests go out, replies come in.

The decisions are those that would come of one fact after the other, each against the store as the decisions before have left it. What can
be said without a model is said without one (`settled`). The other facts are asked about in one request. A decision out of its reply holds
if every memory that it rests on is still as it was offered; where an earlier decision of the reply has changed or retired one of them, or
the reply has nothing usable on a fact, that fact is asked about alone, against the store as it then is. So two decisions of one reply never
write over each other, and a fact is never dropped as known by a memory that is gone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from salience.consolidation_inputs import Fact, Known, fact_text, known_memories
from salience.consolidation_policy import ConsolidationPolicy
from salience.consolidation_reply import read_consolidation
from salience.consolidation_requests import build_consolidation_request
from salience.consolidation_types import ConsolidationBatch, ConsolidationDecision, ConsolidationResult, KnownMemory
from salience.errors import OptionError
from salience.merging import statement_key
from salience.requests import Request
from salience.types import Reply

NO_MEMORIES = "there is no memory to hold it against"
WORD_FOR_WORD = "known word for word"

Steps = Generator[Request, Reply, ConsolidationBatch]


def settled(fact: str, memories: Sequence[KnownMemory]) -> ConsolidationResult | None:
    """Return the decision on a fact that needs no model, or None.

    Without memories it is ADD. A fact that a memory states word for word is NONE; letter case, spelling forms of Unicode, punctuation
    around words, white space and English articles are folded (`salience.merging.statement_key`), and nothing else, so that no fact that
    differs in a number, a name or a negation is taken for known.
    """
    if not memories:
        return ConsolidationResult(ConsolidationDecision("ADD"), reason=NO_MEMORIES)
    key = statement_key(fact)
    known_by = next((memory.id for memory in memories if statement_key(memory.content) == key), None)
    if known_by is None:
        return None
    return ConsolidationResult(ConsolidationDecision("NONE"), reason=WORD_FOR_WORD, known_by=known_by)


class _Store:
    """The memories as the decisions so far have left them.

    A fact that was decided on is known as long as what it was decided to rest on is live and reads as it did then: the memory that it was
    merged into, or that says it. What was added has no id yet, so that no later decision can touch it.
    """

    def __init__(self, memories: Sequence[KnownMemory]) -> None:
        self._live = {memory.id: memory for memory in memories}
        self._said: dict[str, tuple[KnownMemory, ...]] = {}  # key of a statement -> what must be live as it is for it to be known
        self._touched: set[str] = set()

    def near(self, ids: Sequence[str]) -> list[KnownMemory]:
        """Return the memories of these ids that are live, as they read now."""
        return [self._live[one] for one in ids if one in self._live]

    def settled(self, fact: str, near: Sequence[KnownMemory]) -> ConsolidationResult | None:
        """Return the decision on a fact that needs no model; one that was decided on before, and still is said, is known."""
        rests_on = self._said_by(statement_key(fact))
        if rests_on is None:
            return settled(fact, near)
        known_by = rests_on[0].id if len(rests_on) == 1 else None
        return ConsolidationResult(ConsolidationDecision("NONE"), reason=WORD_FOR_WORD, known_by=known_by)

    def _said_by(self, key: str) -> Sequence[KnownMemory] | None:
        """Return what a statement rests on where that is live and reads as it did, else None."""
        rests_on = self._said.get(key)
        return None if rests_on is None or any(self._live.get(one.id) != one for one in rests_on) else rests_on

    def holds(self, result: ConsolidationResult) -> bool:
        """Return whether a result of the shared reply can be used as the store is now."""
        if result.fallback:
            return result.invented > 0  # readable, and refused; asking again would not make it better
        if result.decision.action == "NONE" and result.known_by is None:
            return not self._touched
        return self._touched.isdisjoint([*result.decision.touched, *([result.known_by] if result.known_by else [])])

    def apply(self, fact: str, result: ConsolidationResult) -> None:
        """Carry out the decision on a fact."""
        decision = result.decision
        self._touched.update(decision.touched)
        for one in decision.touched:
            memory = self._live.pop(one)
            if decision.action == "UPDATE" and decision.content is not None:
                self._live[one] = replace(memory, content=decision.content)
        rests_on: tuple[KnownMemory, ...] = ()
        if decision.action == "DELETE" and decision.content is None:
            return  # nothing says the fact
        if decision.action == "UPDATE":
            rests_on = tuple(self.near(decision.touched))
        elif decision.action == "NONE":
            rests_on = tuple(self.near([result.known_by]) if result.known_by else self._live.values())
        for key in map(statement_key, (fact, decision.content) if decision.content else (fact,)):
            if self._said_by(key) is None:
                self._said[key] = rests_on


def offered(
    facts: Sequence[Fact], existing: Sequence[Known], existing_by_fact: Sequence[Sequence[Known]] | None
) -> tuple[list[str], list[KnownMemory], list[list[str]]]:
    """Return the facts' texts, all memories, each once, and for each fact the ids of those it is held against.

    Args:
        facts: The new facts.
        existing: Memories for all facts.
        existing_by_fact: Further memories for each fact, in the order of the facts.

    Raises:
        OptionError: Something is not of its kind, or one id has two contents.
    """
    if isinstance(facts, str) or not isinstance(facts, Sequence):
        raise OptionError(f"facts must be a sequence of facts, got {facts!r}; consolidate(...) takes one")
    texts, shared = list(map(fact_text, facts)), known_memories(existing)
    own = [known_memories(memories) for memories in existing_by_fact] if existing_by_fact is not None else [()] * len(texts)
    if len(own) != len(texts):
        raise OptionError(f"existing_by_fact must have one sequence for each of the {len(texts)} facts, got {len(own)}")
    every: dict[str, KnownMemory] = {}
    for memory in (*shared, *(one for memories in own for one in memories)):
        if every.setdefault(memory.id, memory) != memory:
            raise OptionError(f"the memory {memory.id!r} has two contents: {every[memory.id].content!r} and {memory.content!r}")
    ids = [list(dict.fromkeys(memory.id for memory in (*shared, *memories))) for memories in own]
    return texts, list(every.values()), ids


def _open_facts(store: _Store, texts: Sequence[str], ids: Sequence[Sequence[str]]) -> list[int]:
    """Return the places of the facts that a model must be asked about, each fact once."""
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if store.settled(text, store.near(ids[i])) is None:
            first.setdefault(statement_key(text), i)
    return list(first.values())


def consolidation_steps(
    policy: ConsolidationPolicy,
    facts: Sequence[Fact],
    existing: Sequence[Known] = (),
    existing_by_fact: Sequence[Sequence[Known]] | None = None,
) -> Steps:
    """Yield requests, take a reply for each, and return the decisions.

    Args:
        policy: What to ask with.
        facts: The new facts.
        existing: Memories for all facts.
        existing_by_fact: Further memories for each fact. In the shared request all are offered together, alone each fact gets its own.

    Raises:
        OptionError: Something is not of its kind; before the first request.
    """
    texts, memories, ids = offered(facts, existing, existing_by_fact)
    store = _Store(memories)
    open_facts = _open_facts(store, texts, ids)
    shared: dict[int, ConsolidationResult] = {}
    results: list[ConsolidationResult] = []
    calls = 0
    if len(open_facts) > 1:
        together = [texts[i] for i in open_facts]
        reply = yield build_consolidation_request(policy, together, memories)
        shared = dict(zip(open_facts, read_consolidation(policy, together, memories, reply), strict=True))
        calls = 1
    for i, text in enumerate(texts):
        near = store.near(ids[i])
        result = store.settled(text, near)
        if result is None and i in shared and store.holds(shared[i]):
            result = shared[i]
        if result is None:
            reply = yield build_consolidation_request(policy, [text], near)
            result = replace(read_consolidation(policy, [text], near, reply)[0], calls=1)
            calls += 1
        store.apply(text, result)
        results.append(result)
    return ConsolidationBatch(tuple(results), calls)
