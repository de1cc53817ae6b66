"""`salience tune` from search to export, end to end, over a model that answers well only where the prompt asks for care."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import evals.cli.running
import evals.models
from evals.cases import Case, Evidence, Memory, Owner
from evals.cli.main import main
from evals.errors import CallError
from evals.models.base import ModelReply
from salience import Policy

WORK = ("baker", "nurse", "carpenter", "tram driver", "translator", "gardener", "midwife", "cook", "surveyor", "tailor", "painter", "vet")
TOWNS = ("Tartu", "Riga", "Porto", "Lyon", "Graz", "Bergen", "Split", "Cork", "Turku", "Ghent", "Bath", "Kiel", "Brno", "Vigo")
VARIANTS = ["Answer quickly with a JSON array.", "With CARE: answer with a JSON array of what lasts."]


def cases():
    """12 conversations a split, 16 of test, a case each; every fourth holds nothing."""
    for split, count in (("train", 12), ("dev", 12), ("test", 16)):
        for number in range(count):
            work, town = WORK[(number + len(split)) % len(WORK)], TOWNS[(3 * number + len(split)) % len(TOWNS)]
            fact = f"The user works as a {work} in {town}."
            quiet = number % 4 == 3
            said = f"hello number {number} of {split}" if quiet else f"I work as a {work} in {town} since the {split} {number}."
            memories = () if quiet else (Memory(id="m1", content=fact, salience=0.9, evidence=(Evidence(message=0, text=said),)),)
            yield Case(
                id=f"{split}-{number}", conversation=f"{split}-{number}", split=split, language="en", date="2024-05-01", source="chat",
                owner=Owner(names=()), messages=({"role": "user", "content": said},), memories=memories,
            )  # fmt: skip


class Careful:
    """Right with CARE in the prompt, else the same wrong memory for everything."""

    name, concurrency, fingerprint = "known/careful", 2, {"known": "careful"}

    def __init__(self):
        self.asked, self.failing = [], False
        self.answers = {case.messages[0]["content"]: case for case in cases()}

    async def prepare(self):
        pass

    async def close(self):
        pass

    async def chat(self, messages, *, schema=None, max_tokens=None, temperature=None, seed=None):
        if self.failing:
            raise CallError("connection", "the server is gone")
        self.asked.append(messages)
        said = next(case for text, case in self.answers.items() if text in messages[-1]["content"])
        if "CARE" not in messages[0]["content"]:
            return ModelReply('[{"content": "The user likes the sea.", "salience": 0.9}]', "stop", 50, 10)
        items = [{"content": memory.content, "salience": 0.9} for memory in said.memories]
        return ModelReply(json.dumps(items), "stop", 50, 10)


@pytest.fixture
def model(isolated, monkeypatch):
    made = Careful()
    (isolated / "data.jsonl").write_bytes(b"".join(msgspec.json.encode(case) + b"\n" for case in cases()))
    (isolated / "variants.json").write_text(json.dumps(VARIANTS))
    real = evals.models.open_model

    def opened(name, **options):
        return made if name == made.name else real(name, **options)

    monkeypatch.setattr(evals.models, "open_model", opened)
    monkeypatch.setattr(evals.cli.running, "open_model", opened)
    return made


TUNE = ["tune", "-m", "known/careful", "--data", "data.jsonl", "--matcher", "lexical", "-o", "tuned", "--name", "careful"]
COPRO = [*TUNE, "--optimizer", "copro", "--variants", "variants.json", "--option", "breadth=3", "--option", "depth=1"]


def test_the_table_of_optimisers_costs_nothing(capsys):
    assert main(["tune", "--list"]) == 0
    out = capsys.readouterr().out
    for name in ("labeled", "bootstrap-rs", "mipro", "copro", "gepa", "simba", "infer-rules"):
        assert f"\n{name} " in out


def test_a_dry_run_tells_the_cost_and_asks_nothing(model, capsys):
    assert main([*COPRO, "--dry-run"]) == 0
    told = capsys.readouterr().err
    # 3 prompts on 12 train and 12 dev cases, and the base on dev
    assert "train 12 cases (12 short enough to be shown), dev 12; at the most 84 calls" in told
    assert "price unknown" in told
    assert not model.asked
    assert not Path("tuned").exists()


def test_a_better_prompt_is_found_gated_exported_and_verified(model, capsys, isolated):
    assert main(COPRO) == 0
    capsys.readouterr()
    searched = len(model.asked)
    assert searched <= 84 + 24  # 12 train cases scored with base and winner, at the most
    artefact = json.loads(Path("tuned/artefact.json").read_text())
    assert artefact["scores"]["dev"]["tuned"]["f1"][0] == 1.0
    assert artefact["scores"]["dev"]["base:default"]["f1"][0] == 0.0
    assert Policy.load("tuned/policy.json").system == VARIANTS[1]
    rows = [json.loads(line) for line in Path("tuned/candidates.jsonl").read_text().splitlines()]
    assert {row["system"] for row in rows} >= {VARIANTS[0], VARIANTS[1]}

    assert main(COPRO) == 0  # again: everything is known, and nothing is asked
    assert len(model.asked) == searched
    assert json.loads(Path("tuned/artefact.json").read_text())["policy"] == artefact["policy"]

    assert main(["tune", "export", "tuned/artefact.json", "--py", "prompt.py"]) == 2
    assert "--refused" in capsys.readouterr().err
    assert main(["tune", "gate", "tuned/artefact.json", "-q"]) == 0
    told = capsys.readouterr()
    assert "PASS, may be called tuned" in told.out
    assert "over default: 0.000 -> 1.000" in told.out
    assert "would show on the 16 conversations of test" in told.err
    assert main(["tune", "gate", "tuned/artefact.json", "-q"]) == 0
    assert "test REUSED" in capsys.readouterr().out

    assert main(["tune", "export", "tuned/artefact.json", "--py", "prompt.py", "--policy", "mine.json", "--ts", "prompt.ts"]) == 0
    assert Policy.load("mine.json").system == VARIANTS[1]
    assert Policy.load("mine.json").hash == Policy.load("tuned/policy.json").hash
    for path in ("tuned/artefact.json", "mine.json", "prompt.py"):
        capsys.readouterr()
        assert main(["tune", "verify", path, "-m", "known/careful", "-n", "5", *([] if "tuned" in path else ["--data", "data.jsonl"])]) == 0
        assert "byte for byte, in 5 of 5; the model answers the same in 5 of 5" in capsys.readouterr().out
    assert main(["tune", "show", "tuned", "--diff", "--plot", "plot.png"]) == 0
    assert "CARE" in capsys.readouterr().out
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")


def test_a_gate_that_a_limit_ends_is_gone_on_with_and_is_one_opening(model, capsys):
    assert main(COPRO) == 0
    before = Path("tuned/artefact.json").read_bytes()
    assert main(["tune", "gate", "tuned/artefact.json", "-q", "--max-calls", "3"]) == 3
    capsys.readouterr()
    assert Path("tuned/artefact.json").read_bytes() == before
    assert main(["tune", "gate", "tuned/artefact.json", "-q"]) == 0
    assert "REUSED" not in capsys.readouterr().out
    Path("tuned/artefact.json").write_bytes(before)  # as if it had never been judged
    assert main(["tune", "gate", "tuned/artefact.json", "-q"]) == 0
    assert "REUSED" in capsys.readouterr().out
    openings = [json.loads(line) for line in Path(".salience/test_openings.jsonl").read_text().splitlines()]
    assert [entry["purpose"] for entry in openings] == ["gate"] * len(openings)


def test_a_search_can_be_played_again_from_its_replies(model, capsys):
    assert main(COPRO) == 0
    first = Policy.load("tuned/policy.json")
    asked = len(model.asked)
    again = [*COPRO, "-m", "scripted/tuned/replies.jsonl", "-o", "again"]
    assert main(again) == 0
    rows = [[json.loads(line) for line in (Path(name) / "candidates.jsonl").read_text().splitlines()] for name in ("tuned", "again")]
    assert [(row["hash"], row["objective"]) for row in rows[0]] == [(row["hash"], row["objective"]) for row in rows[1]]
    assert Policy.load("again/policy.json").hash == first.hash
    assert len(model.asked) == asked


def test_two_policies_stand_side_by_side_with_the_scores_that_are_known(model, capsys):
    assert main(COPRO) == 0
    capsys.readouterr()
    assert main(["policy", "diff", "default", "tuned/artefact.json"]) == 0
    out = capsys.readouterr().out
    assert "1.00" in out
    assert "With CARE: answer with a JSON array of what lasts." in " ".join(out.split())
    assert main(["policy", "diff", "consolidation:default", "consolidation:plain"]) == 0
    assert "2000" in capsys.readouterr().out
    assert main(["policy", "diff", "default", "nothing"]) == 2
    assert "there is no policy named 'nothing'" in capsys.readouterr().err


def test_nothing_better_is_said_and_leaves_no_artefact(model, capsys):
    Path("variants.json").write_text(json.dumps(["Be quick.", "Be brief."]))
    assert main(COPRO) == 1
    assert "nothing that was tried is better than default on dev" in capsys.readouterr().err
    assert not Path("tuned/artefact.json").exists()
    assert Path("tuned/candidates.jsonl").exists()


def test_an_outage_is_no_result(model, capsys):
    model.failing = True
    assert main(COPRO) == 3
    told = capsys.readouterr().err
    assert "the server is gone" in told
    assert "this is no result" in told
    assert not Path("tuned/artefact.json").exists()


def test_a_limit_ends_the_search_and_the_same_command_goes_on(model, capsys):
    assert main([*COPRO, "--max-calls", "20"]) == 3
    assert "--max-calls 20" in capsys.readouterr().err
    assert len(model.asked) == 20
    assert main(COPRO) == 0
    once = [json.dumps(messages) for messages in model.asked]
    assert len(set(once)) == len(once)  # nothing was asked twice


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--optimizer", "magic"], "there is no optimiser 'magic'; there are: labeled"),
        (["--optimizer", "gepa"], "gepa needs a writer: --writer MODEL, or --variants FILE"),
        (["--optimizer", "labeled", "--variants", "variants.json"], "changes examples only and takes no writer"),
        (["--optimizer", "labeled", "--option", "examples=0"], "--option examples must be a whole number from 1 up, got '0'"),
        (["--optimizer", "labeled", "--option", "depth=2"], "--option 'depth=2' is none of labeled"),
        (["--optimizer", "bootstrap-rs", "--option", "bootstrapped=9"], "bootstrapped=9 must be at most examples=8"),
        (["--base", "nothing"], "nothing"),
        (["-m", "baseline/rules"], "baseline/rules is a baseline and takes no prompt"),
        (["--language", "xx"], "no train case is in xx; there are: en"),
        (["--optimizer", "copro", "--variants", "none.txt"], "none.txt: the variants cannot be read"),
    ],
)
def test_mistakes_are_told(model, capsys, options, told):
    assert main([*TUNE, *options]) == 2
    assert told in capsys.readouterr().err
    assert not model.asked


def test_help_and_parsing_load_no_dspy():
    code = "import sys; from evals.cli.main import main; main(['tune', '--list']); sys.exit('dspy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
