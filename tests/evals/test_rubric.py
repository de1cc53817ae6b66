"""Rubrics that users write: what a file gives, what is refused, and that it reaches the score and its signature."""

import json

import pytest

from evals.cases import Memory
from evals.cli.main import main
from evals.errors import WorkbenchError
from evals.rubric import RUBRICS, Rubric, rubric_named


def write(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_says_what_it_changes(tmp_path):
    rubric = rubric_named(write(tmp_path, 'speakers = ["user"]\nrequired_from = 0.6\nbeta = 2\n'))
    assert (rubric.speakers, rubric.abouts) == (frozenset({"user"}), Rubric().abouts)
    assert (rubric.required_from, rubric.optional_from, rubric.beta) == (0.6, Rubric().optional_from, 2.0)
    assert rubric.grade(Memory(id="m", content="x", salience=0.65)) == "required"
    assert rubric.grade(Memory(id="m", content="x", salience=0.65, speaker="assistant")) == "optional"


def test_the_name_carries_the_content(tmp_path):
    one, same, other = (
        rubric_named(write(tmp_path, text, name))
        for text, name in (
            ('name = "ours"\nbeta = 2', "a.toml"),
            ('beta = 2\nname = "ours"', "b.toml"),
            ('name = "ours"\nbeta = 3', "c.toml"),
        )
    )
    assert one.name == same.name != other.name
    assert one.name.startswith("ours-")
    assert rubric_named(write(tmp_path, "beta = 2", "plain.toml")).name.startswith("plain-")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("beta = ", "is not TOML"),
        ("weight = 3", "field weight is not known; a rubric has name, speakers"),
        ('speakers = ["nobody"]', "field speakers must be a list of one or more of user"),
        ("speakers = []", "field speakers"),
        ('abouts = "owner"', "field abouts must be a list"),
        ('beta = "2"', "field beta must be a number, got '2'"),
        ("beta = true", "field beta must be a number"),
        ("beta = 0", "finite beta above 0"),
        ("required_from = 0.2\noptional_from = 0.5", "0 <= optional_from <= required_from <= 1"),
        ('name = "a|b"', "field name must be"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(WorkbenchError) as caught:
        rubric_named(path)
    assert path in str(caught.value)
    assert words in str(caught.value)


def test_a_file_that_is_not_there_and_a_name_that_is_not_known(tmp_path):
    with pytest.raises(WorkbenchError, match="cannot be read"):
        rubric_named(str(tmp_path / "absent.toml"))
    with pytest.raises(WorkbenchError, match=r"choose one of: default, user-only, both-speakers, or write one"):
        rubric_named("strict")
    assert rubric_named("user-only") is RUBRICS["user-only"]


def test_it_reaches_the_score(tmp_path, monkeypatch, write_cases, capsys):
    """All labels have salience .7: where a memory is required from .8 on none is due, and specificity is over all cases."""
    monkeypatch.chdir(tmp_path)
    write_cases(tmp_path / "mine.jsonl", 6)
    write(tmp_path, "required_from = 0.8\n", "strict.toml")
    words = ["eval", "-m", "baseline/silent", "--data", "mine.jsonl", "--matcher", "lexical", "--rubric", "strict.toml", "-q", "--json"]
    assert main(words) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["figures"]["recall"]["value"] is None
    assert cell["figures"]["specificity"]["value"] == 1.0
    assert "|rubric:strict-" in cell["signature"]
