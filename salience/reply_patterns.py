"""The regular expressions by which a model's reply is read: pieces of JSON as models write it, and where it may begin.

Not a definition of JSON: validity is `json.loads`'s business. Every repetition is possessive, so that a match that fails costs one look at
the characters it covers, and stops before the character that could begin the same match again; of two matches that overlap
inside strings, each sees other quotes as opening, so there are no more than there are kinds of quotes. That keeps reading linear.
"""

from __future__ import annotations

import functools
import re

_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9,]+\})(?=\+)")


def _atomic(pattern: str) -> str:
    """Return a pattern in which every possessive repetition of a group, `(...)*+`, is an atomic group, `(?>(...)*)`.

    The two mean the same, but Python before 3.11.5 matches the first wrongly where the group can backtrack (CPython issue 106052).
    """
    out: list[str] = []
    opened: list[int] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            out.append(pattern[at : at + 2])
        elif char == "[":  # a class: a bracket that comes first, or after ^, is a member
            end = pattern.index("]", at + 2 + (pattern[at + 1] == "^"))
            while pattern[end - 1] == "\\" and pattern[end - 2] != "\\":
                end = pattern.index("]", end + 1)
            out.append(pattern[at : end + 1])
        else:
            out.append(char)
        at += len(out[-1])
        if char == "(":
            opened.append(len(out) - 1)
        elif char == ")":
            start = opened.pop()
            possessive = _QUANTIFIER.match(pattern, at)
            if possessive:
                out[start:] = [f"(?>{''.join(out[start:])}{possessive[0]})"]
                at = possessive.end() + 1
    return "".join(out)


def _compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(_atomic(pattern), flags)


_SPACE = r"[\s\ufeff\u200b]*+"
_GAP = r"[\s,，\ufeff\u200b]*+"  # commas are optional: too many, too few and trailing ones are all read
_COLON = "[:：]"
_THINK = r"(?i:<(?P<slash>/?)(?:think|thinking|thought|reasoning)(?:\s[^<>]{0,80}+)?(?<!/)>)"
_THINK_END = r"(?i:</(?:think|thinking|thought|reasoning)\s*+>)"
_FENCE = "```"
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”"}
_OPENERS, _CLOSERS = "".join(_QUOTES), "".join(_QUOTES.values())

_BODIES = {opener: rf"(?:[^{opener}{closer}\\]++|\\.)*+" for opener, closer in _QUOTES.items()}
_STRING = "|".join(f"{opener}{_BODIES[opener]}{closer}" for opener, closer in _QUOTES.items())
_NUMBER = r"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+%?+"
_LITERAL = r"(?:null|None|undefined|true|True|false|False|NaN|nan|[+-]?+(?:Infinity|inf))\b"
_ELLIPSIS = r"\.{3}|…"
_COMMENT = r"//[^\n]*+|\#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+"
_WORD = r"[\w$][\w$-]*+"
_FIELD = rf"(?:{_STRING}|{_WORD}){_SPACE}{_COLON}"

# White space and comments before the first value of a bracket; a line comment stops at a bracket, which may begin a container itself.
_LEAD = r"(?:[\s\ufeff\u200b]++|(?://|\#)[^\n\[{]*+|/\*[^*\[{]*+\*/)*+"
_CUT_KEY = rf"(?:{_STRING}){_SPACE}|[{_OPENERS}][^{_OPENERS}{_CLOSERS}]*+"
_OBJECT = rf"\{{{_LEAD}(?:(?=[{_OPENERS}\w$])(?:{_FIELD}|(?:{_CUT_KEY})\Z)|\}}|\Z)"
_SCALAR = rf"(?=[{_OPENERS}\w.…+-])(?:{_STRING}|{_NUMBER}|{_LITERAL}|{_ELLIPSIS})"

_CHECKBOX = r"(?:(?<=[-*+][ ])|(?<=[0-9][.)][ ]))\[[ ]\]"
_NOTHING = rf"(?:(?<!\w)|(?<=json)|(?<=JSON))(?!{_CHECKBOX})\[{_LEAD}\](?!\()"  # `str[]` is a type and `[](...)` a link


def _tokens(*, gap: str, first: str) -> re.Pattern[str]:
    return _compile(
        rf"{gap}(?:{first}|(?P<fence>{_FENCE})|(?P<quote>[{_OPENERS}])|(?P<skip>{_COMMENT})|(?P<tag>{_THINK})|(?P<end>\Z))",
        re.DOTALL,
    )


_PLAIN = r'"[^"\\]*+"'
_VALUE = rf"(?P<text>{_PLAIN}(?={_SPACE}[,}}\]]))|(?P<number>{_NUMBER})|(?P<literal>{_LITERAL})|(?P<open>[\[{{])|(?P<dots>{_ELLIPSIS})"
_PAIR = rf'"(?P<pair_key>[^"\\]*+)"{_SPACE}:{_SPACE}(?:"(?P<pair_text>[^"\\]*+)"|(?P<pair_number>{_NUMBER}))(?={_SPACE}[,}}])'

_COMMENT_START = r"//|/\*|\#"
_AFTER_MEMBER = rf"[,，}}\]]|{_COLON}|\Z|{_COMMENT_START}|{_FENCE}|[{_OPENERS}][\w $-]{{1,40}}+[{_CLOSERS}]{_SPACE}{_COLON}"
_AFTER_ELEMENT = rf"[,，}}\]]|{_COLON}|\Z|{_COMMENT_START}|{_FENCE}|[{_OPENERS}]"


def _ending(opener: str, after: str) -> re.Pattern[str]:
    closer = _QUOTES[opener]
    return _compile(rf"((?:[^{closer}\\]++|\\.|{closer}(?!{_SPACE}(?:{after})))*+){closer}(?P<colon>{_SPACE}{_COLON})?+", re.DOTALL)


class Patterns:
    """The compiled patterns; `patterns()` has them. Those named by a quote are dictionaries by opening quote.

    Attributes:
        start: Where reading begins: a thinking tag, an empty array that may be an answer (`nothing`), an array of scalars or of nothing
            (`flat`), an array that leads to an object, an object.
        think_end: The end of thinking.
        member: Tokens where an object expects a key or its end.
        member_value: Tokens where an object expects a key's value. A comma is an error: no value may be taken from the next key.
        element: Tokens where an array expects an element or its end; `}` is one brace too many.
        numbers: Plain whole numbers after the first of an array, which need no closer look one by one.
        key_end: The rest of a key after its quote.
        member_end: The rest of a member's value. A quote that nothing legal follows stands inside the string, unescaped.
        element_end: The same for an element of an array.
        closed: The rest of a string up to the first quote that is not escaped.
        item_boundary: Where reading goes on after an item that cannot be read. An array that is a member's value has no group: it
            belongs to that item.
        object_boundary: The same for an object that stands in no array.
        garbage_end: Where reading goes on after words between the items of an array.
        bracket: The end of an item that lacks its brace before the bracket of its array.
        gap: White space and commas.
        field: A key and its colon.
        escape: A backslash and what it escapes.
        between: What may stand between objects that belong together, comments included.
        item_key: A key that only an item has.
        key_before: The end of a text after which a value stands, not an answer.
    """

    def __init__(self) -> None:
        self.start = _compile(
            rf"(?P<tag>{_THINK})"
            rf"|(?P<nothing>{_NOTHING})"
            rf"|\[(?!\[{{4}}){_LEAD}(?:{_SCALAR}{_SPACE},{_SPACE})*+(?:{_SCALAR}{_SPACE})?+"
            rf"(?:(?P<flat>\])|(?P<array>(?=(?:\[{_LEAD}){{0,3}}+{_OBJECT})|\Z))"
            rf"|(?P<object>(?!\{{{_SPACE}\}}){_OBJECT})",
            re.DOTALL,
        )
        self.think_end = _compile(_THINK_END)
        self.member = _tokens(
            gap=_GAP,
            first=rf'(?P<pair>{_PAIR})|"(?P<key>[^"\\]*+)"{_SPACE}{_COLON}|(?P<close>\}})'
            rf"|(?P<word>{_WORD}){_SPACE}{_COLON}|(?P<elision>{_ELLIPSIS})",
        )
        self.member_value = _tokens(gap=_SPACE, first=_VALUE)
        self.element = _tokens(gap=_GAP, first=rf"{_VALUE}|(?P<close>\]|\}}++)")
        self.numbers = _compile(r"(?:, ?\d{1,15}(?=[,\]]))+")
        self.key_end = {opener: _compile(rf"({_BODIES[opener]}){closer}{_SPACE}{_COLON}", re.DOTALL) for opener, closer in _QUOTES.items()}
        self.member_end = {opener: _ending(opener, _AFTER_MEMBER) for opener in _QUOTES}
        self.element_end = {opener: _ending(opener, _AFTER_ELEMENT) for opener in _QUOTES}
        self.closed = {opener: _compile(rf"{_BODIES[opener]}{closer}", re.DOTALL) for opener, closer in _QUOTES.items()}
        ends = rf"(?P<array>\[{_SPACE}\{{)|(?P<fence>{_FENCE})|(?P<tag>{_THINK})"
        self.item_boundary = _compile(rf"""["'`”]{_SPACE}{_COLON}{_SPACE}\[|(?P<brace>\}})(?={_SPACE}(?:[,，]{_SPACE}\{{|\]))|{ends}""")
        self.object_boundary = _compile(rf"(?P<brace>\}})|(?P<line>\n)(?={_SPACE}\{{)|{ends}")
        self.garbage_end = _compile(rf"[\[\]{{]|{_FENCE}|{_THINK}")
        self.bracket = _compile(rf"(?P<brace>{_GAP})(?=\])")
        self.gap = _compile(_GAP)
        self.field = _compile(_FIELD, re.DOTALL)
        self.escape = _compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
        self.between = _compile(r"(?:```\w*+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|[\s\ufeff\u200b,，;\[\]\-*•.)\d`])*+")
        self.item_key = _compile(rf"""["'”](?:content|salience)["'”]{_SPACE}{_COLON}""")
        self.key_before = _compile(r"""(?:["'”]|\b(?:content|salience|source|observed|date|tags|meta))\s{0,4}[:：=]\Z""")


@functools.cache
def patterns() -> Patterns:
    """Return the patterns. They are compiled when the first reply needs them, as that takes longer than to import the package."""
    return Patterns()
