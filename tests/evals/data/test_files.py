"""Loading cases: what is accepted, how faults are named, and other libraries read the same files."""

import json

import pytest

from evals.data.files import bundled_names, data_folder, load_dataset
from evals.data.schema import case_schema
from evals.data.select import sample
from evals.errors import DataError, WorkbenchError

GOOD = {
    "id": "a-1", "conversation": "a", "split": "dev", "language": "en", "messages": [{"role": "user", "content": "We eloped"}],
    "memories": [{"id": "m1", "content": "The user eloped", "salience": 0.9, "evidence": [{"message": 0, "text": "eloped"}]}],
}  # fmt: skip


def write(path, *cases):
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return str(path)


def test_a_minimal_case_has_defaults(tmp_path):
    dataset = load_dataset(write(tmp_path / "mine.jsonl", GOOD))
    case = dataset.cases[0]
    assert dataset.name == "mine"
    assert (case.tags, case.context, case.forbidden, case.date, case.owner.names) == ((), (), (), None, ())
    assert case.memories[0].phrases == ("The user eloped",)
    assert not case.negative
    assert case.turn().text == "[user] We eloped"


def change(path, value):
    case = json.loads(json.dumps(GOOD))
    at = case
    for step in path[:-1]:
        at = at[step]
    if value is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return case


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (change(["id"], KeyError), "missing required field `id`"),
        (change(["id"], ""), "id: Expected `str` of length >= 1.*given"),
        (change(["split"], "training"), 'split: .*; allowed: train, dev, test .given: "training"'),
        (change(["messages"], []), "messages: Expected `array` of length >= 1"),
        (change(["messages"], "hi"), 'messages: Expected `array`, got `str` .given: "hi"'),
        (change(["memories", 0, "salience"], 1.5), r"memories\[0\]\.salience: Expected `float` <= 1\.0 .given: 1\.5"),
        (change(["memories", 0, "salience"], "0.9"), r"memories\[0\]\.salience: Expected `float`, got `str`"),
        (change(["memories", 0, "observed"], "guessed"), r"memories\[0\]\.observed: .*; allowed: stated, inferred, reported"),
        (change(["memories", 0, "kind"], "thing"), "allowed: fact, preference, plan, decision, relationship, procedure, event"),
        (change(["memories", 0, "paraphrase"], ["x"]), "unknown field `paraphrase`"),
        (change(["memories", 0, "event_date"], "May 2026"), r"event_date: Expected `str` matching regex .*given: .May 2026"),
        (change(["forbidden"], [{"content": "x", "reason": "bad"}]), r"forbidden\[0\]\.reason: .*allowed: hypothetical.*relative-date"),
        (change(["language"], "English"), "language: Expected `str` matching regex"),
    ],
)  # fmt: skip
def test_a_fault_names_file_line_field_what_was_given_and_what_is_allowed(case, said, tmp_path):
    path = write(tmp_path / "bad.jsonl", GOOD | {"id": "ok"}, case)
    with pytest.raises(DataError, match=said) as caught:
        load_dataset(path)
    assert str(caught.value).startswith(f"{path}:2: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no case"),
        (b"not json\n", ":1: is not a JSON object"),
        (b"[1]\n", ":1: .*Expected `object`"),
        (b"\xff\xfe\n", ":1: is not UTF-8"),
        (b"[" * 5_000 + b"\n", ":1: "),
        (b'{"id": "a"\n', ":1: is not a JSON object"),
        (b'{"id": 5, "conversation": "c", \n', ":1: id: Expected `str`"),
        (b'{"id": 1' + b"1" * 5_000 + b"}\n", ":1: "),
    ],
)
def test_a_file_that_holds_no_cases_is_named(content, said, tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=said):
        load_dataset(str(tmp_path / "bad.jsonl"))


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (change(["messages", 0], {"content": "x"}), r"messages\[0\]: role is missing"),
        (change(["memories"], GOOD["memories"] * 2), r"memories\[1\]\.id: 'm1' is used twice"),
        (change(["date"], "2026-13-45"), "date: there is no such date"),
        (change(["forbidden"], [{"content": "x", "reason": "secret", "contains": "\u200b"}]), "holds no visible character"),
    ],
)
def test_a_case_with_a_fault_is_not_loaded(case, said, tmp_path):
    path = write(tmp_path / "bad.jsonl", case)
    with pytest.raises(DataError, match=said) as caught:
        load_dataset(path)
    assert str(caught.value).startswith(f"{path}:1: ")


def test_blank_lines_and_a_byte_order_mark_are_no_fault(tmp_path):
    (tmp_path / "a.jsonl").write_text("\ufeff\n" + json.dumps(GOOD) + "\n\n", encoding="utf-8")
    assert len(load_dataset(str(tmp_path / "a.jsonl")).cases) == 1


def test_an_id_used_twice_is_named_at_both_places(tmp_path):
    write(tmp_path / "a.jsonl", GOOD)
    write(tmp_path / "b.jsonl", GOOD)
    with pytest.raises(DataError, match=r"b\.jsonl:1: id 'a-1' is already used at .*a\.jsonl:1"):
        load_dataset(str(tmp_path))


def test_what_is_not_there_is_said_with_the_choices(tmp_path):
    with pytest.raises(
        DataError, match="no dataset or file 'nope'; bundled datasets: consolidation, extraction, matching, replies, scenarios"
    ):
        load_dataset("nope")
    with pytest.raises(DataError, match=r"the folder holds no \.jsonl file"):
        load_dataset(str(tmp_path))
    with pytest.raises(DataError, match="no case in split 'test'; it has: dev 1"):
        load_dataset(write(tmp_path / "a.jsonl", GOOD)).of_split("test")


def test_the_hash_is_of_the_content_and_not_of_the_order(tmp_path):
    other = GOOD | {"id": "b-1", "conversation": "b"}
    first = load_dataset(write(tmp_path / "1.jsonl", GOOD, other))
    second = load_dataset(write(tmp_path / "2.jsonl", other, dict(reversed(GOOD.items()))))
    third = load_dataset(write(tmp_path / "3.jsonl", other, change(["memories", 0, "salience"], 0.7)))
    assert first.hash == second.hash
    assert first.hash != third.hash
    assert len(first.hash) == 12


def test_a_sample_is_seeded_and_spread_over_conversations(tmp_path):
    cases = [GOOD | {"id": f"{c}-{i}", "conversation": c} for c in "abcd" for i in range(5)]
    loaded = load_dataset(write(tmp_path / "a.jsonl", *cases)).cases
    chosen = sample(loaded, 6, seed=1)
    per_conversation = [sum(case.conversation == c for case in chosen) for c in "abcd"]
    assert sorted(per_conversation) == [1, 1, 2, 2]
    assert chosen == sample(loaded, 6, seed=1)
    assert any(chosen != sample(loaded, 6, seed=seed) for seed in range(2, 6))
    assert [case.id for case in chosen] == sorted(case.id for case in chosen)
    assert sample(loaded, None, 0) == loaded == sample(loaded, 99, 0)
    with pytest.raises(WorkbenchError, match="1 or more, got 0"):
        sample(loaded, 0, 0)


FILES = sorted((data_folder() / "extraction").glob("*.jsonl"))


def test_the_bundled_set_has_its_splits():
    assert bundled_names() == ["consolidation", "extraction", "matching", "replies", "scenarios", "support"]
    assert [path.name for path in FILES] == ["dev.jsonl", "test.jsonl", "train.jsonl"]


def test_hugging_face_datasets_reads_the_files(tmp_path):
    import importlib.util

    assert importlib.util.find_spec("datasets").origin is not None, "the folder of this name hides the package"
    import datasets

    loaded = datasets.load_dataset(
        "json", data_files={path.stem: str(path) for path in FILES}, cache_dir=str(tmp_path / "hf")
    )  # fmt: skip
    ours = load_dataset()
    for split in ("train", "dev", "test"):
        rows = loaded[split]
        assert rows["id"] == [case.id for case in ours.of_split(split).cases]
        assert rows[0]["memories"][0].keys() >= {"id", "content", "paraphrases", "salience", "evidence"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_pandas_reads_the_files(path):
    import pandas as pd

    frame = pd.read_json(path, lines=True, dtype=False)
    ours = load_dataset(str(path)).cases
    assert list(frame["id"]) == [case.id for case in ours]
    assert [len(cell) for cell in frame["memories"]] == [len(case.memories) for case in ours]


def test_the_published_schema_is_that_of_the_types_and_accepts_the_files():
    import jsonschema

    published = json.loads((data_folder() / "extraction" / "schema.json").read_text(encoding="utf-8"))
    assert published == case_schema()
    validator = jsonschema.Draft202012Validator(published)
    for path in FILES:
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line:
                validator.validate(json.loads(line))
    assert not validator.is_valid(change(["memories", 0, "salience"], 1.5))
    assert not validator.is_valid(change(["memories", 0, "paraphrase"], ["x"]))
