"""Values of JSON as source text in ASCII: Python literals and TypeScript expressions. It knows nothing of prompts.

Text of any origin goes in; whatever it holds (quotes, NUL, line separators, halves of surrogate pairs, `</script>`), it comes out of the
language's own reader as it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

_STEP = "    "
_MOST_INDEX = 2**32 - 2  # the largest key that JavaScript takes for a place in an array
_MOST_EXACT = 2**53 - 1


def ascii_line(text: str) -> str:
    """Return foreign text on one line of ASCII, for a comment: everything else is written as an escape."""
    return text.encode("unicode_escape").decode("ascii")


def python_text(text: str) -> str:
    """Return a text as one Python string literal in double quotes."""
    return '"' + ascii_line(text).replace('"', '\\"') + '"'


def python_docstring(lines: list[str]) -> str:
    """Return lines of ASCII as a docstring whose value they are."""
    body = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{body}\n"""'


def python_value(value: Any, indent: str = "") -> str:
    """Return a value as a Python literal; a text of several lines as one literal a line, in parentheses.

    Args:
        value: What JSON can hold.
        indent: White space before the line that it begins on.
    """
    inner = indent + _STEP
    if isinstance(value, str) and "\n" in value[:-1]:
        lines = value.split("\n")
        parts = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        return "(\n" + "".join(f"{inner}{python_text(part)}\n" for part in parts) + f"{indent})"
    if isinstance(value, str):
        return python_text(value)
    if isinstance(value, Mapping):
        rows = "".join(f"{inner}{python_text(key)}: {python_value(item, inner)},\n" for key, item in value.items())
        return f"{{\n{rows}{indent}}}" if value else "{}"
    if isinstance(value, list) and any(isinstance(item, Mapping | list | str) for item in value):
        return "[\n" + "".join(f"{inner}{python_value(item, inner)},\n" for item in value) + f"{indent}]"
    return "[" + ", ".join(map(python_value, value)) + "]" if isinstance(value, list) else repr(value)


def typescript_text(text: str) -> str:
    """Return a text as one string literal that may stand in an HTML page's script too."""
    return json.dumps(text).replace("</", "\\u003c/").replace("<!--", "\\u003c!--")


def typescript_comment(line: str) -> str:
    """Return a line of ASCII for a comment that may stand in an HTML page's script too."""
    return line.replace("</", "<\\/").replace("<!--", "<\\!--")


def typescript_value(value: Any, indent: str = "") -> str:
    """Return a value as a TypeScript expression.

    Args:
        value: What JSON can hold.
        indent: White space before the line that it begins on.
    """
    inner = indent + "  "
    if isinstance(value, str):
        return typescript_text(value)
    if isinstance(value, Mapping):
        rows = "".join(f"{inner}{_key(key)}: {typescript_value(item, inner)},\n" for key, item in value.items())
        return f"{{\n{rows}{indent}}}" if value else "{}"
    if isinstance(value, list) and any(isinstance(item, Mapping | list | str) for item in value):
        return "[\n" + "".join(f"{inner}{typescript_value(item, inner)},\n" for item in value) + f"{indent}]"
    return json.dumps(value, allow_nan=False)


def _key(key: str) -> str:
    """A key of an object literal; `"__proto__": x` would set the object's prototype, and makes no key."""
    return '["__proto__"]' if key == "__proto__" else typescript_text(key)


def same_in_javascript(value: Any) -> bool:
    """Whether `JSON.stringify` of a value, once it is an object of JavaScript, is the compact JSON that Python writes of it in ASCII.

    Keys such as "10" change their place there, 1.0 becomes 1, large whole numbers are rounded, and beyond ASCII nothing is escaped.
    """
    if isinstance(value, str):
        return value.isascii() and "\x7f" not in value
    if isinstance(value, Mapping):
        indexes = [key for key in value if key.isdecimal() and key.isascii() and str(int(key[:11])) == key and int(key) <= _MOST_INDEX]
        moved = indexes and list(value) != [*sorted(indexes, key=int), *(key for key in value if key not in indexes)]
        return not moved and all(same_in_javascript(key) and same_in_javascript(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(same_in_javascript, value))
    if isinstance(value, float):
        return math.isfinite(value) and not value.is_integer() and "e" not in repr(value)
    return not isinstance(value, int) or isinstance(value, bool) or abs(value) <= _MOST_EXACT
