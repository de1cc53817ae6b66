"""What a decision stores, what that says, and what is lost or left behind by it. Whether the decision is right is not asked here."""

from __future__ import annotations

from collections.abc import Sequence

from evals.matching.base import Verdict
from evals.metrics.consolidation_drops import detail_dropped, dropped, keeps
from evals.recall_cases import ConsolidationCase, Decision, Known
from salience import ConsolidationDecision
from salience.merging import statement_key


def options(case: ConsolidationCase) -> tuple[Decision, ...]:
    """Return the labelled decision and the acceptable ones."""
    return (case.decision, *case.acceptable)


def touched(decision: Decision | ConsolidationDecision) -> tuple[str, ...]:
    """Return the ids of the memories that a decision changes or retires."""
    return () if decision.id is None else (decision.id, *decision.also_retire)


def stored(case: ConsolidationCase, decision: ConsolidationDecision) -> str | None:
    """Return what a decision writes into the store; None where it writes nothing."""
    return decision.content or (case.new_fact if decision.action == "ADD" else None)


def statements(case: ConsolidationCase, decision: ConsolidationDecision) -> list[str]:
    """Return what a stored text is held against: the labelled contents, the new fact, and what it takes the place of; each once."""
    replaced = [known.content for known in case.existing if known.id in touched(decision)]
    return list(dict.fromkeys([*_contents(case), case.new_fact, *replaced]))


class Stored:
    """What a decision stores, and what that says.

    Args:
        case: The case.
        decision: The decision.
        verdicts: The matcher's on what is stored against each of `statements`; without them only equal texts say the same.
    """

    def __init__(self, case: ConsolidationCase, decision: ConsolidationDecision, verdicts: Sequence[Verdict]) -> None:
        self.text, self._language = stored(case, decision), case.language
        pairs = zip(statements(case, decision), verdicts, strict=True) if verdicts else ()
        self._matched = {statement for statement, verdict in pairs if verdict.match}
        self._beside = case.new_fact if self.text != case.new_fact else ""

    def says(self, statement: str) -> bool:
        """Return whether it says the same, as the matcher tells."""
        return self.text is not None and (self.text == statement or statement in self._matched)

    def repeats(self, memory: str) -> bool:
        """Return whether it says what a memory said: word for word, or as the matcher tells."""
        return self.text is not None and (statement_key(self.text) == statement_key(memory) or self.says(memory))

    def took_over(self, memory: str) -> bool:
        """Return whether it says all that a memory said.

        The matcher tells so and no detail is gone, or the memory's own words stand in it, beside those of the new fact. Of the new fact as
        it came only the words are asked: where it said the memory again, a label would touch it.
        """
        if self.text is None:
            return False
        if self._beside and self.says(memory) and detail_dropped(self.text, memory, self._language) is None:
            return True
        return keeps(self.text, memory, self._language, self._beside)

    def drops(self, contents: Sequence[str]) -> str:
        """Return what it drops of the first of some contents, in words; "" where it drops nothing of one of them."""
        if self.text is None or self.text in contents:
            return ""
        found = [dropped(self.text, content, self._language) for content in contents]
        return found[0] or "" if all(found) else ""

    def holds(self, contents: Sequence[str]) -> bool:
        """Return whether it says one of some contents, or drops nothing of one: a merged statement says more than each of its parts."""
        return self.text is not None and (any(map(self.says, contents)) or not self.drops(contents))


def stale(allowed: Sequence[Decision]) -> list[str]:
    """Return the ids of the memories that are not true any longer whichever decision is taken.

    Those that a DELETE retires; that of an UPDATE only where deleting it is acceptable too, which says that the fact contradicts it
    (`datasets/GUIDELINES.md`, consolidation, rule 1): an UPDATE alone may only enrich it.

    Args:
        allowed: The labelled decision and the acceptable ones.
    """
    deleted = {one for option in allowed if option.action == "DELETE" for one in touched(option)}
    gone = [[one for one in touched(option) if option.action == "DELETE" or one in deleted] for option in allowed]
    return [one for one in gone[0] if all(one in others for others in gone[1:])]


def stays(case: ConsolidationCase, decision: ConsolidationDecision, text: Stored, known: Known) -> bool:
    """Return whether a memory still stands after a decision: left as it was, or said again by what is stored, and nothing that is new.

    Args:
        case: The case.
        decision: The decision.
        text: What it stores.
        known: The memory.
    """
    if known.id not in decision.touched:
        return True
    return text.repeats(known.content) and not any(map(text.says, (case.new_fact, *_contents(case))))


def lost(case: ConsolidationCase, decision: ConsolidationDecision, text: Stored) -> list[str]:
    """Return what is nowhere any more, in words.

    A memory is lost if no right decision touches it, this one does, and neither what is stored nor another memory says it. The new fact is
    lost by NONE if no right decision is NONE; and otherwise if every right decision stores something and what is stored says neither the
    fact nor a labelled content.

    Args:
        case: The case.
        decision: The decision.
        text: What it stores.
    """
    allowed = options(case)
    may_go = {one for option in allowed for one in touched(option)}
    live = {statement_key(known.content) for known in case.existing if known.id not in decision.touched}
    gone = [known for known in case.existing if known.id in decision.touched and known.id not in may_go]
    found = [f"{one.id}: {one.content}" for one in gone if statement_key(one.content) not in live and not text.took_over(one.content)]
    known = any(option.action == "NONE" for option in allowed)
    if decision.action == "NONE":
        kept = known
    else:
        nothing = known or any(option.action == "DELETE" and option.content is None for option in allowed)
        kept = nothing or text.holds([case.new_fact, *_contents(case)])
    return found if kept else [*found, f"new: {case.new_fact}"]


def _contents(case: ConsolidationCase) -> list[str]:
    return [option.content for option in options(case) if option.content is not None]
