"""Shapes of replies and how they are read: contract clauses A8 and A9. Replies are invented; expectations are worked by hand."""

from __future__ import annotations

import json

import pytest

from salience import read_reply
from salience.types import Candidate, Dropped

A, B = '{"content":"A","salience":0.9}', '{"content":"B","salience":0.4}'
HAS_A, HAS_B, HAS_BOTH = [("A", 0.9)], [("B", 0.4)], [("A", 0.9), ("B", 0.4)]
DEEP = '{"content":"deep","salience":1,"meta":' + '{"a":' * 300 + "1" + "}" * 300 + "}"

Row = tuple[str, str, list[tuple[str, float]], str, list[str]]

STRICT: list[Row] = [
    ("an array", f"[{A},{B}]", HAS_BOTH, "ok", []),
    ("white space around", f" \n[{A}]\t\n", HAS_A, "ok", []),
    ("byte order marks around", f"\ufeff[{A}]\ufeff", HAS_A, "ok", []),
    ("nothing", "[]", [], "empty", []),
    ("nothing, spaced", " [ ]\n", [], "empty", []),
    ("a tag that is content", '[{"content":"Writes <think> by hand","salience":0.9}]', [("Writes <think> by hand", 0.9)], "ok", []),
    ("a closing tag that is content", '[{"content":"Ends on </think>","salience":0.9}]', [("Ends on </think>", 0.9)], "ok", []),
    ("a fence that is content", '[{"content":"Uses ```sh```","salience":0.9}]', [("Uses ```sh```", 0.9)], "ok", []),
    (
        "clamped: salience out of range",
        '[{"content":"A","salience":7},{"content":"B","salience":-0.5}]',
        [("A", 1.0), ("B", 0.0)],
        "repaired",
        [],
    ),
    ("clamped: salience beyond floats", '[{"content":"A","salience":1e999}]', [("A", 1.0)], "repaired", []),
    ("clamped: salience of 5,000 digits", '[{"content":"A","salience":' + "9" * 5000 + "}]", [("A", 1.0)], "repaired", []),
    ("content stripped", '[{"content":" A\\n","salience":0.9}]', HAS_A, "ok", []),
    ("escapes", '[{"content":"\\u00e9 \\"x\\" \\ud83d\\ude00 \\/","salience":0.9}]', [('é "x" 😀 /', 0.9)], "ok", []),
]

AROUND: list[Row] = [
    ("prose before and after", f"Here you are: [{A}] Anything else?", HAS_A, "repaired", []),
    ("citations and links after", f"[{A}]\nSee [1], [sic], [docs](http://x.y/z) and [ref][2].", HAS_A, "repaired", []),
    ("array of strings after", f'[{A}] Tags: ["a","b"]', HAS_A, "repaired", []),
    ("types after", f"[{A}] The format is str[] or Memory[].", HAS_A, "repaired", []),
    ("empty link after", f"[{A}] ![](x.png) [](y)", HAS_A, "repaired", []),
    ("fence", f"```json\n[{A}]\n```", HAS_A, "repaired", []),
    ("fence and a sentence", f"```json\n[{A}]\n```\nI kept what lasts.", HAS_A, "repaired", []),
    ("fence without a language, tilde prose", f"~~ ```\n[{A}]\n``` ~~", HAS_A, "repaired", []),
    ("inline code", f"`[{A}]`", HAS_A, "repaired", []),
    ("array in a string", json.dumps(f"[{A}]"), HAS_A, "repaired", []),
    ("array in bare quotes", f'"[{A}]"', HAS_A, "repaired", []),
    ("answer tags", f"<answer>[{A}]</answer><|end|>", HAS_A, "repaired", []),
    ("nothing in a fence", "```json\n[]\n```", [], "empty", []),
    ("nothing in prose", "There is nothing worth keeping, so: [].", [], "empty", []),
    ("nothing after a word", "json[]", [], "empty", []),
    ("nothing but a comment", "[ // small talk\n]", [], "empty", []),
    ("nothing in nothing", "[[]]", [], "empty", []),
    ("nothing and a brace too many", "[]}", [], "empty", []),
    ("string with an apostrophe and bracket before", f"You're [\"I like tea] so: [{A}]", HAS_A, "repaired", []),
]

THINKING: list[Row] = [
    ("brackets in thinking", f"<think>either [x] or {{y}}</think>[{A}]", HAS_A, "repaired", []),
    ("an array in thinking", f"<think>[{B}]</think>\n[{A}]", HAS_A, "repaired", []),
    ("nothing in thinking", f"<think>[]</think>\n[{A}]", HAS_A, "repaired", []),
    ("nothing after thinking", f"<think>[{B}]?</think>\n[]", [], "empty", []),
    ("other names, other case", f"<Thinking>[{B}]</Thinking><REASONING>[]</REASONING>[{A}]<thought>[]</thought>", HAS_A, "repaired", []),
    ("thinking after the answer", f"[{A}]<think>[{B}]</think>", HAS_A, "repaired", []),
    ("unclosed after the answer", f"[{A}]<think>or [{B}]", HAS_A, "repaired", []),
    ("unclosed before the answer", f"<think>so [{A}]", [], "malformed", []),
    ("nothing but thinking", "<think>[]</think>", [], "malformed", []),
    ("no opening tag", f"hm [{B}] or []</think>\n[{A}]", HAS_A, "repaired", []),
    ("no opening tag, open quote and brace", f'hm ["x {{ </think>\n[{A}]', HAS_A, "repaired", []),
    ("no opening tag, open draft", f'hm [{{"content":"x </think>\n[{A}]', HAS_A, "repaired", []),
    ("no opening tag, open draft in single quotes", f"hm [{{'content': 'it</think>[{A}]", HAS_A, "repaired", []),
    ("no opening tag and no answer", f"[{A}]</think>", [], "malformed", []),
    ("tag quoted in thinking", f"<think>end with </think> and [{B}]</think>[{A}]", HAS_A, "repaired", []),
    (
        "tag in a string of the answer",
        f'So:\n[{A},{{"content":"types <think> a lot","salience":0.4}}]',
        [("A", 0.9), ("types <think> a lot", 0.4)],
        "repaired",
        [],
    ),
    (
        "closing tag in a string",
        f'So:\n[{A},{{"content":"types </think>","salience":0.4}}]',
        [("A", 0.9), ("types </think>", 0.4)],
        "repaired",
        [],
    ),
    ("tag in a cut string", f'So:\n[{A},{{"content":"types </think> whe', HAS_A, "truncated", ["cut off"]),
    ("thinking inside the array", f"[{A},<think>[]</think>{B}]", HAS_BOTH, "repaired", []),
    ("tag that closes itself", f"<think/>[{A}]<think />", HAS_A, "repaired", []),
]

SEVERAL: list[Row] = [
    ("an example before", f"Example: [{B}]\nAnswer: [{A}]", HAS_A, "repaired", []),
    ("an example before nothing", f"Example: [{B}]\nAnswer: []", [], "empty", []),
    ("an example object before nothing", f"Example: {B}\nAnswer: []", [], "empty", []),
    ("nothing before an answer", f"At first [], but then [{A}]", HAS_A, "repaired", []),
    ("side by side", f"[{B}]\n[{A}]", HAS_A, "repaired", []),
    ("arrays in an array", f"[[{A}],[{B}]]", HAS_BOTH, "repaired", []),
    ("array doubly wrapped", f"[[[{A}]]]", HAS_A, "repaired", []),
    ("tags are no answer", '{"content":"A","salience":0.9,"tags":["x","y"]} ok', HAS_A, "repaired", []),
    ("empty tags are no answer", '{"content":"A","salience":0.9,"tags":[]} ok', HAS_A, "repaired", []),
    ("an echo of the schema after", f'[{A}] as in [{{"content":"<concise fact here>","salience":0.0}}]', HAS_A, "repaired", []),
    ("an example cut off", f"[{A}] as in [", [], "truncated", []),
    ("array beats object", f"Not kept: {B}. Kept: [{A}]. Nor {B}", HAS_A, "repaired", []),
]

WRAPPED: list[Row] = [
    ("under a key", f'{{"memories":[{A}]}}', HAS_A, "repaired", []),
    ("under any key, after another value", f'{{"thought":"a [b]","n":1,"x y":[{A},{B}]}}', HAS_BOTH, "repaired", []),
    ("two deep", f'{{"result":{{"memories":[{A}]}}}}', HAS_A, "repaired", []),
    ("three deep, in prose", f'So {{"a":{{"b":{{"c":[{A}]}}}}}} it is', HAS_A, "repaired", []),
    ("first array of objects", f'{{"errors":[],"names":["x"],"facts":[{A}],"more":[{B}]}}', HAS_A, "repaired", []),
    ("beside content", f'{{"content":"Here they are","facts":[{A}]}}', HAS_A, "repaired", []),
    ("nothing under a key", '{"memories": []}', [], "empty", []),
    ("nothing under a key, and a note", '{"note":"small talk","memories":[]}', [], "empty", []),
    ("nothing two deep", '{"data":{"memories":[]}}', [], "empty", []),
    ("one object under a key", f'{{"memory":{A}}}', HAS_A, "repaired", []),
    ("objects by name", f'{{"1":{A},"2":{B}}}', HAS_BOTH, "repaired", []),
    ("wrapper in an array", f'[{{"memories":[{A}]}}]', HAS_A, "repaired", []),
    ("wrapper without its brace", f'{{"memories":[{A}]', HAS_A, "repaired", []),
    ("broken wrapper, whole array", f'{{"why":"a "b", c","memories":[{A}]}}', HAS_A, "repaired", []),
    ("broken wrapper of nothing", '{"why":"a "b", c","memories":[]}', [], "malformed", ["not readable"]),
    ("strings under a key", '{"memories":["Likes tea"]}', [], "malformed", ["not an object"]),
    ("item without content, empty tags", '{"salience":0.5,"tags":[]}', [], "malformed", ["no content"]),
]

OBJECTS: list[Row] = [
    ("one bare object", A, HAS_A, "repaired", []),
    ("one bare object in prose", f"I would keep {A}.", HAS_A, "repaired", []),
    ("JSON Lines", f"{A}\n{B}\n", HAS_BOTH, "repaired", []),
    ("commas between", f"{A}, {B}", HAS_BOTH, "repaired", []),
    ("a list", f"- {A}\n- {B}", HAS_BOTH, "repaired", []),
    ("a numbered list", f"1. {A}\n2. {B}", HAS_BOTH, "repaired", []),
    ("a fence each", f"```json\n{A}\n```\n```json\n{B}\n```", HAS_BOTH, "repaired", []),
    ("no opening bracket", f"{A},{B}]", HAS_BOTH, "repaired", []),
    ("array closed too early", f"[]{A},{B}]", HAS_BOTH, "repaired", []),
    ("an example object before", f"For example {B}. Here: {A}", HAS_A, "repaired", []),
    ("another object after", f'{A}\nUsage: {{"tokens":12}}', HAS_A, "repaired", []),
    ("a broken line", f'{A}\n{{"content":oops}}\n{B}', HAS_BOTH, "repaired", ["not readable"]),
    ("a line without content", f'{A}\n{{"salience":1}}\n{B}', HAS_BOTH, "repaired", ["no content"]),
    ("a line cut off", f'{A}\n{{"content":"B","sal', HAS_A, "truncated", ["cut off"]),
    ("one object cut off", '{"content":"A","salience":0.9', [], "truncated", ["cut off"]),
]

CUT: list[Row] = [
    ("in a string", f'[{A},{{"content":"B","sal', HAS_A, "truncated", ["cut off"]),
    ("in a number", f'[{A},{{"content":"B","salience":0.4', HAS_A, "truncated", ["cut off"]),
    ("before the closing bracket", f"[{A},{B}", HAS_BOTH, "truncated", []),
    ("after a comma", f"[{A},", HAS_A, "truncated", []),
    ("nothing whole", '[{"content":"A', [], "truncated", ["cut off"]),
    ("after the bracket", "[", [], "truncated", []),
    ("after the brace", "[{", [], "truncated", ["cut off"]),
    ("in a fence that is closed", f"```json\n[{A},{B}\n```\nThat is all [1].", HAS_BOTH, "truncated", []),
    ("prose instead of the bracket", f"[{A},{B}\n\nThat is all [1].", HAS_BOTH, "truncated", []),
    ("in a wrapper", f'{{"memories":[{A},{{"content":"B"', HAS_A, "truncated", ["cut off"]),
    ("in a wrapped object", '{"memory":{"content":"A","salience":0.9', [], "truncated", ["cut off"]),
    ("after an example", f'Example: [{B}]\nAnswer: [{{"content":"A","sal', [], "truncated", ["cut off"]),
    ("before repaired", f"x [{A},{{}},{{", HAS_A, "truncated", ["no content", "cut off"]),
    ("in nested values", f'[{A},{{"content":"B","salience":0.4,"meta":{{"x":[1,{{"y":"z', HAS_A, "truncated", ["cut off"]),
    ("in a string in single quotes", "[{'content':'A','salience':0.9},{'content':'see [x] and {y}], [", HAS_A, "truncated", ["cut off"]),
    ("in a string with brackets", f'[{A},{{"content":"see [x] and {{y}}], [', HAS_A, "truncated", ["cut off"]),
]

ALMOST_JSON: list[Row] = [
    ("trailing commas", '[{"content":"A","salience":0.9,},]', HAS_A, "repaired", []),
    ("commas too many", f"[{A},,{B},,]", HAS_BOTH, "repaired", []),
    ("commas missing", '[{"content":"A" "salience":0.9} {"content":"B" "salience":0.4}]', HAS_BOTH, "repaired", []),
    ("Python literals", "[{'content': 'A', 'salience': 0.9, 'observed': None, 'meta': {'x': True}}]", HAS_A, "repaired", []),
    ("Python quotes mixed", "[{'content': \"It's \\\\ A\", 'salience': 0.9}]", [("It's \\ A", 0.9)], "repaired", []),
    ("Python escapes", "[{'content': 'It\\'s caf\\xe9', 'salience': 0.9}]", [("It's café", 0.9)], "repaired", []),
    ("apostrophe in single quotes", "[{'content': 'It's Ann's', 'salience': 0.9}]", [("It's Ann's", 0.9)], "repaired", []),
    ("bare keys", "[{content: 'A', salience: .9}]", HAS_A, "repaired", []),
    ("backticks as quotes", "[{`content`: `A`, `salience`: 0.9}]", HAS_A, "repaired", []),
    ("curly quotes, wide punctuation", "[{“content”：“A”，“salience”：0.9}]", HAS_A, "repaired", []),
    ("comments", f"[ // first\n{A}, /* then */ {B} # done\n]", HAS_BOTH, "repaired", []),
    ("backticks in a string", 'x [{"content":"Runs `npm` in ```sh```","salience":0.9}]', [("Runs `npm` in ```sh```", 0.9)], "repaired", []),
    ("newline and tab in a string", '[{"content":"A\nB\tC","salience":0.9}]', [("A\nB\tC", 0.9)], "repaired", []),
    ("unknown escapes", '[{"content":"C:\\dir \\u12 \\_","salience":0.9}]', [("C:\\dir \\u12 \\_", 0.9)], "repaired", []),
    ("NULs", '[{"con\0tent":"\0A","salience":0.9}]\0', HAS_A, "repaired", []),
    ("escaped NUL", '[{"content":"A\\u0000","salience":0.9}]', HAS_A, "repaired", []),
    ("escaped lone surrogate", '[{"content":"A\\ud83d","salience":0.9}]', [("A\ufffd", 0.9)], "repaired", []),
    ("raw lone surrogate", '[{"content":"A\udc00","salience":0.9}]', [("A\ufffd", 0.9)], "repaired", []),
    ("escaped pair where JSON is broken", '[{"content":"\\ud83d\\ude00","salience":0.9},]', [("😀", 0.9)], "repaired", []),
    ("unescaped quotes", '[{"content":"Says "hi" a lot","salience":0.9}]', [('Says "hi" a lot', 0.9)], "repaired", []),
    ("unescaped quote at the end", '[{"content":"Says "hi"","salience":0.9}]', [('Says "hi"', 0.9)], "repaired", []),
    ("unescaped quotes and a comma", f'[{{"content":"Says "hi", often","salience":0.9}},{B}]', HAS_B, "repaired", ["not readable"]),
    ("a quote missing", f'[{{"content":"A,"salience":0.9}},{B}]', HAS_B, "repaired", ["not readable"]),
    ("a stray quote", f'[{A},{{"content":"x",\'salience":1}},{B}]', HAS_BOTH, "repaired", ["not readable"]),
    ("a stray backtick", f'[{A},{{"content":`x","salience":1}},{B}]', HAS_BOTH, "repaired", ["not readable"]),
    ("a value missing", f'[{{"content":,"salience":0.9}},{B}]', HAS_B, "repaired", ["not readable"]),
    ("a bare word as value", f'[{A},{{"content":"x","salience":high}},{B}]', HAS_BOTH, "repaired", ["not readable"]),
    ("a brace missing", '[{"content":"A","salience":0.9]', [], "malformed", ["not readable"]),
    ("a brace too many", f"[{A}}},{B}}}]", HAS_BOTH, "repaired", []),
    ("a bracket missing in tags", f'[{{"content":"x","salience":1,"tags":["t"}},{B}]', HAS_B, "repaired", ["not readable"]),
    ("an opening brace missing", f'[{A},"content":"x","tags":["y"],"salience":1}},{B}]', HAS_BOTH, "repaired", ["not readable"]),
    ("closed too early", f'[{{"content":"x"}},"salience":1,"tags":["y"]}},{B}]', HAS_B, "repaired", ["no salience", "not readable"]),
    ("words between items", f"[{A}, and then {B}, and so on]", HAS_BOTH, "repaired", ["not an object", "not an object"]),
    ("an ellipsis", f"[{A}, ...]", HAS_A, "repaired", ["placeholder"]),
    ("too deep", f"[{DEEP},{B}]", HAS_B, "repaired", ["not readable"]),
    ("too deep, broken", f"[{DEEP},{B},]", HAS_B, "repaired", ["not readable"]),
]

ITEMS: list[Row] = [
    ("numeric strings", '[{"content":"A","salience":"0.9"},{"content":"B","salience":" .4 "}]', HAS_BOTH, "repaired", []),
    ("percent", '[{"content":"A","salience":"90%"},{"content":"B","salience":40%}]', HAS_BOTH, "repaired", []),
    ("percent that may be a share", f'[{A},{{"content":"x","salience":"0.8%"}}]', HAS_A, "repaired", ["salience is not a number"]),
    ("NaN", f'[{{"content":"x","salience":NaN}},{B}]', HAS_B, "repaired", ["salience is not a number"]),
    ("infinite", '[{"content":"A","salience":Infinity},{"content":"B","salience":-Infinity}]', [("A", 1.0), ("B", 0.0)], "repaired", []),
    ("a bool", f'[{A},{{"content":"x","salience":true}}]', HAS_A, "repaired", ["salience is not a number"]),
    ("words, fractions, lists", f'[{A},{{"content":"x","salience":"high"}},{{"content":"x","salience":"8/10"}},{{"content":"x","salience":[1]}}]', HAS_A, "repaired", ["salience is not a number"] * 3),
    ("no salience", f'[{A},{{"content":"x"}},{{"content":"x","salience":null}}]', HAS_A, "repaired", ["no salience"] * 2),
    ("no content", f'[{A},{{"salience":1}},{{"content":" \\n","salience":1}},{{"content":null,"salience":1}},{{"content":"\u200b","salience":1}}]', HAS_A, "repaired", ["no content"] * 4),
    ("content that is no string", f'[{A},{{"content":5,"salience":1}}]', HAS_A, "repaired", ["content is not a string"]),
    ("not objects", f'[1,{A},"x",null,true,{{}}]', HAS_A, "repaired", ["not an object"] * 4 + ["no content"]),
    ("placeholders", f'[{{"content":"<concise fact here>","salience":0.5}},{{"content":"...","salience":0}},{{"content":"String","salience":0}},{A}]', HAS_A, "repaired", ["placeholder"] * 3),
    ("only placeholders", '[{"content":"<fact>","salience":0.5}]', [], "malformed", ["placeholder"]),
    ("the schema echoed", '[{"content": <fact>, "salience": <0-1>}]', [], "malformed", ["not readable"]),
    ("no item is usable", '[{"content":""},{"text":"x"}]', [], "malformed", ["no content"] * 2),
]  # fmt: skip

UNREADABLE: list[Row] = [
    ("empty string", "", [], "malformed", []),
    ("white space", " \n\t", [], "malformed", []),
    ("prose", "The user likes tea.", [], "malformed", []),
    ("prose that says nothing", "There is nothing to remember.", [], "malformed", []),
    ("null", "null", [], "malformed", []),
    ("a number", "0.5", [], "malformed", []),
    ("an empty object", "{}", [], "malformed", []),
    ("an array of an empty object", "[{}]", [], "malformed", ["no content"]),
    ("an array of numbers", "[1, 2]", [], "malformed", ["not an object"] * 2),
    ("an array of strings", '["Likes tea"]', [], "malformed", ["not an object"]),
    ("a citation", "Likes tea [1].", [], "malformed", ["not an object"]),
    ("YAML", "- content: Likes tea\n  salience: 0.5\n  tags: []", [], "malformed", []),
    ("a to-do list", "- [ ] buy tea\n- [x] call Ann", [], "malformed", []),
    ("broken item with empty tags", '[{content "A", "tags": [], "salience": 1}]', [], "malformed", []),
    ("broken item with empty meta list", '[{"content" "A", "salience": 1, "meta": {"refs": []}}]', [], "malformed", []),
    ("a JSON schema", '{"type":"array","items":{"properties":{"content":{"type":"string"}}}}', [], "malformed", ["no content"]),
    ("brackets", "][ }{ ]]", [], "malformed", []),
]

SHAPES = [
    pytest.param(*row[1:], id=f"{group}: {row[0]}")
    for group, rows in {
        "strict": STRICT,
        "around": AROUND,
        "thinking": THINKING,
        "several": SEVERAL,
        "wrapped": WRAPPED,
        "objects": OBJECTS,
        "cut": CUT,
        "almost JSON": ALMOST_JSON,
        "items": ITEMS,
        "unreadable": UNREADABLE,
    }.items()
    for row in rows
]


@pytest.mark.parametrize(("reply", "items", "status", "reasons"), SHAPES)
def test_shape(reply: str, items: list[tuple[str, float]], status: str, reasons: list[str]) -> None:
    reading = read_reply(reply)
    assert [(item.content, item.salience) for item in reading.items] == items
    assert reading.status == status
    assert [dropped.reason for dropped in reading.dropped] == reasons


FIELDS = [
    ('"source":"s","observed":"stated","date":"2026-03-02"', Candidate("A", 0.9, "s", "stated", "2026-03-02")),
    ('"source":" s ","observed":"","date":" "', Candidate("A", 0.9, "s")),
    ('"source":5,"observed":null,"date":["x"]', Candidate("A", 0.9)),
    ('"date":"last spring"', Candidate("A", 0.9, date="last spring")),
    ('"tags":["x"," y ",1,null,"",["z"]]', Candidate("A", 0.9, tags=("x", "y"))),
    ('"tags":"one, two"', Candidate("A", 0.9, tags=("one, two",))),
    ('"tags":{"x":1}', Candidate("A", 0.9)),
    ('"meta":{"supersedes":["m1"],"n":{"x":[1,2.5,true,null,"s"]}}', Candidate("A", 0.9, meta={"supersedes": ["m1"], "n": {"x": [1, 2.5, True, None, "s"]}})),
    ('"meta":[1]', Candidate("A", 0.9)),
    ('"meta":"x"', Candidate("A", 0.9)),
    ('"meta":{"x":[1e999]}', Candidate("A", 0.9, meta={"x": [None]})),
    ('"meta":{"\\ud800":"\\udc00\\u0000"}', Candidate("A", 0.9, meta={"\ufffd": "\ufffd"})),
    ('"importance":3,"reason":"x"', Candidate("A", 0.9)),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "expected"), FIELDS)
@pytest.mark.parametrize("around", ["[%s]", "Here: [%s,]", "%s"])
def test_optional_fields(fields: str, expected: Candidate, around: str) -> None:
    reading = read_reply(around % f'{{"content":"A","salience":0.9,{fields}}}')
    assert reading.items == (expected,)


def test_dropped_shows_the_item_as_it_stood() -> None:
    reading = read_reply('[{ "content" : "", "salience":1 },[2], "é", {"content":"x", oops},{"content":"cut')
    assert [dropped.text for dropped in reading.dropped] == [
        '{ "content" : "", "salience":1 }',
        "2",
        '"é"',
        '{"content":"x", oops}',
        '{"content":"cut',
    ]


def test_dropped_text_is_shortened_to_200_characters() -> None:
    (dropped,) = read_reply('[{"content":"","x":"' + "y" * 500 + '"}]').dropped
    assert dropped == Dropped("no content", '{"content":"","x":"' + "y" * 180 + "…")
    assert len(dropped.text) == 200
