"""Finds the model's answer in a reply: which of its arrays and objects counts, and which are thinking, examples or citations.

Reading one container is `salience.lenient_json`'s business, reading one item is `salience.reply_items`'s.

The rules, in their order:

* Thinking (`<think>`, `<thinking>`, `<thought>`, `<reasoning>`, any case) is passed over, an opening tag without an end to the end of the
  reply. A closing tag without an opening one makes everything before it thinking. A tag inside a string of an array or object that
  begins outside thinking is that string's text; so the answer may speak of tags. A tag in prose is always a tag.
* The last array that holds an object, or that is empty, is the answer; a wrapper object counts as the array that it holds. Arrays of
  anything else (citations, tags) and arrays of nothing but schema placeholders count only if there is nothing better.
* Failing that, the last objects that stand side by side (JSON Lines, one bare object).
* An empty array is no answer where it is the value of a key in a piece that could not be read, where an item follows at once, or where
  the keys of an item stand outside everything that could be read: "nothing" is believed only if nothing was overlooked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from salience.lenient_json import Allowance, Arr, Broken, LenientParser, Obj
from salience.reply_items import is_item, is_placeholder
from salience.reply_patterns import patterns

_WRAPPERS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of a reply that counts.

    Attributes:
        elements: Objects, broken pieces and other values, in the reply's order.
        truncated: Whether the text ended before the answer did.
        said_nothing: Whether the model gave an array with nothing in it.
    """

    elements: Sequence[object]
    truncated: bool
    said_nothing: bool = False


_NO_ANSWER = Answer((), truncated=False)
_NOTHING = Answer((), truncated=False, said_nothing=True)


def find_answer(text: str, allowance: Allowance) -> Answer:
    """Return the part of `text` that is the model's answer.

    Args:
        text: The reply.
        allowance: What reading may cost; if it is used up, the answer is what was found till then, truncated.

    Returns:
        The answer; without elements, not truncated and not `said_nothing` if there is none.
    """
    search = _Search(text, allowance)
    search.run()
    return search.answer()


class _Search:
    def __init__(self, text: str, allowance: Allowance) -> None:
        self._text = text
        self._patterns = patterns()
        self._parser = LenientParser(text, allowance)
        self._allowance = allowance
        self._forget()

    def _forget(self) -> None:
        self._array: Answer | None = None
        self._nothings: list[int] = []  # where empty arrays after that begin
        self._gaps: list[tuple[int, int]] = []  # what lies after that between containers
        self._weak: Answer | None = None
        self._flat: int | None = None  # where the last array of scalars begins; read only if nothing better is found
        self._objects: list[object] | None = None
        self._group: list[object] = []
        self._group_end = -1

    def run(self) -> None:
        text, allowance, start, pos = self._text, self._allowance, self._patterns.start, 0
        while not allowance.exhausted:
            match = start.search(text, pos)
            if match is None:
                self._gaps.append((pos, len(text)))
                return
            allowance.steps_used += 1
            self._gaps.append((pos, match.start()))
            pos = match.end()
            if match.lastgroup == "tag":
                pos = self._tag(match)
            elif match.lastgroup == "nothing":
                self._nothings.append(match.start())
            elif match.lastgroup == "flat":
                self._flat = match.start()
            else:
                value, pos = self._parser.parse(match.start())
                self._take(value, match.start(), pos)

    def answer(self) -> Answer:
        found = self._array
        if any(map(self._says_nothing, reversed(self._nothings))) and not self._overlooked():
            found = _NOTHING
        if found is None and self._objects:
            found = Answer(self._objects, truncated=any(isinstance(element, Broken) and element.cut for element in self._objects))
        if found is None and self._weak is None and self._flat is not None:
            value, _ = self._parser.parse(self._flat)
            found = Answer(value, truncated=False) if isinstance(value, Arr) else None
        found = found or self._weak or _NO_ANSWER
        return Answer(found.elements, truncated=True) if self._allowance.exhausted else found

    def _tag(self, match: re.Match[str]) -> int:
        """Return where to go on after a thinking tag."""
        if match["slash"]:
            self._forget()
            return match.end()
        closing = self._patterns.think_end.search(self._text, match.end())
        return closing.end() if closing else len(self._text)

    def _says_nothing(self, start: int) -> bool:
        """Return whether what is empty there is an answer, and not the value of a key: what it belongs to could not be read."""
        before = self._text[max(0, start - 24) : start].rstrip()
        return not (before.endswith((":", "：", "=")) and self._patterns.key_before.search(before))

    def _overlooked(self) -> bool:
        """Return whether the keys of an item stand between the containers that were read."""
        return any(self._patterns.item_key.search(self._text, start, end) for start, end in self._gaps)

    def _take(self, value: Obj | Arr | Broken, start: int, end: int) -> None:
        array = value if isinstance(value, Arr) else None
        if isinstance(value, Obj) and not ("content" in value and "salience" in value and is_item(value)):
            array = _unwrap(value)
            if array is not None and is_item(value) and not any(map(is_item, array)):
                array = None
        if array is None:
            self._object(_whole(value), start, end)
        else:
            self._offer(array, start)

    def _offer(self, array: Arr, start: int) -> None:
        elements = list(_flattened(array))
        # a bracket in prose ("sad :[") before the whole array is no array that the text cut off
        cut = array.open and not (array and all(isinstance(one, Arr) and not one.open for one in array))
        if any(map(_is_answer, elements)) or (array.open and not elements):
            self._array = Answer(elements, cut)
            self._nothings.clear()
            self._gaps.clear()
        elif elements:
            self._weak = Answer(elements, array.open)
        else:
            self._nothings.append(start)

    def _object(self, value: object, start: int, end: int) -> None:
        """Take an object that stands in no array; it joins the one before if nothing but punctuation lies between."""
        if not (self._group and self._patterns.between.fullmatch(self._text, self._group_end, start)):
            self._group = []
        if is_item(value) and self._nothings and self._patterns.between.fullmatch(self._text, self._nothings[-1], start):
            self._nothings.pop()  # closed too early
        self._group.append(value)
        self._group_end = end
        if self._group is self._objects or is_item(value):
            self._objects = self._group
        else:
            self._weak = Answer(self._group, truncated=isinstance(value, Broken) and value.cut)


def _whole(value: object) -> object:
    """Return `value`, or what stands for it if it is an object that the text ended."""
    return Broken.cut_off(value.start, value.end) if isinstance(value, Obj) and value.open else value


def _is_answer(element: object) -> bool:
    if isinstance(element, Obj):
        content = element.get("content")
        return not (isinstance(content, str) and is_placeholder(content))
    return isinstance(element, Broken)


def _flattened(array: Iterable[object]) -> Iterable[object]:
    """Yield the elements of an array, those of arrays and wrappers in it in their place."""
    waiting = [iter(array)]
    while waiting:
        for element in waiting[-1]:
            inner = element if isinstance(element, Arr) else _unwrap(element) if isinstance(element, Obj) and not is_item(element) else None
            if inner is not None and (isinstance(element, Arr) or any(map(is_item, inner))):
                waiting.append(iter(inner))
                break
            yield element
        else:
            waiting.pop()


def _unwrap(wrapper: Obj) -> Arr | None:
    """Return the array that an object holds under some key, at most three objects deep.

    The first array with an item in it; else the items that the object holds by name; else the first array with an object; else
    an empty one; else any.
    """
    level: list[Obj] = [wrapper] if wrapper.nested else []
    others: list[Arr] = []
    for _ in range(_WRAPPERS):
        if not level:
            break
        values = [value for holder in level for value in holder.values()]
        arrays = [value for value in values if isinstance(value, Arr)]
        level = [value for value in values if isinstance(value, Obj)]
        named = Arr()
        named.extend(_whole(value) for value in level if isinstance(value.get("content"), str))
        named.open = any(isinstance(value, Broken) for value in named)
        others += arrays
        for array in arrays:
            if any(map(is_item, array)):
                return array
        if named:
            return named
    ranked = sorted(others, key=_rank)
    return ranked[0] if ranked else None


def _rank(array: Arr) -> int:
    return 0 if any(isinstance(element, Obj | Broken) for element in array) else 1 if not array else 2
