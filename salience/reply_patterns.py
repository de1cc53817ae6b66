"""The regular expressions by which a model's reply is read: pieces of JSON as models write it, and where it may begin.

Not a grammar of JSON: validity is `json.loads`'s business. Every pattern is possessive, so that a match that fails costs one look at the
characters it covers and never a second; a repetition stops before the character that could begin the same pattern again. That
is what keeps the reading linear in the reply's length.
"""

from __future__ import annotations

import re

SPACE = r"[\s\ufeff\u200b]*+"
_GAP = r"[\s,，\ufeff\u200b]*+"  # commas are optional: too many, too few and trailing ones are all read
_COLON = "[:：]"
_THINK = r"(?i:<(?P<slash>/?)(?:think|thinking|thought|reasoning)(?:\s[^<>]{0,80}+)?(?<!/)>)"
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
_FIELD = rf"(?:{_STRING}|{_WORD}){SPACE}{_COLON}"

# White space and comments before the first value of a bracket; a line comment stops at a bracket, which may begin a container itself.
_LEAD = r"(?:[\s\ufeff\u200b]++|(?://|\#)[^\n\[{]*+|/\*[^*\[{]*+\*/)*+"
_OBJECT = rf"\{{{_LEAD}(?:\}}|{_FIELD}|(?:[{_OPENERS}][^{_OPENERS}{_CLOSERS}]*+)?\Z)"
_SCALAR = f"(?:{_STRING}|{_NUMBER}|{_LITERAL}|{_ELLIPSIS})"

_CHECKBOX = r"(?:(?<=[-*+][ ])|(?<=[0-9][.)][ ]))\[[ ]\]"
_NOTHING = rf"(?:(?<!\w)|(?<=json)|(?<=JSON))(?!{_CHECKBOX})\[{_LEAD}\](?!\()"  # `str[]` is a type and `[](...)` a link

START = re.compile(
    rf"(?P<tag>{_THINK})"
    rf"|(?P<nothing>{_NOTHING})"
    rf"|\[(?!\[{{4}}){_LEAD}(?:{_SCALAR}{SPACE},{SPACE})*+(?:{_SCALAR}{SPACE})?+"
    rf"(?:(?P<flat>\])|(?P<array>(?=(?:\[{_LEAD}){{0,3}}+{_OBJECT})|\Z))"
    rf"|(?P<object>(?!\{{{SPACE}\}}){_OBJECT})",
    re.DOTALL,
)
"""Where reading begins: a thinking tag, an empty array that may be an answer, an array of scalars or of nothing (`flat`), an array that
leads to an object, an object."""

THINK_END = re.compile(r"(?i:</(?:think|thinking|thought|reasoning)\s*+>)")


def _tokens(*, gap: str, first: str) -> re.Pattern[str]:
    return re.compile(
        rf"{gap}(?:{first}|(?P<fence>{_FENCE})|(?P<quote>[{_OPENERS}])|(?P<skip>{_COMMENT})|(?P<tag>{_THINK})|(?P<end>\Z))",
        re.DOTALL,
    )


_PLAIN = r'"[^"\\]*+"'
_VALUE = rf"(?P<text>{_PLAIN}(?={SPACE}[,}}\]]))|(?P<number>{_NUMBER})|(?P<literal>{_LITERAL})|(?P<open>[\[{{])|(?P<dots>{_ELLIPSIS})"

MEMBER = _tokens(
    gap=_GAP,
    first=rf'(?P<pair>"([^"\\]*+)"{SPACE}:{SPACE}(?:"([^"\\]*+)"|({_NUMBER}))(?={SPACE}[,}}]))'
    rf'|"(?P<key>[^"\\]*+)"{SPACE}{_COLON}|(?P<close>\}})|(?P<word>{_WORD}){SPACE}{_COLON}|(?P<elision>{_ELLIPSIS})',
)
"""Tokens where an object expects a key or its end."""

MEMBER_VALUE = _tokens(gap=SPACE, first=_VALUE)
"""Tokens where an object expects the value of a key: a comma here is an error, as no value may be taken from the next key."""

ELEMENT = _tokens(gap=_GAP, first=rf"{_VALUE}|(?P<close>[\]}}])")
"""Tokens where an array expects an element or its end; `}` is one brace too many."""

_COMMENT_START = r"//|/\*|\#"
_AFTER_MEMBER = rf"[,，}}\]]|{_COLON}|\Z|{_COMMENT_START}|{_FENCE}|[{_OPENERS}][\w $-]{{1,40}}+[{_CLOSERS}]{SPACE}{_COLON}"
_AFTER_ELEMENT = rf"[,，}}\]]|{_COLON}|\Z|{_COMMENT_START}|{_FENCE}|[{_OPENERS}]"


def _ending(opener: str, after: str) -> re.Pattern[str]:
    closer = _QUOTES[opener]
    return re.compile(rf"((?:[^{closer}\\]++|\\.|{closer}(?!{SPACE}(?:{after})))*+){closer}(?P<colon>{SPACE}{_COLON})?+", re.DOTALL)


KEY_END = {opener: re.compile(rf"({_BODIES[opener]}){closer}{SPACE}{_COLON}", re.DOTALL) for opener, closer in _QUOTES.items()}
"""By opening quote: the rest of a key."""

CLOSED = {opener: re.compile(rf"{_BODIES[opener]}{closer}", re.DOTALL) for opener, closer in _QUOTES.items()}
"""By opening quote: the rest of a string up to the first quote that is not escaped."""

MEMBER_END = {opener: _ending(opener, _AFTER_MEMBER) for opener in _QUOTES}
"""By opening quote: the rest of a member's value. A quote that nothing legal follows stands inside the string, unescaped."""

ELEMENT_END = {opener: _ending(opener, _AFTER_ELEMENT) for opener in _QUOTES}
"""The same for an element of an array."""

ITEM_BOUNDARY = re.compile(
    rf"""["'`”]{SPACE}{_COLON}{SPACE}\["""
    rf"|(?P<brace>\}})(?={SPACE}(?:[,，]{SPACE}\{{|\]))|(?P<array>\[{SPACE}\{{)|(?P<fence>{_FENCE})|(?P<tag>{_THINK})",
)
"""Where reading goes on after an item that cannot be read. An array that is a member's value belongs to that item (no group)."""

GAP = re.compile(_GAP)

BRACKET = re.compile(rf"(?P<brace>{_GAP})(?=\])")
"""The end of an item whose closing brace is missing before the bracket of its array."""

OBJECT_BOUNDARY = re.compile(rf"(?P<brace>\}})|(?P<line>\n)(?={SPACE}\{{)|(?P<array>\[{SPACE}\{{)|(?P<fence>{_FENCE})|(?P<tag>{_THINK})")
"""The same for an object that stands in no array."""

GARBAGE_END = re.compile(rf"[\[\]{{]|{_FENCE}|{_THINK}")
"""Where reading goes on after words between the items of an array."""

ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
