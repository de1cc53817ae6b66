"""`salience data validate`: every kind of fault, and that the bundled data has none."""

import copy
import json

import pytest

from evals.data.check import validate
from evals.data.describe import describe, render
from evals.data.files import load_dataset

GOOD = {
    "id": "a-1", "conversation": "a", "split": "dev", "language": "en", "date": "2026-03-02",
    "messages": [{"role": "user", "content": "My sister Tove is allergic to latex, my key is sk-EXAMPLE-1"}],
    "memories": [{"id": "m1", "content": "The user's sister Tove is allergic to latex", "paraphrases": ["Tove, the user's sister, has a latex allergy"],
                  "salience": 0.9, "about": "third-party", "evidence": [{"message": 0, "text": "allergic to latex"}]}],
    "forbidden": [{"content": "The user's key is sk-EXAMPLE-1", "reason": "secret", "contains": "sk-EXAMPLE-1"}],
}  # fmt: skip


def faults(tmp_path, *cases):
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return [(finding.line, finding.field, finding.message) for finding in validate(str(path))[0]]


def altered(change):
    case = copy.deepcopy(GOOD)
    change(case)
    return case


def test_a_good_case_has_no_fault(tmp_path):
    assert faults(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        (lambda c: c.update(date="2026-02-30"), "date", "no such date"),
        (lambda c: c["memories"][0].update(event_date="2026-13"), "memories[0].event_date", "no such date"),
        (lambda c: c["memories"][0]["evidence"][0].update(text="allergic to cats"), "memories[0].evidence[0].text", "does not stand in message 0"),
        (lambda c: c["memories"][0]["evidence"][0].update(message=1), "memories[0].evidence[0].message", "only 1 messages"),
        (lambda c: c["memories"][0].update(evidence=[]), "memories[0].evidence", "is empty"),
        (lambda c: c["memories"].append(c["memories"][0]), "memories[1].id", "used twice"),
        (lambda c: c["forbidden"].append({"content": "TOVE, the user's sister,  has a latex allergy", "reason": "overreach"}), "forbidden[1]", "is also memory 'm1'"),
        (lambda c: c["forbidden"][0].update(contains=None), "forbidden[0].contains", "must be a string for the reason"),
        (lambda c: c["forbidden"][0].update(reason="negated"), "forbidden[0].contains", "must be null for the reason 'negated'"),
        (lambda c: c["forbidden"][0].update(contains="LATEX"), "forbidden[0].contains", "stands in memory 'm1'"),
        (lambda c: c["messages"][0].update(role="human"), "messages[0].role", "must be one of user, assistant, tool, system, got 'human'"),
        (lambda c: c["messages"][0].update(name="A]\n[user"), "messages[0].name", "must be without brackets and line breaks"),
        (lambda c: c["messages"][0].pop("role"), "messages[0]", "role is missing"),
        (lambda c: c["messages"].append({"role": "user", "content": " "}), "messages[1].content", "is empty"),
        (lambda c: c["messages"][0].update(text="x"), "messages[0].text", "not a field of a message"),
    ],
)  # fmt: skip
def test_each_fault_of_a_case_is_named(change, field, said, tmp_path):
    found = faults(tmp_path, altered(change))
    assert len(found) == 1, found
    assert found[0][:2] == (1, field)
    assert said in found[0][2]


def other(**more):
    base = {"id": "b-1", "conversation": "b", "messages": [{"role": "user", "content": "Morning!"}], "memories": [], "forbidden": []}
    return GOOD | base | more


@pytest.mark.parametrize(
    ("second", "field", "said"),
    [
        (other(id="a-1"), "id", "already used at"),
        (other(conversation="a", split="test"), "split", "also in split 'dev'"),
        (GOOD | {"id": "a-2"}, "messages[0]", "also a message of case 'a-1'"),
        (GOOD | {"id": "b-2", "conversation": "b"}, "messages[0]", "also a message of case 'a-1'"),
        (other(split="test", messages=[{"role": "user", "content": "Hm, my sister Tove is  allergic to latex, my key is safe"}]), "messages", "shares a run of text with case 'a-1'"),
    ],
)  # fmt: skip
def test_each_fault_between_cases_is_named(second, field, said, tmp_path):
    found = faults(tmp_path, GOOD, second)
    assert len(found) == 1, found
    assert found[0][:2] == (2, field)
    assert said in found[0][2]


def test_text_without_spaces_shared_by_splits_is_found(tmp_path):
    text = "我昨天把父亲留下的那台旧缝纫机修好了打算用它给女儿做一条校服裙子"
    first = other(messages=[{"role": "user", "content": text}])
    second = other(id="c-1", conversation="c", split="test", messages=[{"role": "user", "content": "对了" + text[:28] + "吗"}])
    assert [finding[1] for finding in faults(tmp_path, first, second)] == ["messages"]


def test_all_faults_are_found_not_only_the_first(tmp_path):
    broken = altered(lambda c: (c.update(date="2026-02-30"), c["forbidden"][0].update(contains=None)))
    path = tmp_path / "d.jsonl"
    path.write_text("{}\n" + json.dumps(broken) + "\nnope\n", encoding="utf-8")
    findings, cases = validate(str(path))
    assert cases == 1
    assert [finding.line for finding in findings] == [1, 2, 2, 3]


def test_the_bundled_data_has_no_fault():
    findings, cases = validate("extraction")
    assert [str(finding) for finding in findings] == []
    assert cases >= 90


def test_the_bundled_data_is_what_the_card_promises():
    d = describe(load_dataset())
    assert (d["cases"] >= 450, d["conversations"] >= 150) == (True, True)
    least = {"test": (180, 64), "dev": (90, 32), "train": (120, 40)}
    assert all(
        (d["splits"][split]["cases"] >= cases and d["splits"][split]["conversations"] >= talks) for split, (cases, talks) in least.items()
    )
    assert all(part["cases"] / 3 <= part["negatives"] <= 0.42 * part["cases"] for part in d["splits"].values())
    assert len(d["languages"]) >= 10
    assert all(count >= 12 for count in d["languages"].values())
    assert 0.4 < d["languages"]["en"] / d["cases"] < 0.6
    assert d["words"]["least"] <= 3
    assert d["words"]["most"] >= 1_900
    assert d["repeated"]["openings"] == {}


def test_the_slices_of_the_bundled_data_are_as_large_as_the_card_says():
    d = describe(load_dataset())
    test = describe(load_dataset().of_split("test"))
    for tag in ("facts", "people", "negation", "small-talk"):
        assert test["tags"][tag]["conversations"] >= 30, tag
    for tag in ("plans", "work", "correction", "assistant-claim"):
        assert test["tags"][tag]["conversations"] >= 12, tag
    for tag in (
        "sarcasm", "reported-speech", "tool-output", "code", "long-paste", "emotion", "health", "secret", "injection", "echo",
        "absolute-date", "relative-date", "numbers", "short-vital", "long-trivial", "code-switching",
    ):  # fmt: skip
        assert d["tags"][tag]["cases"] >= 8, tag


def test_tags_that_follow_from_labels_are_there():
    for case in load_dataset().cases:
        assert ("small-talk" in case.tags) == case.negative, case.id


def test_the_bundled_counts_add_up():
    d = describe(load_dataset())
    assert sum(d["grades"].values()) == d["memories"]
    assert sum(part["cases"] for part in d["splits"].values()) == d["cases"]
    assert "extraction" in render(d)


def test_a_string_to_look_for_that_the_case_has_nowhere_is_a_fault(tmp_path):
    secret = {"content": "The user's PIN is hunter3", "reason": "secret", "contains": "hunter3"}
    row = {"id": "x", "conversation": "x", "split": "dev", "language": "en", "memories": [], "forbidden": [secret],
           "messages": [{"role": "user", "content": "my PIN is hunter2"}]}  # fmt: skip
    (tmp_path / "dev.jsonl").write_text(json.dumps(row) + "\n")
    assert [str(finding).split(":", 2)[2] for finding in validate(str(tmp_path))[0]] == [
        " forbidden[0].contains: 'hunter3' stands in no message of the case"
    ]


def test_repeated_openings_and_runs_are_counted_by_conversation(tmp_path):
    said = [
        ("a", "Well, my hens are all laying again at last"),
        ("a", "Well, my hens sleep"),
        ("b", "well,  my hens are all LAYING today"),
        ("c", "No"),
    ]
    rows = [
        {
            "id": f"x-{i}",
            "conversation": place,
            "split": "dev",
            "language": "en",
            "memories": [],
            "messages": [{"role": "user", "content": text}],
        }
        for i, (place, text) in enumerate(said)
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    d = describe(load_dataset(str(tmp_path / "dev.jsonl")))
    assert d["repeated"] == {"openings": {"well, my hens": 2}, "runs": {"well, my hens are all laying": 2}}
    assert d["words"] == {"least": 1, "lower quartile": 4, "median": 7, "upper quartile": 7, "most": 9}
    assert "openings that conversations share: 1 ('well, my hens' 2)" in render(d)


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"", 0, "holds no case"),
        (b'[\n {"id": "a"},\n {"id": "b"}\n]\n', 1, "one JSON array; write one case a line"),
        (b'[{"id": "a"}, {"id": "b"}]\n', 1, "one JSON array"),
        (b"{}\n\xff\xfe\n{}\n", 2, "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_on_is_one_fault_and_the_others_are_still_checked(content, line, said, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(content)
    (tmp_path / "b.jsonl").write_text(json.dumps(GOOD) + "\n{}\n")
    findings, cases = validate(str(tmp_path))
    last = [finding for finding in findings if finding.file.endswith("a.jsonl")][-1]
    assert (last.line, cases) == (line, 1)
    assert said in last.message
    assert [finding.line for finding in findings if finding.file.endswith("b.jsonl")] == [2]


def _pair(gold, half, predicted="Something else", language="en"):
    kind = {"match": False, "phenomenon": "other", "language": language, "predicted_language": "en", "half": half}
    return {"predicted": predicted, "gold": gold} | kind


def test_a_pair_of_one_half_may_not_resemble_one_of_the_other(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [
        _pair("The user keeps four white geese", "dev"), _pair("The user keeps three white geese", "report"),
        _pair("The user keeps four white geese.", "dev"), _pair("The user keeps five white geese", "report", language="de"),
        _pair("The user sings bass", "report", predicted="the user  sings BASS"),
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    findings, count = validate(str(path))
    assert count == 5
    assert [(one.line, one.field, one.message.split("/")[0]) for one in findings] == [
        (2, "gold", "is nearly that of "), (3, "gold", "is nearly that of "),
        (5, "match", "is false, but the two statements are the same text"),
    ]  # fmt: skip
