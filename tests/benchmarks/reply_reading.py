"""Prints how long hostile replies take to read, in seconds of CPU per million characters.

    PYTHONPATH=. python tests/benchmarks/reply_reading.py [--size CHARACTERS] [--repeats N] [NAME ...]

Each shape is read at half the size and at the full size; a ratio near 2 is linear. Times are the best of the repeats.
`tests/salience/test_reply_properties.py` takes the shapes from here.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from functools import partial

from salience.reply import read_reply

ITEM = '{"content":"a","salience":1}'
ROW = json.dumps({"content": 'Ines keeps "four" hives\nin Łódź', "salience": 0.8, "tags": ["home", "bees"], "meta": {"n": [1, 2]}}) + ",\n"


def _mutated(size: int) -> str:
    chars = list((ROW * (size // len(ROW) + 1))[:size])
    draw = random.Random(7)
    for _ in range(size // 20):
        chars[draw.randrange(size)] = draw.choice("[]{}\"'`\\,:</>x1 \n")
    return "".join(chars)


def _noise(size: int) -> str:
    return "".join(random.Random(11).choices("[]{}\"'`\\,:# \na1<", k=size))


UNITS: dict[str, str] = {
    "brackets": "[",
    "braces": "{",
    "bracket brace": "[{",
    "quotes": '"',
    "single quotes": "'",
    "alternating quotes": "\"'",
    "backslashes": "\\",
    "backticks": "`",
    "fences": "```json\n",
    "closing braces": "}",
    "closing bracket, bracket": "][",
    "digits": "9",
    "white space": " ",
    "newlines": "\n",
    "NULs": "\0",
    "lone surrogates": "\ud800",
    "colons": ":",
    "hashes in brackets": "[#",
    "slashes in brackets": "[//",
    "comments": "[/*",
    "think": "<think>",
    "end of think": "</think>",
    "bracket think": "[<think>",
    "think, end": "<think></think>",
    "half tag": "<think ",
    "empty arrays": "[],",
    "spaced arrays": "[ " * 4 + "]" * 4,
    "nested empty arrays": "[[]]",
    "citations": "[1] ",
    "links": "[text](url) ",
    "string arrays": '["a"],',
    "unclosed string arrays": '["a',
    "unclosed words": "['tis ",
    "string with bracket": '["[",',
    "nested objects": '{"a":',
    "nested items": '[{"a":',
    "objects": '{"a":1}',
    "bare objects": "{a:1}",
    "empty objects": "{}",
    "arrays of empty objects": "[{}]",
    "arrays of objects": '[{"a":1}]',
    "object with array": "{a:[]}",
    "open arrays of items": f"[{ITEM},",
    "arrays of items": f"[{ITEM}]",
    "JSON Lines": f"{ITEM}\n",
    "open objects": '{"content":"a',
    "broken items": '{"content":"a","salience":},',
    "bare word items": '[{"content":x},',
    "garbage in arrays": "[{},x",
    "quote before key": '[{"content":"a "salience":1},',
    "key without colon": '[{"a":1,"b" ',
    "half-quoted keys": '[{"',
    "tags": '[{"content":"a","tags":["x"},',
    "brace, spaces": "}" + " " * 99,
    "quote, spaces": '"' + " " * 99,
    "bracket, spaces": "[" + " " * 99,
    "single-quoted items": "[{'content':'it's','salience':'1'},",
    "curly quotes": "[{“content”:“a",
    "escapes": '[{"content":"\\u12\\x',
    "ellipses": "[...,",
    "open curly quotes": "{“)/*",
    "strings of braces": '{"a":"{}',
}
"""By name: the text that is repeated."""

HEADS: dict[str, tuple[str, str]] = {
    "array of numbers": ("[", "1,"),
    "array of arrays": ("[", "[],"),
    "array of strings": ("[", '"",'),
    "array of objects": ("[", "{},"),
    "wrapped arrays": ('{"a":[', "[],"),
    "item with arrays": ('[{"a":[', "[],"),
    "item with brackets": ('[{"a":', "["),
    "item with members": ('[{"a":1', ',"a":1'),
    "item with single quotes": ("[{'a':'", "'"),
    "item with quotes": ('[{"a":"', '"'),
    "item with spaced quotes": ('[{"a":"', '"' * 9 + " " * 90),
    "item with backslashes": ('[{"a":"', "\\"),
    "item with escapes": ('[{"a":"', "\\n"),
    "item with surrogates": ('[{"a":"', "\\ud83d\\u"),
    "item with newlines": ('[{"a":"', "\n"),
    "item with tags": ('[{"a":"', "</think>"),
    "item with comments": ("[{", "/**/"),
    "item with digits": ('[{"a":', "9"),
    "item with ellipses": ("[{", "..."),
    "array with words": ("[{},", "x "),
    "array with rows": ("[", ROW),
    "prose with rows": ("Here: [", ROW),
    "array with broken rows": ("[", ROW.replace('"s', "s")),
    "number then word": ('[{"salience":', "1a"),
}
"""By name: what comes first, and the text that is repeated after it."""


def _repeated(head: str, unit: str, size: int) -> str:
    return (head + unit * (size // len(unit) + 1))[:size]


SHAPES: dict[str, Callable[[int], str]] = {
    **{name: partial(_repeated, "", unit) for name, unit in UNITS.items()},
    **{name: partial(_repeated, head, unit) for name, (head, unit) in HEADS.items()},
    "deep and closed": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "deep meta, closed": lambda size: '[{"content":"a","salience":1,"meta":' + '{"a":' * (size // 6) + "1" + "}" * (size // 6) + "}]",
    "whole number, whole reply": lambda size: '[{"content":"a","salience":' + "9" * size + "}]",
    "one string": lambda size: json.dumps([{"content": "\\n" * (size // 3), "salience": 1}]),
    "encoded twice": lambda size: json.dumps("[{" * (size // 2)),
    "mutated rows": _mutated,
    "noise": _noise,
}
"""By name: the reply of a given size."""


def _seconds(text: str, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        read_reply(text)
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    """Read every shape and print a line for it, the slowest last."""
    parser = argparse.ArgumentParser(description="Time the reading of hostile replies.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="shapes to read (default: all)")
    parser.add_argument("--size", type=int, default=1_000_000, help="characters of a reply (default: 1000000)")
    parser.add_argument("--repeats", type=int, default=2, help="readings of each, the best counts (default: 2)")
    options = parser.parse_args()
    rows = []
    for name in options.names or SHAPES:
        text, half = SHAPES[name](options.size), SHAPES[name](options.size // 2)
        seconds = _seconds(text, options.repeats)
        rows.append((seconds * 1e6 / len(text), seconds / _seconds(half, options.repeats), read_reply(text).status, name))
    for per_million, ratio, status, name in sorted(rows):
        print(f"{per_million:7.3f} s per million characters  {ratio:5.2f} times its half  {status:9}  {name}")


if __name__ == "__main__":
    main()
