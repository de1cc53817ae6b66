"""Agreement of two label passes: figures worked out by hand on three cases that name their statements in the same words."""

from __future__ import annotations

import json

import pytest

from evals.agreement import agreement, kappa, passes_folder
from evals.cli.main import main
from evals.data.files import load_dataset
from evals.errors import DataError
from evals.matching.base import create_matcher


def memory(content, salience, **fields):
    return {
        "content": content, "salience": salience, "observed": "stated", "kind": "fact", "about": "owner", "speaker": "user",
        "event_date": None, **fields,
    }  # fmt: skip


def forbidden(content, reason):
    return {"content": content, "reason": reason}


A, B, C, D = "The user keeps bees in Graz", "Odile teaches chemistry", "Lunch was lentil soup", "The wedding was moved to 2026-09-12"
FIRST = [
    {"id": "a-1", "memories": [memory(A, 0.9), memory(B, 0.7)], "forbidden": [forbidden(D, "negated")]},
    {"id": "a-2", "memories": [memory(C, 0.3)], "forbidden": [forbidden(B, "echo")]},
    {"id": "b-1", "memories": [memory(A, 0.5)], "forbidden": []},
    {"id": "gone", "memories": [memory(A, 0.5)], "forbidden": []},
]
SECOND = [
    {"id": "a-1", "memories": [memory(B, 0.5, about="third-party"), memory(A, 0.9)], "forbidden": [forbidden(D, "question")]},
    {"id": "a-2", "memories": [memory(B, 0.5)], "forbidden": []},
    {"id": "b-1", "memories": [memory(A, 0.7), memory(C, 0.1)], "forbidden": [forbidden(D, "negated")]},
]
PLACES = {"a-1": ("a", "en"), "a-2": ("a", "de"), "b-1": ("b", "en"), "c-1": ("c", "en")}


@pytest.fixture
def data(tmp_path):
    rows = [
        {
            "id": case,
            "conversation": place,
            "split": "dev",
            "language": language,
            "memories": [],
            "messages": [{"role": "user", "content": f"Case {case}"}],
        }
        for case, (place, language) in PLACES.items()
    ]
    passes = tmp_path / "own" / "passes"
    passes.mkdir(parents=True)
    for path, lines in ((tmp_path / "own" / "dev.jsonl", rows), (passes / "first.jsonl", FIRST), (passes / "second.jsonl", SECOND)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "own"


def test_figures_are_those_worked_out_by_hand(data):
    cases = load_dataset(str(data)).cases
    found = agreement(cases, create_matcher("lexical"), passes_folder(str(data)))
    assert (found["cases"], found["conversations"], found["matched_memories"]) == (3, 2, 3)
    assert (found["memories_first"], found["memories_second"]) == (4, 5)
    assert found["memories_f1"] == pytest.approx(2 * 3 / 9)  # A, B of a-1 and A of b-1
    assert found["required_f1"] == pytest.approx(2 * 1 / (2 + 2))  # only A of a-1 is required by both
    assert found["forbidden_f1"] == pytest.approx(2 * 1 / (2 + 2))
    assert found["memories_f1_low"] <= found["memories_f1"] <= found["memories_f1_high"]
    assert found["negative_kappa"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))  # (no, no), (yes, yes), (yes, no)
    # named by both: A, B, D of a-1, B of a-2 (forbidden only by the first), A of b-1
    assert found["forbidden_kappa"] == pytest.approx((4 / 5 - (2 / 5 * 1 / 5 + 3 / 5 * 4 / 5)) / (1 - (2 / 25 + 12 / 25)))
    assert found["reason_agreement"] == 0
    assert found["salience_mean_difference"] == pytest.approx((0 - 0.2 + 0.2) / 3)
    assert found["about_agreement"] == pytest.approx(2 / 3)
    assert found["kind_agreement"] == 1
    assert found["by_language"] == {
        "en": {"cases": 2, "memories_f1": pytest.approx(6 / 7), "required_f1": 0.5, "forbidden_f1": pytest.approx(2 / 3)},
        "de": {"cases": 1, "memories_f1": 0.0, "required_f1": None, "forbidden_f1": 0.0},
    }


def test_kappa_is_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    ones, others = list("aabbbccacb"), list("abbbbccaca")
    assert kappa(list(zip(ones, others, strict=True))) == pytest.approx(cohen_kappa_score(ones, others))
    assert kappa([]) is None
    assert kappa([("a", "a")]) is None


def test_own_data_with_passes_and_without(data, capsys, tmp_path):
    assert main(["data", "agreement", str(data), "--matcher", "lexical"]) == 0
    out = capsys.readouterr().out
    assert "memories f1                0.67 [" in out
    assert out.rstrip().splitlines()[-1].split() == ["de", "1", "0.00", "-", "0.00"]
    (tmp_path / "bare.jsonl").write_text((data / "dev.jsonl").read_text())
    with pytest.raises(DataError, match="the label passes are not there"):
        passes_folder(str(tmp_path / "bare.jsonl"))
    (data / "passes" / "first.jsonl").write_text('{"no": "id"}\n')
    assert main(["data", "agreement", str(data), "--matcher", "lexical"]) == 2
    assert "first.jsonl:1: Object missing required field `id`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "a-1", "memories": [{"content": "x", "salience": "low"}]}', "first.jsonl:1: memories[0].salience: Expected `float`"),
        (
            '{"id": "a-1", "memories": [], "forbidden": [{"content": "x", "reason": "wrong_subject"}]}',
            "allowed: hypothetical, question, negated",
        ),
        ('{"id": "a-1", "memories": []}\n{"id": "a-1", "memories": []}', "first.jsonl:2: id 'a-1' is already used"),
        ('{"id": "z", "memories": []}', "no case of the data is in both passes; they share 0 ids"),
    ],
)
def test_a_bad_pass_is_told_by_place_and_field(line, said, data, capsys):
    (data / "passes" / "first.jsonl").write_text(line + "\n")
    assert main(["data", "agreement", str(data), "--matcher", "lexical"]) == 2
    assert said in capsys.readouterr().err
