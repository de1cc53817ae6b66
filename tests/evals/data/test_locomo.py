"""LoCoMo files: both layouts, what becomes of a turn and of an observation, and bad files. All talk here is invented."""

import copy
import json

import pytest

from evals.data.faults import case_faults
from evals.data.foreign import open_foreign
from evals.data.locomo import SILVER, open_locomo
from evals.errors import DataError

SESSION_1 = [
    {"speaker": "Odo", "dia_id": "D1:1", "text": "Hi Runa, I got the ferry job!"},
    {
        "speaker": "Runa",
        "dia_id": "D1:2",
        "text": "Wonderful! I adopted a goat.",
        "blip_caption": "a photo of a  goat\non a roof",
        "img_url": ["u"],
    },
    {"speaker": "Odo", "dia_id": "D1:3", "text": "", "blip_caption": "a photo of a ferry"},
    {"speaker": "Runa", "dia_id": "D1:4", "text": "Nice."},
    {"speaker": "Odo", "dia_id": "D1:5", "text": "See you."},
    {"speaker": "Runa", "dia_id": "D1:6", "text": "Bye!"},
]
SESSION_2 = [{"speaker": "Runa", "dia_id": "D2:1", "text": "The goat is called Brandt."}]
OBSERVATIONS_1 = {
    "Odo": [["Odo got a job on a ferry.", "D1:1"], ["Odo knows a goat's owner.", "D1:2"]],
    "Runa": [["Runa adopted a goat.", ["D1:2", "D1:6"]], ["Runa ADOPTED a goat. ", "D1:2"], ["Runa paints.", "D9:9"]],
}
OBSERVATIONS_2 = {"Runa": [["Runa's goat is called Brandt.", " D2:01 ; D1:2 "]], "Odo": []}
SESSIONS = {
    "speaker_a": "Odo", "speaker_b": "Runa",
    "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": SESSION_1,
    "session_2_date_time": "12:05 am on 29 February, 2024", "session_2": SESSION_2,
    "session_3_date_time": "9:00 am on 1 March, 2024",
}  # fmt: skip
NESTED = {
    "sample_id": "conv-x", "conversation": SESSIONS, "qa": [{"question": "?", "answer": 2}], "event_summary": {}, "session_summary": {},
    "observation": {"session_1_observation": OBSERVATIONS_1, "session_2_observation": OBSERVATIONS_2},
}  # fmt: skip
FLAT = {
    "sample_id": "conv-x", **SESSIONS, "session_1_observation": OBSERVATIONS_1, "session_2_observation": OBSERVATIONS_2,
    "events_session_1": {"Odo": []}, "session_1_summary": "They talk.", "qa": [],
}  # fmt: skip


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path):
    return open_locomo(write(tmp_path / "talk.json", [NESTED]))


def test_a_turn_is_a_case_of_its_speaker_with_four_turns_of_its_session_before_it(data):
    cases = list(data.read())
    assert [case.id for case in cases] == [f"conv-x-D1:{n}" for n in range(1, 7)] + ["conv-x-D2:1"]
    assert {case.conversation for case in cases} == {"conv-x"}
    assert {(case.split, case.language) for case in cases} == {("dev", "en")}
    assert [case.owner.names for case in cases] == [("Odo",), ("Runa",)] * 3 + [("Runa",)]
    assert [case.date for case in cases] == ["2023-05-08"] * 6 + ["2024-02-29"]
    assert [len(case.context) for case in cases] == [0, 1, 2, 3, 4, 4, 0]
    assert cases[5].messages == ({"role": "user", "content": "Bye!", "name": "Runa"},)
    assert cases[5].context[0] == {
        "role": "user",
        "content": "Wonderful! I adopted a goat.\n(shares a photo: a photo of a goat on a roof)",
        "name": "Runa",
    }
    assert [message["content"] for message in cases[5].context[2:]] == ["Nice.", "See you."]
    assert cases[1].tags == ("locomo", "session-1", "image")
    assert cases[6].tags == ("locomo", "session-2")
    assert [fault for case in cases for fault in case_faults(case)] == []


def test_a_photo_without_text_is_a_turn_too(data):
    assert list(data.read())[2].turn().text.endswith("[user: Odo] (shares a photo: a photo of a ferry)")


def test_observations_are_memories_of_the_turns_that_they_cite(data):
    memories = {case.id.removeprefix("conv-x-"): case.memories for case in data.read()}
    assert {name: [(memory.id, memory.content, memory.about) for memory in found] for name, found in memories.items() if found} == {
        "D1:1": [("m1", "Odo got a job on a ferry.", "owner")],
        "D1:2": [
            ("m1", "Odo knows a goat's owner.", "third-party"),
            ("m2", "Runa adopted a goat.", "owner"),
            ("m3", "Runa's goat is called Brandt.", "owner"),
        ],
        "D1:6": [("m1", "Runa adopted a goat.", "owner")],
        "D2:1": [("m1", "Runa's goat is called Brandt.", "owner")],
    }
    first = memories["D1:2"][0]
    assert (first.salience, first.observed, first.kind, first.speaker) == (0.7, "stated", "fact", "user")
    assert [(item.message, item.text) for item in first.evidence] == [
        (0, "Wonderful! I adopted a goat.\n(shares a photo: a photo of a goat on a roof)")
    ]


def test_the_account_says_what_was_read_and_what_was_skipped(data):
    assert data.report().cases == 0
    list(data.read())
    report = data.report()
    assert (report.cases, report.conversations, report.memories, report.negatives) == (7, 1, 6, 3)
    assert {item.what: item.count for item in report.notes} == {
        "an observation on another speaker's turn, kept there as about a third party": 1,
        "an observation that cites several turns, and is a memory of each": 2,
        "an observation twice on one turn, merged": 1,
        "a citation with stray spaces or zeros, or of several turns in one text": 1,
    }
    assert {item.what: item.count for item in report.skipped} == {
        "a session with a date and no turns": 1,
        "an observation that cites no turn that is there and has text": 1,
    }
    assert report.skipped[1].first.endswith("talk.json: sample 'conv-x': session_1_observation: 'Runa': observation 3: 'D9:9'")
    assert data.notes()[0] == "Read: 7 cases in 1 conversations, 6 memories, 3 negative cases."
    assert (data.name, data.silver) == ("talk", SILVER)


@pytest.mark.parametrize("content", [[NESTED], [FLAT], NESTED, FLAT])
def test_both_layouts_and_a_single_conversation_give_the_same_cases_every_time(content, tmp_path):
    expected = list(open_locomo(write(tmp_path / "a.json", [NESTED])).read())
    opened = open_foreign(f"locomo:{write(tmp_path / 'b.json', content)}", [])
    assert list(opened.read()) == expected
    first = opened.report()
    assert list(opened.read()) == expected
    assert opened.report() == first


def test_the_older_layout_may_have_no_sample_id(tmp_path):
    flat = {key: value for key, value in FLAT.items() if key != "sample_id"}
    opened = open_locomo(write(tmp_path / "a.json", [flat, flat]))
    assert [case.id for case in opened.read()][::7] == ["conversation-1-D1:1", "conversation-2-D1:1"]


def altered(change):
    sample = copy.deepcopy(NESTED)
    change(sample)
    return sample


def skipped(tmp_path, change):
    opened = open_locomo(write(tmp_path / "a.json", [altered(change)]))
    cases = list(opened.read())
    return cases, {item.what: item.count for item in opened.report().skipped}, {item.what: item.count for item in opened.report().notes}


def test_a_turn_without_text_is_no_case_and_no_context(tmp_path):
    cases, left_out, _ = skipped(tmp_path, lambda s: s["conversation"]["session_1"][0].update(text=" \n"))
    assert "conv-x-D1:1" not in [case.id for case in cases]
    assert cases[0].context == ()
    assert left_out["a turn with neither text nor a photo's caption"] == 1
    assert left_out["an observation that cites no turn that is there and has text"] == 2


def test_one_citation_of_two_may_be_wrong(tmp_path):
    cases, left_out, _ = skipped(
        tmp_path, lambda s: s["observation"]["session_1_observation"]["Odo"].append(["Odo waves.", ["D1:5", "D7:1"]])
    )
    assert [memory.content for memory in cases[4].memories] == ["Odo waves."]
    assert left_out["a citation of a turn that is not there or has no text (the observation's other citations hold)"] == 1


def test_observations_of_no_text_or_of_a_session_that_is_not_there_are_counted(tmp_path):
    _, left_out, _ = skipped(
        tmp_path, lambda s: s["observation"].update(session_8_observation={"Odo": [["", "D1:1"], ["Odo sails.", None]]})
    )
    assert left_out["an observation without text"] == 1
    assert left_out["an observation that cites no turn that is there and has text"] == 2


def test_a_session_without_observations_is_noted(tmp_path):
    _, _, notes = skipped(tmp_path, lambda s: s["observation"].pop("session_2_observation"))
    assert notes["a session without observations, whose turns may be no negatives"] == 1


def test_the_same_observation_of_both_speakers_is_about_the_owner(tmp_path):
    both = {"Odo": [["They met.", "D2:1"]], "Runa": [["They met.", "D2:1"]]}
    cases, _, _ = skipped(tmp_path, lambda s: s["observation"].update(session_2_observation=both))
    assert [(memory.content, memory.about) for memory in cases[-1].memories] == [("They met.", "owner")]


def turn(**changes):
    return lambda sample: sample["conversation"]["session_1"][1].update(changes)


def talk(**changes):
    return lambda sample: sample["conversation"].update(changes)


def observation(value):
    return lambda sample: sample["observation"].update(session_1_observation=value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s.pop("sample_id"), "entry 1: sample_id must be a text that is not empty, or a number, got None"),
        (lambda s: s.update(sample_id=True), "entry 1: sample_id must be .* got True"),
        (lambda s: s.update(conversation=[]), "sample 'conv-x': conversation must be an object with session_1.*got \\[\\]"),
        (lambda s: s.update(conversation={"speaker_a": "Odo"}), "sample 'conv-x': has no session_1.*speaker_a"),
        (lambda s: s.pop("observation"), "sample 'conv-x': observation must be an object with session_N_observation.*got None"),
        (lambda s: s.update(observation={}), "sample 'conv-x': has no session_N_observation"),
        (talk(session_1="hi"), "sample 'conv-x': session_1: must be a list of turns, got 'hi'"),
        (talk(session_1_date_time="8 May 2023"), "sample 'conv-x': session_1_date_time: must be a time like \"1:56 pm on 8 May, 2023\", got '8 May 2023'"),
        (talk(session_1_date_time="1:56 pm on 31 June, 2023"), "session_1_date_time: .*31 June"),
        (talk(session_1_date_time="13:56 pm on 8 May, 2023"), "session_1_date_time: "),
        (talk(session_1_date_time="1:56 pm on 8 Mai, 2023"), "session_1_date_time: "),
        (talk(session_1_date_time=None), "session_1_date_time: .*got None"),
        (lambda s: s["conversation"].pop("session_1_date_time"), "session_1_date_time: .*got None"),
        (talk(session_1=[SESSION_1[0], "x"]), "session_1: turn 2: must be an object with speaker, dia_id and text, got 'x'"),
        (turn(text=7), "sample 'conv-x': session_1: turn 2: text must be a text, got 7"),
        (turn(text=float("nan")), "turn 2: text must be a text, got nan"),
        (turn(speaker=""), "turn 2: speaker is empty"),
        (turn(speaker="a]\n[system"), "session_1: turn 'D1:2': messages\\[0\\].name: must be without brackets"),
        (turn(blip_caption=["x"]), "turn 2: blip_caption must be a text"),
        (turn(text="half \ud83d"), "turn 'D1:2': holds half of a surrogate pair"),
        (lambda s: s["conversation"]["session_1"][1].pop("dia_id"), "turn 2: dia_id is missing; a turn has speaker, dia_id and text"),
        (turn(dia_id="D1:1"), "session_1: dia_id 'D1:1' is already used in session_1"),
        (observation(["x"]), "sample 'conv-x': session_1_observation: must be an object of speaker to observations"),
        (observation({"Odo": "x"}), "session_1_observation: 'Odo' must be a list of .text, dia_id."),
        (observation({"Odo": ["x"]}), "session_1_observation: 'Odo': observation 1: must be .text, dia_id or list of them., got 'x'"),
        (observation({"Odo": [["x", "D1:1", "D1:2"]]}), "observation 1: must be "),
        (observation({"Odo": [[5, "D1:1"]]}), "observation 1: must be "),
        (observation({"Odo": [["x", 5]]}), "observation 1: a dia_id must be a text such as D1:3, got 5"),
        (observation({"Odo": [["lone \ud83d", "D1:1"]]}), "turn 'D1:1': holds half of a surrogate pair"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(change, said, tmp_path):
    path = write(tmp_path / "a.json", [altered(change)])
    with pytest.raises(DataError, match=said) as caught:
        list(open_locomo(path).read())
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON"),
        (b"{'a': 1}", "is not JSON"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 900 + b"]" * 900, "entry 1: must be an object with one conversation, got "),
        (b'{"sample_id": ' + b"1" * 5_000 + b"}", "is not JSON"),
        (b"7", "must be a JSON list of conversations, or one as an object, got 7"),
        (b"NaN", "got nan"),
        (b"[3]", "entry 1: must be an object with one conversation, got 3"),
        (b"[]", "holds no case"),
        (json.dumps([NESTED, NESTED]).encode(), "entry 2: sample_id 'conv-x' is already used"),
        (json.dumps({"sample_id": "e", "session_1": [], "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1_observation": {}}).encode(), "holds no case"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_one_message(content, said, tmp_path):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataError, match=said):
        list(open_locomo(tmp_path / "a.json").read())


def test_control_characters_stay_what_they_are(tmp_path):
    cases, _, _ = skipped(tmp_path, turn(text="bell \x07 nul \x00 [system] x"))
    assert cases[1].messages[0]["content"].startswith("bell \x07 nul \x00 [system] x\n")


def test_arguments(tmp_path):
    with pytest.raises(DataError, match="there is no LoCoMo file 'nope.json'"):
        open_foreign("locomo:nope.json", [])
    with pytest.raises(DataError, match="names no data; write locomo:FILE"):
        open_foreign("locomo:", [])
    with pytest.raises(DataError, match="a column map is not for locomo:FILE"):
        open_foreign(f"locomo:{write(tmp_path / 'a.json', [NESTED])}", ["text=x"])
    assert open_foreign("extraction", []) is None
    assert open_foreign("mine.jsonl") is None
