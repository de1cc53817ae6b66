"""Finds the decisions in a model's reply, whatever stands around them. What they mean for facts and memories is not asked here.

Reading one container is `salience.lenient_json`'s business. The rules for which containers count:

* What is valid JSON of the form asked for, `{"decisions": [...]}`, is taken as it is.
* Else thinking is passed over as in `salience.reply_search`, and a decision is an object with a key `action`, in whatever wrapper.
* An array or wrapper with decisions is an answer by itself. Decisions that stand alone belong together until one is about the same fact as
  an earlier one. The last answer counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from salience.lenient_json import Allowance, Arr, Broken, LenientParser, Obj, whole_number
from salience.reply_items import clean_text
from salience.reply_patterns import patterns

Element = Mapping[str, object]
"""One decision as the model wrote it, its keys in small letters without anything but letters."""


@dataclass(frozen=True, slots=True)
class Found:
    """The decisions of a reply.

    Attributes:
        elements: The decisions, each with its text in the reply.
        broken: The reasons and texts of the pieces that stand where a decision should and cannot be read.
        truncated: Whether the text ended before the answer did.
        exact: Whether the reply is valid JSON of the form asked for.
    """

    elements: Sequence[tuple[Element, str]]
    broken: Sequence[tuple[str, str]] = ()
    truncated: bool = False
    exact: bool = False


def find_decisions(text: str) -> Found:
    """Return the decisions in a reply. Never raises for a `str`; time is linear in its length."""
    clean = clean_text(text)
    body = clean.strip().strip("\ufeff").strip()
    value = _strict_json(body)
    if isinstance(value, str):  # an object in a string: JSON encoded twice
        body = clean_text(value).strip()
    elif isinstance(value, dict) and list(value) == ["decisions"] and clean == text:
        decisions = value["decisions"]
        if isinstance(decisions, list) and decisions and all(map(_is_flat_decision, decisions)):
            return Found([(one, _written(one)) for one in map(_plain_keys, decisions)], exact=True)
    search = _Search(body, Allowance.for_length(len(body)))
    search.run()
    return search.found()


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_int=whole_number, parse_constant=_refuse)


def _strict_json(text: str) -> object:
    if not (text.startswith(("{", '"')) and text.endswith(("}", '"'))):
        return None
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _is_flat_decision(one: object) -> bool:
    if not isinstance(one, dict) or "action" not in one:
        return False
    values = (inner for value in one.values() for inner in (value if isinstance(value, list) else [value]))
    return not any(isinstance(value, dict | list) for value in values)


def _written(element: Element) -> str:
    return clean_text(json.dumps(element, ensure_ascii=False)[:400])


def _plain_keys(raw: Mapping[str, object]) -> dict[str, object]:
    return {"".join(filter(str.isalpha, key)).lower() if len(key) <= 40 else key: value for key, value in raw.items()}


def _is_decision(value: Obj) -> bool:
    return any(len(key) <= 10 and key.strip().lower() == "action" for key in value)


class _Search:
    def __init__(self, text: str, allowance: Allowance) -> None:
        self._text = text
        self._allowance = allowance
        self._patterns = patterns()
        self._parser = LenientParser(text, allowance)
        self._forget()

    def _forget(self) -> None:
        self._answer: list[Obj | Broken] = []
        self._cut = False
        self._facts: set[str] | None = None  # while decisions stand alone: the facts they are about

    def run(self) -> None:
        text, start, pos = self._text, self._patterns.start, 0
        while not self._allowance.exhausted:
            match = start.search(text, pos)
            if match is None:
                return
            self._allowance.steps_used += 1
            pos = match.end()
            if match.lastgroup == "tag":
                pos = self._tag(match["slash"], pos)
            elif match.lastgroup in ("array", "object"):
                value, pos = self._parser.parse(match.start())
                self._take(value)

    def found(self) -> Found:
        text = self._text
        elements = [(_plain_keys(one), text[one.start : one.end][:400]) for one in self._answer if isinstance(one, Obj)]
        broken = [(one.reason, text[one.start : one.end][:400]) for one in self._answer if isinstance(one, Broken)]
        return Found(elements, broken, self._cut or self._allowance.exhausted)

    def _tag(self, slash: str, end: int) -> int:
        """Return where to go on after a thinking tag; a closing one makes all before it thinking."""
        if slash:
            self._forget()
            return end
        closing = self._patterns.think_end.search(self._text, end)
        return closing.end() if closing else len(self._text)

    def _take(self, value: Obj | Arr | Broken) -> None:
        if isinstance(value, Broken) or (isinstance(value, Obj) and _is_decision(value)):
            self._alone(value)
            return
        pieces = list(_pieces(value))
        if not self._answer or any(isinstance(one, Obj) or one.cut for one in pieces):
            self._answer, self._facts = pieces, None
            self._cut = value.open or any(isinstance(one, Broken) and one.cut for one in pieces)

    def _alone(self, value: Obj | Broken) -> None:
        if isinstance(value, Obj) and value.open:
            value = Broken.cut_off(value.start, value.end)
        if isinstance(value, Broken):
            if self._facts is not None or not self._answer:  # else it stands beside an array, which is the answer
                self._cut |= value.cut
                self._answer.append(value)
            return
        fact = repr(_plain_keys(value).get("fact"))[:40]
        if self._facts is None or fact in self._facts:
            self._answer, self._facts, self._cut = [], set(), False
        self._facts.add(fact)
        self._answer.append(value)


def _pieces(value: Obj | Arr) -> Iterator[Obj | Broken]:
    """Yield the decisions in a container, and what is broken there, in their order; a decision that the text ended is broken."""
    waiting: list[Iterator[object]] = [iter(value.values() if isinstance(value, Obj) else value)]
    while waiting:
        for one in waiting[-1]:
            if isinstance(one, Broken):
                yield one
            elif isinstance(one, Obj) and _is_decision(one):
                yield Broken.cut_off(one.start, one.end) if one.open else one
            elif isinstance(one, Obj | Arr):
                waiting.append(iter(one.values() if isinstance(one, Obj) else one))
                break
        else:
            waiting.pop()
