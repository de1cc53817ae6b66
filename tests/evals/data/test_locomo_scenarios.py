"""LoCoMo conversations as scenarios, from invented miniature files in both layouts."""

import json

import pytest

from evals.cli.main import main
from evals.data.recall_data import load_recall
from evals.errors import DataError


def turn(number, text, speaker="Oda", **more):
    return {"speaker": speaker, "dia_id": number, "text": text, **more}


TALK = {
    "speaker_a": "Oda", "speaker_b": "Kim",
    "session_2_date_time": "9:05 am on 3 June, 2024",
    "session_2": [turn("D2:1", "The kiln cracked.", "Kim"), turn("D2:2", "", img_url=["x"], blip_caption="a cracked kiln")],
    "session_1_date_time": "1:56 pm on 8 May, 2024",
    "session_1": [turn("D1:1", "I started pottery last week."), turn("D1:2", "Nice!", "Kim"), turn("D1:3", "", img_url=["x"])],
    "session_3_date_time": "1:56 pm on 9 July, 2024",
}  # fmt: skip
QUESTIONS = [
    {"question": "When did Oda start pottery?", "answer": "Early May 2024", "evidence": ["D1:1"], "category": 2},
    {"question": "How many kilns?", "answer": 1, "evidence": ["D2:1; D02:2"], "category": 1},
    {"question": "Who broke the vase?", "adversarial_answer": "Kim", "evidence": ["D1:1"], "category": 5},
    {"question": "Lost?", "answer": "yes", "evidence": ["D9:9"], "category": 4},
    {"question": "Nothing named?", "answer": "yes", "evidence": [], "category": 3},
    {"question": "No answer?", "evidence": ["D1:1"], "category": 4},
    {"question": "Odd?", "answer": "x", "evidence": ["D1:1"], "category": 9},
]


def file(path, **more):
    path.write_text(json.dumps([{"sample_id": "a-1", "conversation": TALK, "qa": QUESTIONS, **more}]))
    return f"locomo:{path}"


def test_sessions_come_in_the_order_of_their_dates_with_speakers_and_photos(tmp_path):
    data = load_recall(file(tmp_path / "few.json"), "scenario")
    (one,) = data.cases
    assert [session.date for session in one.sessions] == ["2024-05-08", "2024-06-03"]
    assert [(message["name"], message["content"]) for session in one.sessions for message in session.messages] == [
        ("Oda", "I started pottery last week."), ("Kim", "Nice!"), ("Kim", "The kiln cracked."), ("Oda", "(shares a photo: a cracked kiln)"),
    ]  # fmt: skip
    assert (one.id, one.conversation, one.split, one.owner.names) == ("locomo-a-1", "locomo-a-1", "dev", ("Oda", "Kim"))
    assert (one.final, one.retired) == ((), ())


def test_questions_keep_their_evidence_and_what_cannot_be_used_is_told(tmp_path):
    data = load_recall(file(tmp_path / "few.json"), "scenario")
    date, several, adversarial = data.cases[0].questions
    assert [(one.session, one.message, one.text) for one in date.evidence] == [(0, 0, "I started pottery last week.")]
    assert (date.kind, date.answer) == ("date", "Early May 2024")
    assert [(one.session, one.message) for one in several.evidence] == [(1, 0), (1, 1)]
    assert (several.kind, several.answer) == ("multi", "1")
    assert (adversarial.kind, adversarial.evidence) == ("unanswerable", ())
    notes = " ".join(data.notes)
    for told in (
        "1 conversations with 3 questions", "evidence that is no turn with text: 1", "a question whose evidence cannot be found: 2",
        "a question without an answer: 1", "a category other than 1 to 5: 1", "a session with a date and no turns: 1",
        "a turn with neither text nor a photo's caption: 1", "stray spaces or zeros, or of several turns in one text: 1",
    ):  # fmt: skip
        assert told in notes, told
    assert "Nobody has labelled" in data.silver


def test_the_older_layout_is_read_too(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps({**TALK, "qa": QUESTIONS}))
    (one,) = load_recall(f"locomo:{path}", "scenario").cases
    assert one.id == "locomo-conversation-1"
    assert len(one.questions) == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([{"sample_id": "a", "conversation": {"x": 1}}], "has no session_1"),
        ([{"sample_id": "a", "conversation": {**TALK, "session_1_date_time": "May"}}], 'must be a time like "1:56 pm on 8 May, 2023"'),
        ([{"sample_id": "a", "conversation": TALK, "qa": {}}], "qa must be a list"),
        ([{"sample_id": "a", "conversation": TALK, "qa": [["q"]]}], "qa 1: must be an object with question"),
        ([{"sample_id": "a", "conversation": {"session_1": [], "session_1_date_time": "1:56 pm on 8 May, 2024"}}], "no turn has text"),
        ([{"sample_id": "a", "conversation": TALK}] * 2, "sample_id 'a' is already used"),
        (["x"], "entry 1: must be an object"),
    ],
)  # fmt: skip
def test_faults_name_sample_and_field(tmp_path, content, says):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError) as raised:
        load_recall(f"locomo:{path}", "scenario")
    assert says in str(raised.value)
    assert "bad.json" in str(raised.value)


@pytest.mark.parametrize("argument", ["locomo:gone.json", "halumem:few.json"])
def test_what_cannot_be_read_as_scenarios_says_so(tmp_path, argument):
    with pytest.raises(DataError, match="no LoCoMo file|reads locomo:FILE"):
        load_recall(argument, "scenario")


def test_a_whole_conversation_is_played_by_the_command(isolated, capsys):
    argument = file(isolated / "few.json")
    rules = ["-m", "baseline/verbatim+always-add", "--matcher", "lexical"]
    assert main(["eval", "--task", "scenario", "--data", argument, *rules, "-q", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    figures = {name: figure["value"] for name, figure in told["cells"][0]["figures"].items()}
    assert (figures["balanced"], figures["recall"], figures["stale_rate"]) == (None, None, None)
    assert figures["evidence_covered"] == 1  # every sentence is kept
    assert figures["evidence_by_chance"] == 0  # "The kiln cracked" shares no two words with what May said
    assert told["cells"][0]["counts"]["evidence"] == 3
    assert any("Nobody has labelled what must be live" in notice for notice in told["notices"])


def test_every_report_tells_how_many_memories_are_live_and_repeated_and_what_is_covered_by_chance(isolated, capsys):
    """All four sentences are kept; the first of June says what that of May says.

    By chance: in the place of the one memory of May one of the three of June is drawn, of which one says the same, 1/3; in the place of
    those of June the one of May, which covers the first message and not the two others. (1/3 + 1) / 4 = 1/3.
    """
    june = ["I started with pottery last week.", "The kiln cracked.", "My brother paints boats."]
    talk = {**TALK, "session_1": TALK["session_1"][:1], "session_2": [turn(f"D2:{n}", text) for n, text in enumerate(june, 1)]}
    asked = [{"question": "What?", "answer": "pottery", "evidence": ["D1:1", "D2:1", "D2:2", "D2:3"], "category": 1}]
    data = ["--data", file(isolated / "few.json", conversation=talk, qa=asked), "--matcher", "lexical"]
    command = ["eval", "--task", "scenario", *data, "-m", "baseline/verbatim+always-add", "-q"]
    assert main([*command, "-o", "run"]) == 0
    table = capsys.readouterr().out.splitlines()
    titles = ["memories", "duplicates", "evidence", "by chance", "answers"]
    assert " ".join(titles) in " ".join(table[0].split())
    assert table[3].split()[8:12] == ["4.00", "1.00", "1.00", ".33"]  # after number, name, policy and five figures of labels
    assert main([*command, "--brief"]) == 0
    brief = capsys.readouterr().out.splitlines()
    assert " ".join(titles) in " ".join(brief[1].split())
    assert brief[3].split()[6:10] == ["4.00", "1.00", "1.00", ".33"]
    assert main(["report", "run", "-o", "run.md"]) == 0
    header, _, row = [line for line in (isolated / "run.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")][:3]
    told = {title.strip(): cell.split()[:1] for title, cell in zip(header.split("|"), row.split("|"), strict=True)}
    assert [told[title] for title in titles[:4]] == [["4.00"], ["1.00"], ["1.00"], [".33"]]
