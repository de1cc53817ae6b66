"""Label passes of consolidation cases and pairs against the published labels, and which of them tell the same."""

import json

import numpy as np
import pytest

from evals.cli.main import main
from evals.data.labelled import load_labelled
from evals.errors import DataError, WorkbenchError
from evals.kind_agreement import kind_agreement
from evals.matching.vectors import VectorStore
from evals.near import nearest


def cons(name, action, touched=None, split="test", fact="x"):
    content = "merged" if action == "UPDATE" else None
    return {
        "id": name, "conversation": f"c-{name}", "split": split, "language": "en", "new_fact": fact,
        "existing": [{"id": "m1", "content": "The user works at Acme"}, {"id": "m2", "content": "The user has a dog"}],
        "decision": {"action": action, "id": touched, "content": content},
    }  # fmt: skip


def write(folder, name, rows):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_actions_and_targets_of_a_pass_are_counted_against_the_labels(tmp_path):
    """Three of four actions alike; by chance 1/4 * 1/4 (ADD) + 1/2 * 1/2 (UPDATE) + 1/4 * 0 + 0 * 1/4 = 5/16."""
    write(tmp_path, "x.jsonl", [cons("a", "ADD"), cons("b", "UPDATE", "m1"), cons("c", "UPDATE", "m2"), cons("d", "NONE")])
    said = [("a", "ADD", None), ("b", "UPDATE", "m1"), ("c", "UPDATE", "m1"), ("d", "DELETE", "m1")]
    rows = [{"id": name, "decision": {"action": action, "id": touched}} for name, action, touched in said]
    write(tmp_path, "passes/second.jsonl", [*rows, {"id": "z", "decision": {"action": "ADD"}}])
    write(tmp_path, "passes/notes.jsonl", [{"id": "a", "why": "clear"}])
    found = kind_agreement(load_labelled(str(tmp_path / "x.jsonl")), tmp_path / "passes")
    assert list(found) == ["second"]
    assert found["second"].pop("kappa") == pytest.approx((0.75 - 5 / 16) / (1 - 5 / 16))
    assert found["second"] == {"rows": 4, "same": 3, "targets": 2, "same_target": 1}


def test_pairs_are_known_by_their_two_statements(tmp_path, capsys):
    pair = {"phenomenon": "other", "language": "en", "predicted_language": "en", "half": "dev"}
    pairs = [pair | {"predicted": "a", "gold": "b", "match": True}, pair | {"predicted": "c", "gold": "b", "match": False}]
    write(tmp_path, "x.jsonl", pairs)
    write(tmp_path, "passes/one.jsonl", pairs[::-1])
    assert main(["data", "agreement", str(tmp_path / "x.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"one": {"rows": 2, "same": 2, "kappa": 1.0}}
    assert main(["data", "agreement", str(tmp_path / "x.jsonl")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["one", "2", "2", "1.00", "-"]


def test_what_cannot_be_counted_is_said(tmp_path):
    write(tmp_path, "x.jsonl", [cons("a", "ADD")])
    (tmp_path / "passes").mkdir()
    with pytest.raises(DataError, match="there is no pass with labels"):
        kind_agreement(load_labelled(str(tmp_path / "x.jsonl")), tmp_path / "passes")
    (tmp_path / "passes" / "a.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl:1: is not JSON"):
        kind_agreement(load_labelled(str(tmp_path / "x.jsonl")), tmp_path / "passes")
    with pytest.raises(DataError, match="notes for people"):
        kind_agreement(load_labelled("scenarios"), tmp_path)


@pytest.mark.parametrize(("data", "least", "natural"), [("consolidation", 0.95, None), ("matching", 1.0, 0.84)])
def test_the_bundled_passes_agree_as_their_cards_say(data, least, natural, capsys):
    """Of pairs of replies the first two passes agree with the labels that a third settled at .85; of all others with none less."""
    assert main(["data", "agreement", data, "--json"]) == 0
    kappas = {name: row["kappa"] for name, row in json.loads(capsys.readouterr().out).items()}
    first = {name for name in kappas if name in ("natural-first", "natural-second")}
    assert bool(first) is (natural is not None)
    assert [name for name, kappa in kappas.items() if kappa < (natural if name in first else least)] == []


class Lengths:
    """A text is a point on the circle by its length."""

    id, hash = "lengths", "1" * 64

    def missing(self):
        return None

    def encode(self, texts):
        return [np.array([np.cos(len(text) / 10), np.sin(len(text) / 10)], dtype=np.float32) for text in texts]


def test_consolidation_cases_are_compared_by_their_new_facts(tmp_path):
    facts = (("a", "test", "x"), ("b", "dev", "xx"), ("c", "dev", "x" * 9))
    write(tmp_path, "x.jsonl", [cons(name, "ADD", split=split, fact=fact) for name, split, fact in facts])
    data = load_labelled(str(tmp_path / "x.jsonl"))
    found = nearest(data.rows, VectorStore(None), most=1, kind=data.kind, encoder=Lengths())
    assert [(pair.first, pair.second) for pair in found] == [("a", "b")]
    replies = load_labelled("replies")
    with pytest.raises(WorkbenchError, match="a model reply belongs to no split"):
        nearest(replies.rows, VectorStore(None), kind=replies.kind, encoder=Lengths())
