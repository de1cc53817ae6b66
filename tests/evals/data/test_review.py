"""What decisions do to cases, what refuses them, and what the side file keeps. No terminal."""

import hashlib
import json
from contextlib import closing

import msgspec
import pytest

from evals.cases import Case, Evidence, Forbidden, Memory
from evals.data.dataset import Cases
from evals.data.evidence import day_in, is_date, locate, propose, text_fault
from evals.data.files import load_dataset
from evals.data.review import Entry, Item, Journal, Review, Source, applied, entry_faults, next_id
from evals.errors import DataError, WorkbenchError

SOURCE = Source(kind="turns", data="0123456789ab")
SAID = [
    {"role": "user", "content": "Since May I work at the\nharbour.  The door code is TEST-4711."},
    {"role": "assistant", "content": "Noted: May."},
]


def case(**changes):
    fields = {
        "id": "c-1", "conversation": "c", "split": "dev", "language": "en", "tags": ["unlabelled", "work"], "messages": SAID, "memories": []
    }  # fmt: skip
    return msgspec.convert(fields | changes, Case)


def memory(name="m1", content="The user works at the harbour", grade=0.7, piece="harbour", **more):
    return Memory(id=name, content=content, salience=grade, evidence=(Evidence(message=0, text=piece),), **more)


def faults(entry, **changes):
    return list(entry_faults(case(**changes), entry))


def adds(one):
    return Entry(do="memory", case="c-1", memory=one)


def forbids(content="The door code is TEST-4711", reason="secret", contains="TEST-4711"):
    return Entry(do="forbid", case="c-1", forbidden=Forbidden(content=content, reason=reason, contains=contains))


def test_decisions_are_carried_out_in_order():
    entries = [
        adds(memory()), Entry(do="paraphrase", case="c-1", target="m1", text="The harbour is where the user works"), forbids(),
        Entry(do="skip", case="c-1", item="x"), Entry(do="done", case="c-1"),
    ]  # fmt: skip
    made = applied(case(), entries)
    assert made.memories == (memory(paraphrases=("The harbour is where the user works",)),)
    assert made.forbidden == (Forbidden(content="The door code is TEST-4711", reason="secret", contains="TEST-4711"),)
    assert made.tags == ("work",)
    assert msgspec.structs.replace(made, memories=(), forbidden=(), tags=("unlabelled", "work")) == case()
    assert applied(case(), entries[:4]).tags == ("unlabelled", "work")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (adds(memory(piece="airport")), "does not stand in message 0"),
        (adds(Memory(id="m1", content="x", salience=0.9)), "a required memory needs an exact piece of a message"),
        (adds(memory(content="Works\x1b[2J")), "holds the character \\x1b"),
        (adds(memory(content="Works \ud83d")), "holds the character \\ud83d"),
        (adds(memory(content="Works \u202egnp")), "holds the character \\u202e"),
        (adds(memory(content="\u200b")), "holds no visible character"),
        (adds(memory(event_date="2026-02-30")), "there is no such date"),
        (forbids(contains=None), "must be a string for the reason 'secret'"),
        (forbids(reason="overreach"), "must be null for the reason 'overreach'"),
        (forbids(contains="TEST-4712"), "'TEST-4712' stands in no message of the case"),
        (Entry(do="paraphrase", case="c-1", target="m9", text="x"), "the case has no memory 'm9'"),
        (Entry(do="memory", case="c-1"), "does not carry what belongs to it"),
        (Entry(do="skip", case="c-1", memory=memory()), "does not carry what belongs to it"),
    ],
)
def test_decisions_that_would_make_a_case_faulty_are_refused(entry, told):
    assert told in "; ".join(faults(entry))


def test_what_a_case_says_already_is_not_added_twice():
    known = [msgspec.to_builtins(memory(paraphrases=("Works at the port",)))]
    assert faults(adds(memory("m2", "the USER works at the  harbour")), memories=known) == ["memory 'm1' says just this already"]
    again = Entry(do="paraphrase", case="c-1", target="m1", text="works at the port")
    assert faults(again, memories=known) == ["memory 'm1' says just this already"]
    assert "is used twice" in faults(adds(memory("m1", "Another")), memories=known)[0]
    assert "is also memory 'm1'" in faults(forbids("Works at the port", "overreach", None), memories=known)[0]
    holds = [msgspec.to_builtins(memory(content="The door opens with TEST-4711"))]
    assert "stands in memory" in faults(forbids(), memories=holds)[0]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ((), "m1"), (("m1", "m2"), "m3"), (("m2", "m7", "m3"), "m8"), (("f-09",), "f-10"), (("first",), "m1"), (("m3", "x1"), "x2"),
        (("9" * 30,), "9" * 21 + "1000000000"),
    ],
)  # fmt: skip
def test_ids_go_on_with_the_cases_own_scheme(ids, expected):
    assert next_id([memory(name, f"fact {name}") for name in ids]) == expected


def test_evidence_is_found_as_the_message_spells_it():
    assert locate(SAID, "work AT the harbour") == Evidence(message=0, text="work at the\nharbour")
    assert locate(SAID, "may") == Evidence(message=0, text="May")
    assert locate(SAID, "1: may") == Evidence(message=1, text="May")
    assert locate(SAID, "Noted: May") == Evidence(message=1, text="Noted: May")
    assert locate(SAID, "2: may") is None
    assert locate(SAID, "airport") is None
    assert locate(SAID, " ") is None
    assert locate(SAID, "harbour.*code") is None


def test_evidence_is_proposed_by_shared_words():
    said = [
        {"role": "user", "content": "Good evening! It rains. My sister Tove is allergic to latex, you know, and it is late."},
        {"role": "assistant", "content": "Is Tove well?"},
        {"role": "user", "content": "昨日から東京に住んでいます。"},
    ]
    assert propose(said, "The user's sister Tove is allergic to latex") == Evidence(message=0, text="sister Tove is allergic to latex")
    assert propose(said, "ユーザーは東京に住んでいる") == Evidence(message=2, text="東京に住んでい")
    assert propose(said, "Quite something else") is None
    assert propose(said, "!!!") is None


def test_text_that_belongs_in_no_label_is_told():
    assert text_fault("Zoë naps; 名前; أهلا\u200f") is None
    assert text_fault("two\nlines") == "holds the character \\n, which no label needs"


@pytest.mark.parametrize(
    ("content", "day"),
    [
        ("Starts on 2026-05-04", "2026-05-04"), ("Since 2026-05, and in 2026-05 again", "2026-05"), ("From 2026-05 to 2026-06", None),
        ("On 2026-02-30", None), ("Room 12026-05", None), ("Nothing", None),
    ],
)  # fmt: skip
def test_the_day_that_a_statement_names(content, day):
    assert day_in(content) == day


def test_dates_of_the_calendar():
    assert [is_date(text) for text in ("2026", "2026-03", "2026-03-14")] == [True] * 3
    assert [is_date(text) for text in ("2026-13", "2026-02-30", "26", "today", "")] == [False] * 5


def two_cases():
    return Cases([case(), case(id="c-2", conversation="d")])


def items():
    return [Item(case="c-1"), Item(case="c-2")]


def test_a_review_goes_on_from_its_side_file(tmp_path):
    side = tmp_path / "new.jsonl.review"
    journal = Journal(side, SOURCE)
    review = Review(two_cases(), items(), journal)
    review.decide(adds(memory()))
    assert review.current == items()[0]
    review.decide(Entry(do="done", case="c-1"))
    assert review.current == items()[1]
    assert review.back() == Entry(do="done", case="c-1")
    assert review.current == items()[0]
    review.decide(Entry(do="skip", case="c-1"))
    journal.close()
    again = Review(two_cases(), items(), Journal(side, SOURCE))
    assert again.current == items()[1]
    assert again.case("c-1").memories == (memory(),)
    assert again.tally() == {"memory": 1, "skip": 1, "left": 1}
    assert again.back().do == "skip"
    assert again.back().do == "memory"
    assert again.back() is None
    assert again.case("c-1") == case()


def test_predictions_are_told_apart_by_what_they_say(tmp_path):
    asked = [Item(case="c-1", content="Works  At sea"), Item(case="c-1", content="half \ud83d")]
    review = Review(two_cases(), asked, Journal(tmp_path / "side", SOURCE))
    assert [item.key for item in asked] == ["works at sea", "half \\ud83d"]
    review.decide(Entry(do="skip", case="c-1", item=asked[0].key))
    assert review.current == asked[1]
    review.decide(Entry(do="skip", case="c-1", item=asked[1].key))
    assert review.current is None


def test_a_torn_last_line_is_cut_off(tmp_path):
    side = tmp_path / "side"
    journal = Journal(side, SOURCE)
    journal.append(Entry(do="skip", case="c-1"))
    journal.close()
    whole = side.read_bytes()
    side.write_bytes(whole + b'{"do":"ski')
    journal = Journal(side, SOURCE)
    assert journal.entries == [Entry(do="skip", case="c-1")]
    assert side.read_bytes() == whole
    journal.close()
    side.write_bytes(b'{"review"')
    assert Journal(side, SOURCE).entries == []
    assert msgspec.json.decode(side.read_bytes(), type=Source) == SOURCE


def test_side_files_that_do_not_fit_are_refused(tmp_path):
    side = tmp_path / "side"
    first = Journal(side, SOURCE)
    with pytest.raises(WorkbenchError, match="another process is at this review"):
        Journal(side, SOURCE)
    first.close()
    with pytest.raises(WorkbenchError, match=r"belongs to a review of something else .*0123456789ab.*ffff"):
        Journal(side, Source(kind="turns", data="ffff"))
    kept = side.read_bytes()
    for line, told in (
        (b"{}\n", "side:2: is no line of a review"),
        (b"\xff\n", "side:2: is no line of a review"),
        (b"[" * 100_000 + b"\n", "side:2: is no"),
    ):
        side.write_bytes(kept + line)
        with pytest.raises(DataError, match=told):
            Journal(side, SOURCE)
    for entry in (Entry(do="skip", case="c-9"), adds(memory(piece="airport"))):
        side.write_bytes(kept + msgspec.json.encode(entry) + b"\n")
        with closing(Journal(side, SOURCE)) as journal, pytest.raises(DataError, match="side:2: does not fit case"):
            Review(two_cases(), items(), journal)
    with pytest.raises(WorkbenchError, match="cannot be opened"):
        Journal(tmp_path / "none" / "side", SOURCE)


def test_the_output_is_whole_and_never_overwrites(tmp_path):
    side, target = tmp_path / "side", tmp_path / "new.jsonl"
    journal = Journal(side, SOURCE)
    review = Review(two_cases(), items(), journal)
    review.decide(adds(memory()))
    review.write(target)
    assert list(load_dataset(str(target)).cases) == [case(memories=[msgspec.to_builtins(memory())]), case(id="c-2", conversation="d")]
    review.decide(Entry(do="done", case="c-1"))
    review.write(target)  # its own, and as it was left
    assert [json.loads(line)["tags"] for line in target.read_text().splitlines()] == [["work"], ["unlabelled", "work"]]
    assert journal.entries[-1] == Entry(do="wrote", text=hashlib.sha256(target.read_bytes()).hexdigest())
    target.write_text("mine\n")
    with pytest.raises(WorkbenchError, match="is not as this review wrote it"):
        review.write(target)
    assert target.read_text() == "mine\n"
    assert {path.name for path in tmp_path.iterdir()} == {"side", "new.jsonl"}


def test_a_decision_that_cannot_be_written_is_not_taken(tmp_path, monkeypatch):
    review = Review(two_cases(), items(), Journal(tmp_path / "side", SOURCE))
    review.decide(adds(memory()))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evals.data.review.os.write", full)
    with pytest.raises(WorkbenchError, match="No space left on device; those before are kept"):
        review.decide(Entry(do="done", case="c-1"))
    assert review.tally() == {"memory": 1, "left": 2}
