"""Reads one JSON-like array or object out of a text and forgives what models get wrong about JSON.

Not a validator, and without any idea of what the values mean: that is `salience.reply_items`. One pass with an explicit stack; depth,
steps and characters looked at twice are bounded, so that hostile text costs no more than its length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from salience.reply_patterns import patterns

MAX_DEPTH = 100
"""Containers inside each other, the outermost counted; what is deeper is not readable."""

_OPENING, _MENDING = 2, 4  # what beginning a container costs, and going on after an error, in tokens
_LITERALS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "undefined": None}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'", "`": "`"}


@dataclass(frozen=True, slots=True)
class Broken:
    """A piece of text that stands where an object or a value should, and cannot be read.

    Attributes:
        reason: Why, in a few words.
        start: Its first character in the text.
        end: One past its last.
    """

    reason: str
    start: int
    end: int

    @classmethod
    def cut_off(cls, start: int, end: int) -> Broken:
        """Return what stands for an item in whose midst the text ended."""
        return cls(_CUT, start, end)

    @property
    def cut(self) -> bool:
        """Whether it cannot be read because the text ended in its midst."""
        return self.reason == _CUT


_CUT = "cut off"
_UNREADABLE = "not readable"


class Obj(dict[str, object]):
    """An object as read, with its place in the text.

    `open` says that its closing brace never came, `nested` that it holds an object or array.
    """

    __slots__ = ("end", "key", "nested", "open", "start")

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.open = self.nested = False
        self.key: str | None = None  # while reading: the key that waits for its value


class Arr(list[object]):
    """An array as read; `open` says that its closing bracket never came, `nested` that it holds an object, array or broken piece."""

    __slots__ = ("nested", "open")

    def __init__(self) -> None:
        self.open = self.nested = False


@dataclass(slots=True)
class Allowance:
    """What reading one text may cost.

    Attributes:
        steps: Tokens that may be read; beginning a container or mending counts as some more. Real replies take one for five to
            eight characters.
        again: Characters that may still be looked at for a second time.
        steps_used: Tokens read so far.
    """

    steps: int
    again: int
    steps_used: int = 0

    @classmethod
    def for_length(cls, length: int) -> Allowance:
        """Return the allowance for a text of `length` characters: a constant that no honest reply uses up, and a share."""
        return cls(steps=125_000 + length // 5, again=200_000 + length // 4)

    @property
    def exhausted(self) -> bool:
        """Whether no token may be read any more."""
        return self.steps_used >= self.steps

    def look_again(self, characters: int) -> bool:
        """Take `characters` from what may be looked at twice; False, and nothing taken, if there are not so many."""
        if characters > self.again:
            return False
        self.again -= max(0, characters)
        return True


def whole_number(digits: str) -> int | float:
    """Return the number that `digits` write; beyond 300 digits a float (infinite), as exact huge integers cost quadratic time."""
    return int(digits) if len(digits) <= 300 else float(digits)


def _number(token: str) -> int | float | str:
    if token.isdigit():
        return int(token) if len(token) < 16 else whole_number(token)
    if token.endswith("%"):
        return token
    return whole_number(token) if token[1:].isdigit() and token[0] != "." else float(token)


def _literal(token: str) -> object:
    if token in _LITERALS:
        return _LITERALS[token]
    return math.nan if token.lower() == "nan" else float(token)


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _ESCAPES.get(match[3], match[0])


def _unquoted(body: str) -> str:
    return patterns().escape.sub(_unescape, body) if "\\" in body else body


class LenientParser:
    """Reads containers out of one text.

    Attributes:
        allowance: What reading may still cost; shared by all containers of the text.
    """

    def __init__(self, text: str, allowance: Allowance) -> None:
        self.allowance = allowance
        self._text = text
        self._patterns = patterns()
        self._pos = 0
        self._endless: set[tuple[str, bool]] = set()
        self._stack: list[Obj | Arr] = []
        self._result: tuple[Obj | Arr | Broken, int] | None = None
        self._handlers: dict[str | None, Callable[[re.Match[str]], None]] = {
            "pair": self._pair,
            "key": self._key,
            "word": self._key,
            "text": self._text_value,
            "number": self._number_value,
            "literal": self._literal_value,
            "dots": self._dots,
            "open": self._open,
            "close": self._close,
            "quote": self._quote,
            "skip": self._skip,
            "elision": self._skip,
            "tag": self._tag,
            "fence": self._fence,
            "end": self._end,
        }

    def parse(self, start: int) -> tuple[Obj | Arr | Broken, int]:
        """Read the container that begins at `start`.

        Args:
            start: The position of a `[` or `{`.

        Returns:
            What was read, and where reading is to go on: always beyond `start`. A container that the text or its allowance
            ended has `open` set and holds what was whole; an item that was not is a `Broken` in its place.
        """
        first: Obj | Arr = Arr() if self._text[start] == "[" else Obj(start)
        self._pos, self._stack, self._result = start + 1, [first], None
        text, allowance, handlers = self._text, self.allowance, self._handlers
        element, member, member_value = self._patterns.element, self._patterns.member, self._patterns.member_value
        allowance.steps_used += 2 * _OPENING
        while self._result is None and allowance.steps_used < allowance.steps:
            allowance.steps_used += 1
            top = self._stack[-1]
            pattern = element if isinstance(top, Arr) else member if top.key is None else member_value
            match = pattern.match(text, self._pos)
            if match is None:
                self._recover(self._pos)
            else:
                handlers[match.lastgroup](match)
        return self._result or self._finish_open(len(text))

    def _put(self, value: object, end: int) -> None:
        top = self._stack[-1]
        if isinstance(top, Arr):
            top.append(value)
        elif top.key is not None:
            top[top.key] = value
            top.key = None
        self._pos = end

    def _put_container(self, value: Obj | Arr | Broken, end: int) -> None:
        self._stack[-1].nested = True
        self._put(value, end)

    def _pair(self, match: re.Match[str]) -> None:
        top = self._stack[-1]
        key, text, number = match.group("pair_key", "pair_text", "pair_number")
        if isinstance(top, Obj):
            top[key] = text if number is None else _number(number)
        self._pos = match.end()

    def _key(self, match: re.Match[str]) -> None:
        top = self._stack[-1]
        if isinstance(top, Obj):
            top.key = match[match.lastindex or 0]
        self._pos = match.end()

    def _text_value(self, match: re.Match[str]) -> None:
        self._put(match["text"][1:-1], match.end())

    def _number_value(self, match: re.Match[str]) -> None:
        self._put(_number(match["number"]), match.end())
        top = self._stack[-1]
        if isinstance(top, Arr) and (run := self._patterns.numbers.match(self._text, self._pos)):
            values = [int(digits) for digits in run[0][1:].split(",")]
            top.extend(values)
            self.allowance.steps_used += len(values)
            self._pos = run.end()

    def _literal_value(self, match: re.Match[str]) -> None:
        self._put(_literal(match["literal"]), match.end())

    def _dots(self, match: re.Match[str]) -> None:
        self._put("...", match.end())

    def _skip(self, match: re.Match[str]) -> None:
        self._pos = match.end()

    def _open(self, match: re.Match[str]) -> None:
        if len(self._stack) >= MAX_DEPTH:
            self._recover(match.end())
            return
        self.allowance.steps_used += _OPENING
        self._stack.append(Arr() if match["open"] == "[" else Obj(match.start("open")))
        self._pos = match.end()

    def _close(self, match: re.Match[str]) -> None:
        top, end = self._stack[-1], match.end()
        if isinstance(top, Arr) and match["close"] != "]":
            if self._item_index() is None:
                self._pos = end  # a brace too many after an item
            else:
                self._recover(end)
            return
        if isinstance(top, Obj):
            top.end = end
        self._stack.pop()
        if self._stack:
            self._put_container(top, end)
        else:
            self._result = top, end

    def _quote(self, match: re.Match[str]) -> None:
        top, quote, begin = self._stack[-1], match["quote"], match.end()
        self._pos = match.start("quote")
        if isinstance(top, Obj) and top.key is None:
            found = self._patterns.key_end[quote].match(self._text, begin)
            if found:
                top.key, self._pos = _unquoted(found[1]), found.end()
                return
        else:
            found = self._value_end(quote, begin, in_array=isinstance(top, Arr))
            if found and found["colon"] is None:
                self._put(_unquoted(found[1]), found.end())
                return
        closed = found or self._patterns.closed[quote].match(self._text, begin)
        if closed or self._is_stray(quote):
            self._recover(closed.end() if closed else begin)
        else:
            self._unterminated()

    def _value_end(self, quote: str, begin: int, *, in_array: bool) -> re.Match[str] | None:
        """Return the rest of a string; if it has no end, none that begins later is tried, as the search went to the end of the text."""
        if (quote, in_array) in self._endless:
            return None
        found = (self._patterns.element_end if in_array else self._patterns.member_end)[quote].match(self._text, begin)
        if found is None:
            self._endless.add((quote, in_array))
        return found

    def _is_stray(self, quote: str) -> bool:
        """Return whether the item at hand has used no such quote before: then it is a slip, and no string that the text cuts off."""
        item = self._item_index()
        holder = None if item is None else self._stack[item]
        return isinstance(holder, Obj) and quote not in self._text[holder.start : self._pos]

    def _unterminated(self) -> None:
        """End the container, as its string never ends; if thinking ends inside the string, it was a draft: go on behind it."""
        behind = self._patterns.think_end.search(self._text, self._pos)
        length = len(self._text)
        self._finish_open(behind.end() if behind and self.allowance.look_again(length - behind.end()) else length)

    def _tag(self, match: re.Match[str]) -> None:
        """Pass over thinking between two tokens; a closing tag alone ends the container, which was thinking itself."""
        if match["slash"]:
            self._finish_open(match.start("tag"))
            return
        closing = self._patterns.think_end.search(self._text, match.end())
        self._pos = closing.end() if closing else len(self._text)

    def _fence(self, match: re.Match[str]) -> None:
        self._finish_open(match.end())

    def _end(self, match: re.Match[str]) -> None:
        self._finish_open(match.end())

    def _item_index(self) -> int | None:
        """Return the place on the stack of the outermost object that is an element of an array."""
        pairs = zip(self._stack, self._stack[1:], strict=False)
        return next((i + 1 for i, (outer, inner) in enumerate(pairs) if isinstance(outer, Arr) and isinstance(inner, Obj)), None)

    def _finish_open(self, resume: int) -> tuple[Obj | Arr | Broken, int]:
        """End the container though it is not closed: keep what is whole, leave out the item in the midst of which it ends."""
        self.allowance.steps_used += _MENDING
        item = self._item_index()
        if item is not None:
            cut = self._stack[item]
            del self._stack[item:]
            if isinstance(cut, Obj):
                self._put_container(Broken.cut_off(cut.start, resume), resume)
        for frame in self._stack:
            frame.open = True
            if isinstance(frame, Obj):
                frame.end = resume
        while len(self._stack) > 1:
            self._put_container(self._stack.pop(), resume)
        self._result = result = self._stack[0], resume
        return result

    def _recover(self, far: int) -> None:
        """Go on after text that cannot be read: the token at the current position, which was looked at as far as `far`."""
        self.allowance.steps_used += _MENDING
        top, item = self._stack[-1], self._item_index()
        gap = self._patterns.gap.match(self._text, self._pos)
        begin = gap.end() if gap else self._pos
        if item is not None:
            holder = self._stack[item]
            self._recover_item(item, holder.start if isinstance(holder, Obj) else begin, far)
        elif not isinstance(top, Arr) or not top.nested:
            self._recover_object(far)
        elif self._patterns.field.match(self._text, begin):  # the members of an item that lacks its opening brace
            self._recover_item(len(self._stack), begin, far)
        else:
            self._skip_garbage(begin)

    def _boundary(self, pattern: re.Pattern[str], far: int) -> re.Match[str] | None:
        """Return the next place to go on from, found from the current position if looking again is allowed, else from `far`."""
        found = next((match for match in pattern.finditer(self._text, self._pos) if match.lastgroup), None)
        if found and found.start() < far and not self.allowance.look_again(far - found.start()):
            found = next((match for match in pattern.finditer(self._text, far) if match.lastgroup), None)
        return found

    def _recover_item(self, item: int, start: int, far: int) -> None:
        """Leave out the item that begins at `start` and at place `item` of the stack, and go on with the next."""
        bracket = self._patterns.bracket.match(self._text, self._pos) if len(self._stack) == item + 1 else None  # the brace is missing
        found = bracket or self._boundary(self._patterns.item_boundary, far)
        if found and found.lastgroup == "brace":
            del self._stack[item:]
            self._put_container(Broken(_UNREADABLE, start, found.end()), found.end())
        else:
            self._finish_open(found.start() if found else len(self._text))

    def _recover_object(self, far: int) -> None:
        first = self._stack[0]
        start = first.start if isinstance(first, Obj) else self._pos
        found = self._boundary(self._patterns.object_boundary, far)
        end = len(self._text) if found is None else found.end() if found.lastgroup == "brace" else found.start()
        self._result = Broken(_UNREADABLE, start, end), end

    def _skip_garbage(self, begin: int) -> None:
        found = self._patterns.garbage_end.search(self._text, begin + 1)
        if found and found[0] in {"]", "{"}:
            self._put_container(Broken("not an object", begin, found.start()), found.start())
        else:
            self._finish_open(found.start() if found else len(self._text))  # prose after an array without its bracket
