"""What ships: the exported constants are, byte for byte, what the library sends; nothing refused goes out unsaid."""

import ast
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from evals.errors import WorkbenchError
from evals.tune.artefact import read_artefact, write_artefact
from evals.tune.export import load_python, policy_file, policy_of_module, python_module, typescript_module
from salience import ConsolidationPolicy, Decoding, Policy, Turn, build_request
from salience.consolidation_requests import build_consolidation_request
from tests.evals.tune import artefacts as made

LONE = {
    "halves of surrogate pairs": Policy(made.LONE, made.LONE),
    "halves of surrogate pairs as turns": Policy("mine", made.LONE, made.TURNS, "turns"),
}
ALL = made.POLICIES | LONE


def run(text):
    """The constants that Python gives for a module that finds no name and can import nothing."""
    found = {"__builtins__": {}}
    exec(compile(text, "exported", "exec"), found)
    return {name: value for name, value in found.items() if not name.startswith("__")}


def sent(policy):
    """What the library sends, the user's message cut off."""
    request = (
        build_request(policy, Turn("hello")) if isinstance(policy, Policy)
        else build_consolidation_request(policy, ["The user likes tea."], [])
    )  # fmt: skip
    return [dict(message) for message in request.messages[:-1]]


@pytest.mark.parametrize("name", ALL)
def test_python_gives_byte_for_byte_what_the_library_sends(name):
    policy = ALL[name]
    text = python_module(made.artefact(policy))
    assert text.isascii()
    assert not re.search(r"[^\n -~]", text)
    found = run(text)
    bare = policy.schema_json is None and not (policy.examples and policy.examples_as == "turns")
    assert ("PROMPT" in found, "MESSAGES" in found) == (bare, not bare)
    assert (found["MESSAGES"] if not bare else [{"role": "system", "content": found["PROMPT"]}]) == sent(policy)
    assert json.dumps(found.get("SCHEMA"), separators=(",", ":")) == (policy.schema_json or "null")
    decoding = found.get("DECODING", {"max_tokens": None, "temperature": None})
    assert Decoding(**decoding) == policy.decoding
    assert found["POLICY_HASH"] == policy.hash
    assert found["GATE"] == "pass"
    assert "REFUSED" not in found


def test_the_module_is_deterministic_and_says_where_it_comes_from():
    artefact = made.artefact(Policy("mine", "Be careful.\nReply."), gates=({**made.PASS, "reused": True},))
    text = python_module(artefact)
    assert text == python_module(artefact)
    told = ast.get_docstring(ast.parse(text))
    for words in (
        f"policy     mine {artefact.policy.hash}", f"artefact   {artefact.hash}, made 2026-12-01", "model      known/model",
        "optimizer  copro breadth=3 depth=1 seed=7; 9 candidates tried", f"base       default {artefact.base.hash}",
        "data       data 2 00d47a; train 40 cases of 12 conversations; dev 20 cases of 6 conversations",
        "gate       pass, 2026-12-02, may be called tuned, on test cases that had been opened before (reused)",
        "dev        20 cases; f1 .25 [.10,.40] -> .50 [.38,.62], auroc -", "a line `Turn:`, then the turn's text",
    ):  # fmt: skip
        assert words in told.replace("\n           ", " ")


def test_a_bare_text_as_it_stands():
    text = python_module(made.artefact(Policy("mine", 'Say "no".\n\nElse\\nothing.')))
    body = text[text.index('NAME = "mine"') :]
    artefact = made.artefact(Policy("mine", 'Say "no".\n\nElse\\nothing.'))
    assert body == (
        'NAME = "mine"\n'
        'TASK = "extraction"\n'
        "# The whole system message. Nothing else was sent before the user message.\n"
        "PROMPT = (\n"
        '    "Say \\"no\\".\\n"\n'
        '    "\\n"\n'
        '    "Else\\\\nothing."\n'
        ")\n"
        "# Candidates of this salience and above are kept.\n"
        "THRESHOLD = 0.5\n"
        "# Of everything above but NAME and TASK.\n"
        f'POLICY_HASH = "{artefact.policy.hash}"\n'
        f'ARTEFACT_HASH = "{artefact.hash}"\n'
        'MODEL = "known/model"\n'
        "# What the gate on test ruled.\n"
        'GATE = "pass"\n'
    )


def test_everything_that_decides_is_exported():
    found = run(python_module(made.artefact(made.POLICIES["all there is"])))
    assert found["OPTIONS"] == {"min_salience": 0.25, "max_candidates": 3, "default_observed": "said"}
    assert found["DECODING"] == {"max_tokens": 200, "temperature": 0.5}
    assert found["CALIBRATION"] == [[0.0, 0.125], [1.0, 0.75]]
    assert (found["THRESHOLD"], found["MAX_TURN_CHARS"], found["EXAMPLES_AS"]) == (0.375, 400, "turns")
    assert [message["role"] for message in found["MESSAGES"]] == ["system", "user", "assistant", "user", "assistant"]


def test_why_no_bare_text_is_said():
    def why(name):
        text = " ".join(python_module(made.artefact(made.POLICIES[name])).replace("\n#", "").split())
        return text[text.index("A bare string would") : text.index("never scored.")] if "A bare string would" in text else ""

    assert why("a schema") == (
        "A bare string would not be honest: the scores were earned with the reply schema below, and the text alone was "
    )
    assert "with examples sent as turns, and" in why("examples as turns")
    assert "with examples sent as turns and with the reply schema below, and" in why("all there is")
    assert why("examples in the text") == why("decoding") == ""


def test_a_schema_that_each_request_narrows_is_said():
    text = python_module(made.artefact(made.POLICIES["of consolidation, with all there is"]))
    assert "narrowed to its facts and memories" in text
    assert "narrowed" not in python_module(made.artefact(ConsolidationPolicy("mine", "x", schema_json="{}")))


@pytest.mark.parametrize("name", made.POLICIES)
def test_a_module_is_read_without_running_it(name):
    policy = made.POLICIES[name]
    text = python_module(made.artefact(policy))
    Path("prompt.py").write_text(text)
    constants = load_python(Path("prompt.py"))
    assert constants == run(text)
    back = policy_of_module(constants, Path("prompt.py"))
    assert (back.hash, back.name) == (policy.hash, policy.name)
    assert sent(back) == sent(policy)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Be careful."', '"Be careless."'),
        ("0.375", "0.5"),
        ('"max_tokens": 200', '"max_tokens": 201'),
        ('[1.0, 0.75]', "[1.0, 0.875]"),
        ('"max_candidates": 3', '"max_candidates": 4'),
        ('"required"', '"optional"'),
        ("MAX_TURN_CHARS = 400", "MAX_TURN_CHARS = 500"),
        ('POLICY_HASH = "', 'POLICY_HASH = "0'),
        ('"chat  of\\n"', '"chat  off\\n"'),
        ('"date": "2026-01-02"', '"date": "2026-01-03"'),
        ('"role": "assistant"', '"role": "user"'),
    ],
)  # fmt: skip
def test_a_module_that_was_changed_is_refused(old, new):
    text = python_module(made.artefact(made.POLICIES["all there is"]))
    assert old in text
    Path("prompt.py").write_text(text.replace(old, new))
    with pytest.raises(WorkbenchError, match=r"^prompt.py: .*the file was changed"):
        load_python(Path("prompt.py"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import os\nos.system('touch owned')", "line 1 is not what salience tune export writes"),
        ("PROMPT = __import__('os').system('touch owned')", "is not a module of constants"),
        ("PROMPT = open('owned', 'w')", "is not a module of constants"),
        ("PROMPT = f'{1}'", "is not a module of constants"),
        ("PROMPT = {1}", "PROMPT must be what JSON can hold"),
        ("PROMPT = 1e999", "PROMPT must be what JSON can hold"),
        ("SCHEMA = {[]: 1}", "is not a module of constants"),
        ("SCHEMA = {1: 1}", "SCHEMA must be what JSON can hold"),
        ("PROMPT = 'a'\nPROMPT = 'b'", "line 2 is not what"),
        ("PROMPT = NAME = 'a'", "line 1 is not what"),
        ("OTHER = 'a'", "line 1 is not what"),
        ("PROMPT: str = 'a'", "line 1 is not what"),
        ("PROMPT = (", "SyntaxError"),
        ("PROMPT = '\0'", "is not a module of constants"),
        ("PROMPT = " + "(" * 5000 + ")" * 5000, "is not a module of constants"),
        ("PROMPT = " + "-" * 100_000 + "1", "is not a module of constants"),
        ("PROMPT = '\\d'", "NAME must be a text, got None"),
        ("", "NAME must be a text, got None"),
        ("NAME = 'x'\nTASK = 'y'\nPOLICY_HASH = 'z'", "TASK must be"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'", "must hold either PROMPT or MESSAGES"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'\nPROMPT = 'a'\nMESSAGES = []", "must hold either PROMPT or MESSAGES"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'\nMESSAGES = []", "PROMPT must be a text, or MESSAGES"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'\nPROMPT = 3", "PROMPT must be a text, or MESSAGES"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'\nPROMPT = 'a'\nDECODING = 3", "decoding must be dict, got 3"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'\nPROMPT = 'a'\nEXAMPLES = [3]", "examples[0]"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'\nPROMPT = ''", "must be a non-empty string"),
        ("NAME = 'x'\nTASK = 'extraction'\nPOLICY_HASH = 'z'\nPROMPT = '\\ud800'", "half of a surrogate pair"),
    ],
)  # fmt: skip
def test_a_hostile_module_is_one_message_and_runs_nothing(text, told):
    Path("prompt.py").write_text(text)
    with pytest.raises(WorkbenchError) as error:
        load_python(Path("prompt.py"))
    assert str(error.value).startswith("prompt.py: ")
    assert told in str(error.value)
    assert not Path("owned").exists()


def test_no_such_module():
    with pytest.raises(WorkbenchError, match=r"none.py: cannot be read"):
        load_python(Path("none.py"))


def test_a_schema_that_python_could_not_read_is_told_when_the_artefact_is_made():
    deep = '{"a":' * 150 + "{}" + "}" * 150
    with pytest.raises(WorkbenchError, match=r"policy.schema.*nested too deeply"):
        made.artefact(Policy("mine", "x", schema_json=deep))
    python_module(made.artefact(Policy("mine", "x", schema_json='{"a":' * 90 + "{}" + "}" * 90)))


EXPORTS = {"py": python_module, "ts": typescript_module, "policy": policy_file}


@pytest.mark.parametrize("kind", EXPORTS)
@pytest.mark.parametrize(
    ("gates", "told"),
    [
        ((), "has not been through the gate"),
        ((made.FAIL,), r"did not pass the gate of 2026-12-02 \(fail\): a loss over default is shown"),
        (({**made.PASS, "verdict": "inconclusive"},), r"\(inconclusive\): no reason is given"),
        ((made.PASS, {**made.FAIL, "reused": True}), r"\(fail\)"),
    ],
)
def test_what_did_not_pass_is_refused_or_says_so(kind, gates, told):
    artefact = made.artefact(gates=gates)
    with pytest.raises(WorkbenchError, match=rf"mine \({artefact.hash}\) .*{told}.*--refused"):
        EXPORTS[kind](artefact)
    found = EXPORTS[kind](artefact, refused=True)
    if kind == "policy":
        assert found.provenance["refused"] is True
    else:
        flat = " ".join(re.sub(r"\n(// ?)?", " ", found).split())
        assert re.search(f"REFUSED: it .*{told}.*Exported with --refused", flat)
        assert re.search(r"^(export const )?REFUSED = (True|true as const;)$", found, re.MULTILINE)


def test_one_that_passed_is_not_marked_by_the_flag():
    artefact = made.artefact(Policy("mine", "x", provenance={"refused": True}))
    assert python_module(artefact, refused=True) == python_module(artefact)
    assert "refused" not in policy_file(artefact, refused=True).provenance


@pytest.mark.parametrize("name", made.POLICIES)
def test_a_policy_file_does_the_same_and_knows_where_it_comes_from(name):
    policy = replace(made.POLICIES[name], provenance={"hash": "old", "calibrated_on": "dev"})
    artefact = made.artefact(policy)
    policy_file(artefact).save("mine.json")
    back = type(policy).load("mine.json")
    assert back == policy
    assert back.hash == policy.hash
    assert back.provenance == {
        "hash": policy.hash, "calibrated_on": "dev", "artefact": artefact.hash, "tuned_hash": policy.hash, "model": "known/model",
        "optimizer": "copro", "base": {"name": "default", "hash": artefact.base.hash},
        "data": {"name": "data", "version": "2", "hash": "00d47a"}, "made": "2026-12-01",
        "scores": {"dev": {"n": 20, "f1": [0.5, 0.375, 0.625], "auroc": [None, None, None]}},
        "gate": {"date": "2026-12-02", "verdict": "pass", "called": "tuned", "reused": False, "reasons": []},
    }  # fmt: skip


@pytest.mark.parametrize("name", LONE)
def test_halves_of_surrogate_pairs_are_no_policy_file(name):
    with pytest.raises(WorkbenchError, match="half of a surrogate pair"):
        policy_file(made.artefact(LONE[name]))


def test_foreign_words_cannot_leave_the_docstring_or_the_comments():
    evil = 'x"""\nimport os\n"""*/\r\nalert(1)\u2028alert(2)\\'
    artefact = made.artefact(
        model=evil, optimizer=evil, note=evil, options={evil: evil}, base=Policy(evil, "x"), gates=({**made.FAIL, "reasons": [evil]},),
        data={**made.artefact().data, "name": evil}, policy=Policy(evil, "x"),
    )  # fmt: skip
    found = run(python_module(artefact, refused=True))
    assert (found["MODEL"], found["NAME"]) == (evil, evil)
    for line in typescript_module(artefact, refused=True).splitlines():
        assert re.match(r"//|export const [A-Z_]+ = |$", line), line


# TypeScript


def node(text):
    """What node takes the exported constants of a TypeScript module for, as JSON; only `as const` is taken off, as a compiler does."""
    program = shutil.which("node") or "/usr/bin/node"
    if not Path(program).exists():
        pytest.skip("node is not installed")
    Path("prompt.mjs").write_text(re.sub(r" as const;$", ";", text, flags=re.MULTILINE), encoding="ascii")
    code = (
        "import('./prompt.mjs').then(m => process.stdout.write(JSON.stringify(Object.entries(m))"
        ".replace(/[\\u007f-\\uffff]/g, c => '\\\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))))"
    )
    done = subprocess.run([program, "-e", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", ALL)
def test_typescript_holds_the_same(name):
    policy = ALL[name]
    text = typescript_module(made.artefact(policy))
    assert not re.search(r"[^\n -~]", text)
    assert "</script" not in text
    assert "<!--" not in text
    expected = run(python_module(made.artefact(policy)))
    assert node(text) == expected


def test_a_schema_that_javascript_would_write_otherwise_is_there_as_text_too():
    odd = {
        '{"properties":{"b":{},"2":{},"1":{}}}': True, '{"multipleOf":1.0}': True, '{"maximum":9007199254740993}': True,
        '{"maximum":1e-07}': True, '{"title":"\\u00e9"}': True, '{"properties":{"__proto__":{"type":"string"}}}': False,
        '{"properties":{"1":{},"2":{},"b":{}}}': False, '{"properties":{"b":{},"01":{}},"enum":[0.5,1,null,true,-3]}': False,
    }  # fmt: skip
    for schema, differs in odd.items():
        policy = Policy("mine", "x", schema_json=schema)
        text = typescript_module(made.artefact(policy))
        found = node(text)
        assert ("SCHEMA_JSON" in found) == differs, schema
        if differs:
            assert found["SCHEMA_JSON"] == policy.schema_json
        else:
            assert json.dumps(found["SCHEMA"], separators=(",", ":")) == policy.schema_json


def test_an_artefact_from_a_file_exports_the_same():
    artefact = made.artefact(made.POLICIES["all there is"])
    write_artefact(artefact, Path("artefact.json"))
    back = read_artefact(Path("artefact.json"))
    assert python_module(back) == python_module(artefact)
    assert typescript_module(back) == typescript_module(artefact)
    policy_file(back).save("mine.json")
    assert Policy.load("mine.json").provenance == policy_file(artefact).provenance | {"hash": artefact.policy.hash}
