"""HaluMem, LongMemEval, mem0, ChatGPT and Claude files in their true formats, and bad ones. All talk here is invented."""

from __future__ import annotations

import copy
import json

import pytest

from evals.cli.main import main
from evals.data.chats import open_chatgpt, open_claude
from evals.data.check import validate
from evals.data.files import load_dataset
from evals.data.foreign import open_foreign
from evals.data.halumem import open_halumem
from evals.data.longmemeval import open_longmemeval
from evals.data.mem0 import open_mem0
from evals.errors import DataError

POINT = {
    "index": 1, "memory_content": "Torvald keeps ferrets in the old bakery", "memory_type": "Persona Memory", "memory_source": "primary",
    "is_update": "False", "original_memories": [], "importance": 0.75, "timestamp": "Sep 04, 2025, 18:44:02",
}  # fmt: skip
HALUMEM = {
    "uuid": "user-7", "persona_info": "A baker.",
    "sessions": [
        {
            "start_time": "Sep 04, 2025, 18:42:19", "end_time": "Sep 04, 2025, 18:59:01",
            "dialogue": [
                {"role": "user", "content": "The ovens are cold, so my ferrets live in the old bakery now.", "timestamp": "t", "dialogue_turn": 0},
                {"role": "assistant", "content": "Ferrets and your three cats?", "timestamp": "t", "dialogue_turn": 0},
                {"role": "user", "content": "I left Brand & Sons, I drive for Odder Post since Monday.", "timestamp": "t", "dialogue_turn": 1},
            ],
            "memory_points": [
                POINT,
                POINT | {"index": 2, "memory_content": "Torvald drives for Odder Post", "memory_type": "Event Memory", "is_update": True,
                         "original_memories": ["Torvald works at Brand & Sons"], "importance": 1.0},
                POINT | {"index": 3, "memory_content": "Torvald has three cats", "memory_source": "interference", "importance": 0.25},
                POINT | {"index": 4, "memory_content": "torvald keeps ferrets in the OLD bakery", "importance": 0.5},
            ],
        },
        {"start_time": "Oct 01, 2025, 08:00:00", "end_time": "x", "is_generated_qa_session": True, "memory_points": [],
         "dialogue": [{"role": "user", "content": "What do I drive?", "timestamp": "t", "dialogue_turn": 0}]},
    ],
}  # fmt: skip


def write(path, content, lines=False):
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content), encoding="utf-8")
    return path


def test_a_halumem_session_is_a_case_with_its_memory_points(tmp_path):
    data = open_halumem(write(tmp_path / "h.jsonl", [HALUMEM], lines=True))
    (case,) = data.read()
    assert (case.id, case.conversation, case.date, case.split) == ("user-7-s1", "user-7", "2025-09-04", "dev")
    assert [(m.content, m.salience, m.kind, m.evidence[0].message) for m in case.memories] == [
        ("Torvald keeps ferrets in the old bakery", 0.7, "fact", 0),
        ("Torvald drives for Odder Post", 0.9, "event", 2),
    ]
    assert {(item.content, item.reason) for item in case.forbidden} == {
        ("Torvald works at Brand & Sons", "superseded"), ("Torvald has three cats", "assistant-claim"),
    }  # fmt: skip
    report = data.report()
    assert [(item.what, item.count) for item in report.skipped] == [("a session generated for questions, which has no labels", 1)]
    assert [item.count for item in report.notes] == [1]  # a memory point twice
    assert "silver" in data.silver


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda user: user.pop("uuid"), "h.jsonl:1: uuid is missing"),
        (lambda user: user.update(sessions={}), "sessions must be a list, got {}"),
        (lambda user: user["sessions"][0].update(start_time="yesterday"), "session 1: start_time: must be a time like"),
        (
            lambda user: user["sessions"][0]["dialogue"][1].update(role="bot"),
            "session 1: turn 2: role must be one of user, assistant, got 'bot'",
        ),
        (
            lambda user: user["sessions"][0].update(memory_points=[POINT | {"importance": 0.6}]),
            "importance must be one of 0.25, 0.5, 0.75, 1.0, got 0.6",
        ),
    ],
)
def test_a_bad_halumem_file_is_told_by_place_and_field(change, said, tmp_path):
    user = copy.deepcopy(HALUMEM)
    change(user)
    with pytest.raises(DataError, match="h: holds no case; the first fault: .*h.jsonl:1: ") as raised:
        list(open_halumem(write(tmp_path / "h.jsonl", [user], lines=True)).read())
    assert said in str(raised.value)


def skipped(data):
    """What a reading left out: reason to (how often, where first)."""
    return {item.what: (item.count, item.first.rsplit("/", 1)[-1]) for item in data.report().skipped}


@pytest.mark.parametrize(
    ("number", "change", "fault", "kept"),
    [
        (1, {"importance": 0.6}, "importance must be one of 0.25, 0.5, 0.75, 1.0, got 0.6", 2),
        (2, {"is_update": "yes"}, 'is_update must be "True" or "False", got \'yes\'', 1),
        (2, {"original_memories": [3]}, "original_memories must be texts, got 3", 1),
        (3, {"memory_source": "?"}, "memory_source must be one of primary, secondary, system, interference, got '?'", 2),
        (1, {"memory_type": "Mood"}, "memory_type must be one of Persona Memory", 2),
    ],
)
def test_a_bad_memory_point_is_left_out_and_named(number, change, fault, kept, tmp_path):
    user = copy.deepcopy(HALUMEM)
    user["sessions"][0]["memory_points"][number - 1].update(change)
    data = open_halumem(write(tmp_path / "h.jsonl", [user], lines=True))
    (case,) = data.read()
    assert len(case.memories) == kept
    ((reason, place),) = [(what, place) for what, (_, place) in skipped(data).items() if "memory point" in what]
    assert reason.startswith(f"a memory point that is not as it must be ({fault}")
    assert place == f"h.jsonl:1: session 1: memory point {number}"


def test_bad_lines_and_sessions_of_a_halumem_file_are_left_out_and_named(tmp_path):
    bad = copy.deepcopy(HALUMEM) | {"uuid": "user-8"}
    bad["sessions"][0]["dialogue"][1]["role"] = "bot"
    doubtful = copy.deepcopy(HALUMEM) | {"uuid": "user-9"}
    doubtful["sessions"][0]["memory_points"] = [POINT | {"importance": 0.6}]
    path = write(tmp_path / "h.jsonl", [HALUMEM, bad, doubtful, HALUMEM, {"uuid": ["x"]}], lines=True)
    path.write_text(path.read_text(encoding="utf-8") + '\n{"uuid": "cut', encoding="utf-8")
    data = open_halumem(path)
    assert [case.id for case in data.read()] == ["user-7-s1"]
    told = skipped(data)
    assert told["a session that is not as it must be (turn 2: role must be one of user, assistant, got 'bot')"] == (
        1,
        "h.jsonl:2: session 1",
    )
    assert told["a user's line that is not as it must be (uuid must be a text, got ['x'])"] == (1, "h.jsonl:5")
    assert any(
        what.startswith("a user's line that is not as it must be (is not JSON") and place == (1, "h.jsonl:6")
        for what, place in told.items()
    )
    assert told["a user who was read already"] == (1, "h.jsonl:4")
    assert any("may be no negative" in what and place == (1, "h.jsonl:3: session 1") for what, place in told.items())


def test_blank_messages_of_a_halumem_session_are_counted(tmp_path):
    user = copy.deepcopy(HALUMEM)
    user["sessions"][0]["dialogue"][1]["content"] = " "
    data = open_halumem(write(tmp_path / "h.jsonl", [user], lines=True))
    assert [len(case.messages) for case in data.read()] == [2]
    assert skipped(data)["a message without text"] == (1, "h.jsonl:1: session 1: turn 2")


def test_thousands_of_different_faults_are_told_in_a_few_lines(tmp_path):
    bad = [{"uuid": "u", "sessions": i} for i in range(1000)]
    data = open_halumem(write(tmp_path / "h.jsonl", [HALUMEM, *bad], lines=True))
    assert len(list(data.read())) == 1
    assert (len(data.report().skipped), len(data.notes())) == (1001, 23)
    assert data.notes()[-1] == "Skipped: 981 times more, for 981 other reasons."
    nothing = open_halumem(write(tmp_path / "n.jsonl", bad, lines=True))
    with pytest.raises(DataError, match="n.jsonl:1: sessions must be a list, got 0; skipped: .*; and more for 995 other reasons") as raised:
        list(nothing.read())
    assert len(str(raised.value)) < 1000


LONG = [
    {
        "question_id": "q1", "question_type": "single-session-user", "question": "Which instrument do I repair?", "answer": "The hurdy-gurdy",
        "question_date": "2023/06/02 (Fri) 10:00", "haystack_session_ids": ["a", "b"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 09:00"], "answer_session_ids": ["b"],
        "haystack_sessions": [
            [{"role": "user", "content": "Tell me a joke"}, {"role": "assistant", "content": "No."}],
            [
                {"role": "user", "content": "Good morning"},
                {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "I repair hurdy-gurdies for a living", "has_answer": True},
                {"role": "assistant", "content": "Lovely", "has_answer": False},
            ],
        ],
    },
    {
        "question_id": "q2_abs", "question_type": "x", "question": "What is my cat called?", "question_date": "x",
        "answer": "The information provided is not enough. You did not mention a cat.",
        "haystack_session_ids": ["c_abs_1"], "haystack_dates": ["2023/05/20 (Sat) 02:21"], "answer_session_ids": ["c_abs_1"],
        "haystack_sessions": [[{"role": "user", "content": "My dog is called Grim", "has_answer": True}]],
    },
    {
        "question_id": "q3", "question_type": "x", "question": "What is my cat called?", "answer": 3, "question_date": "x",
        "haystack_session_ids": [], "haystack_dates": [], "haystack_sessions": [], "answer_session_ids": [],
    },
]  # fmt: skip


def test_longmemeval_turns_of_answer_sessions_are_cases(tmp_path):
    data = open_longmemeval(write(tmp_path / "l.json", LONG))
    first, second = data.read()
    assert (first.id, first.date, first.memories, first.context) == ("q1-b-1", "2023-05-21", (), ())
    assert second.id == "q1-b-3"
    assert [message["content"] for message in second.context] == ["Good morning", "Hello"]
    assert second.memories[0].content == "I repair hurdy-gurdies for a living"
    assert second.memories[0].paraphrases == ("Which instrument do I repair? The hurdy-gurdy",)
    assert {item.what: item.count for item in data.report().skipped} == {
        "a filler session of the haystack, in which nothing is labelled": 1, "a question without an answer session": 1,
        "an abstention question, which has nothing to be remembered for it": 1,
    }  # fmt: skip


def test_a_file_of_abstention_questions_alone_gives_no_case(tmp_path):
    with pytest.raises(DataError, match="l: holds no case; skipped: an abstention question"):
        list(open_longmemeval(write(tmp_path / "l.json", LONG[1:2])).read())


def test_a_session_or_question_that_comes_again_is_read_once(tmp_path):
    entry = copy.deepcopy(LONG[0])
    for name in ("haystack_session_ids", "haystack_dates", "haystack_sessions"):
        entry[name].append(entry[name][1])
    data = open_longmemeval(write(tmp_path / "l.json", [entry, entry]))
    assert [case.id for case in data.read()] == ["q1-b-1", "q1-b-3"]
    assert skipped(data)["a session that was read already"] == (1, "l.json: question 'q1': session 'b'")
    assert skipped(data)["a question that was read already"] == (1, "l.json: question 'q1'")


def test_bad_sessions_and_questions_of_longmemeval_are_left_out_and_named(tmp_path):
    bad = [copy.deepcopy(LONG[0]) | {"question_id": f"b{i}"} for i in range(3)]
    bad[0]["haystack_dates"] = []
    bad[1]["haystack_sessions"][1][1]["role"] = "bot"
    bad[2]["haystack_session_ids"][0] = ["a"]
    data = open_longmemeval(write(tmp_path / "l.json", [*bad, 7, {"question_id": []}, LONG[0]]))
    assert [case.id for case in data.read()] == ["b2-b-1", "b2-b-3", "q1-b-1", "q1-b-3"]
    told = {what: place for what, (_, place) in skipped(data).items() if "not as it must be" in what}
    assert told == {
        "a question that is not as it must be (haystack_session_ids, haystack_dates and haystack_sessions must be of one length, got 2, 0, 2)":
            "l.json: question 'b0'",
        "a session that is not as it must be (turn 2: role must be one of user, assistant, got 'bot')": "l.json: question 'b1': session 'b'",
        "a session that is not as it must be (its id in haystack_session_ids must be a text or a number, got ['a'])":
            "l.json: question 'b2': session ['a']",
        "a question that is not as it must be (must be an object, got 7)": "l.json: entry 4",
        "a question that is not as it must be (question_id must be a text, got [])": "l.json: entry 5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: entry.update(haystack_dates=[]), "must be of one length, got 2, 0, 2"),
        (lambda entry: entry["haystack_dates"].__setitem__(1, "May 2023"), "session 'b': date: must be a time like"),
        (lambda entry: entry["haystack_sessions"][1][2].update(has_answer="yes"), "turn 3: has_answer must be true or false, got 'yes'"),
        (lambda entry: entry["haystack_sessions"].__setitem__(1, "talk"), "must be a list of turns, got 'talk'"),
        (lambda entry: entry.update(answer=None), "answer must be a text or a number, got None"),
    ],
)
def test_a_bad_longmemeval_file_is_told_by_place_and_field(change, said, tmp_path):
    entries = copy.deepcopy(LONG)
    change(entries[0])
    with pytest.raises(DataError) as raised:
        list(open_longmemeval(write(tmp_path / "l.json", entries)).read())
    assert f"l: holds no case; the first fault: {tmp_path / 'l.json'}: question 'q1': " in str(raised.value)
    assert said in str(raised.value)


TALK = [{"role": "user", "content": "I moved from Tromsø to Bodø"}, {"role": "assistant", "content": "Noted"}]
MEM0 = [
    {"id": "h1", "memory_id": "m1", "input": TALK, "old_memory": "Lives in Tromsø", "new_memory": "Lives in Bodø", "user_id": "siw",
     "event": "UPDATE", "metadata": None, "created_at": "2025-03-02T10:15:00.123456-07:00", "updated_at": "x"},
    {"id": "h2", "memory_id": "m2", "input": TALK, "old_memory": None, "new_memory": "Moved recently", "user_id": "siw", "event": "ADD",
     "created_at": "2025-03-02T10:15:01Z"},
    {"id": "h3", "memory_id": "m3", "input": [{"role": "user", "content": "No more boat"}], "old_memory": "Owns a boat", "new_memory": None,
     "user_id": "siw", "event": "DELETE", "created_at": None},
    {"id": "h4", "memory_id": "m3", "input": [{"role": "user", "content": " "}], "old_memory": None, "new_memory": None, "event": "NONE"},
]  # fmt: skip


@pytest.mark.parametrize("content", [MEM0, {"results": MEM0}, {"memories": MEM0}])
def test_mem0_history_entries_with_the_same_messages_are_one_case(content, tmp_path):
    data = open_mem0(write(tmp_path / "m.json", content))
    moved, sold = data.read()
    assert [m.content for m in moved.memories] == ["Lives in Bodø", "Moved recently"]
    assert [(item.content, item.reason) for item in moved.forbidden] == [("Lives in Tromsø", "superseded")]
    assert (moved.conversation, moved.date) == ("siw", "2025-03-02")
    assert (sold.memories, sold.forbidden[0].content, sold.date) == ((), "Owns a boat", None)
    assert [item.what for item in data.report().skipped] == ["an entry whose messages have no text"]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([MEM0[0] | {"new_memory": " "}], "entry 1: new_memory is empty"),
        ([MEM0[0] | {"user_id": " "}], "entry 1: conversation: "),
        ([7], "entry 1: must be an object, got 7"),
        ([MEM0[0] | {"event": "MERGE"}], "event must be one of ADD, UPDATE, DELETE, NONE, got 'MERGE'"),
        ([MEM0[0] | {"created_at": "soon"}], "created_at: must be a datetime such as"),
        ([MEM0[0] | {"input": "talk"}], "entry 1: input must be a list, got 'talk'"),
        ([MEM0[0] | {"input": [{"role": "narrator", "content": "x"}]}], "role of an input must be one of"),
        ("talk", "must be a JSON list of history entries, got 'talk'"),
    ],
)
def test_a_bad_mem0_file_is_told_by_place_and_field(entries, said, tmp_path):
    with pytest.raises(DataError) as raised:
        list(open_mem0(write(tmp_path / "m.json", entries)).read())
    assert said in str(raised.value)


GET_ALL = {"id": "m1", "memory": "Lives in Bodø", "hash": "x", "metadata": None, "created_at": "2025-03-02T10:15:00Z", "user_id": "siw"}
OPEN_SOURCE = {
    "id": "h", "memory_id": "m", "old_memory": None, "new_memory": "Lives in Bodø", "event": "ADD", "created_at": "2025-03-02T10:15:00Z",
    "is_deleted": False, "actor_id": None, "role": "user",
}  # fmt: skip


def test_mem0_entries_that_cannot_be_read_are_left_out_and_named(tmp_path):
    blank = MEM0[1] | {"input": [*TALK, {"role": "user", "content": ""}]}
    data = open_mem0(write(tmp_path / "m.json", [GET_ALL, OPEN_SOURCE, MEM0[0] | {"event": "MERGE"}, MEM0[0] | {"input": None}, blank]))
    (case,) = data.read()
    assert [memory.content for memory in case.memories] == ["Moved recently"]
    assert skipped(data) == {
        "a memory without the messages that it came from (input)": (3, "m.json: entry 1"),
        "an entry that is not as it must be (event must be one of ADD, UPDATE, DELETE, NONE, got 'MERGE')": (1, "m.json: entry 3"),
        "a message without text": (1, "m.json: entry 5"),
    }


@pytest.mark.parametrize("content", [{"results": [GET_ALL]}, {"memories": [GET_ALL]}, [OPEN_SOURCE], {"preferences": ["short answers"]}])
def test_mem0_data_that_holds_no_conversation_is_told_what_is_needed(content, tmp_path):
    with pytest.raises(DataError) as raised:
        list(open_mem0(write(tmp_path / "m.json", content)).read())
    assert "skipped: a memory without the messages that it came from (input) (1)" in str(raised.value)
    assert "needed: the history of each memory from mem0's platform, whose entries have input (the messages)" in str(raised.value)


def node(name, parent, children, message):
    return {name: {"id": name, "parent": parent, "children": children, "message": message}}


def said(role, *parts, kind="text", **more):
    return {
        "author": {"role": role},
        "create_time": 1741000000.5,
        "content": {"content_type": kind, "parts": list(parts)},
        "metadata": {},
    } | more


CHATGPT = [
    {
        "title": "Ferrets", "create_time": 1741000000.0, "conversation_id": "c-1", "current_node": "n5",
        "mapping": {
            **node("root", None, ["n1"], None),
            **node("n1", "root", ["n2"], said("system", "", metadata={"is_visually_hidden_from_conversation": True})),
            **node("n2", "n1", ["n3", "n4"], said("user", "My ferret is called Ottar", {"content_type": "image_asset_pointer"}, kind="multimodal_text")),
            **node("n3", "n2", [], said("assistant", "An old answer")),
            **node("n4", "n2", ["n5"], said("assistant", "A new answer")),
            **node("n5", "n4", [], said("user", "Ich wohne seit gestern in Görlitz und die Wohnung ist schön")),
        },
    },
    {"title": "Empty", "id": "c-2", "mapping": {**node("root", None, [], None)}},
]  # fmt: skip


def test_chatgpt_reads_the_branch_that_was_open_last(tmp_path):
    data = open_chatgpt(write(tmp_path / "conversations.json", CHATGPT))
    first, second = data.read()
    assert (first.id, first.tags, first.date, first.labelled, first.negative) == ("c-1-1", ("unlabelled",), "2025-03-03", False, False)
    assert first.messages[0]["content"] == "My ferret is called Ottar"
    assert second.language == "de"
    assert [message["content"] for message in second.context] == ["My ferret is called Ottar", "A new answer"]
    report = data.report()
    assert {item.what: item.count for item in report.skipped} == {
        "a picture, sound or file in a message": 1,
        "a hidden message, or one of the system or a tool": 1,
        "a conversation in which the user says nothing": 1,
    }
    assert [item.what for item in report.notes] == ["a conversation with other branches, of which the one open last was read"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda talk: talk.update(current_node="nx"), "mapping: node 'nx' is missing"),
        (lambda talk: talk["mapping"]["root"].update(parent="n5"), "is its own ancestor"),
        (lambda talk: talk["mapping"]["n5"].update(message={"author": {"role": "user"}}), "node 'n5': content is missing"),
        (lambda talk: talk["mapping"]["n5"]["message"].update(create_time="now"), "create_time must be a number, got 'now'"),
        (lambda talk: talk["mapping"]["n5"]["message"].update(create_time=1e300), "create_time must be seconds since 1970"),
        (lambda talk: talk.pop("mapping"), "conversation 1: mapping is missing"),
    ],
)
def test_a_bad_chatgpt_file_is_told_by_place_and_field(change, message, tmp_path):
    talks = copy.deepcopy(CHATGPT)
    change(talks[0])
    with pytest.raises(DataError) as raised:
        list(open_chatgpt(write(tmp_path / "conversations.json", talks)).read())
    assert message in str(raised.value)


def test_one_bad_conversation_of_an_export_is_left_out_and_named(tmp_path):
    talks = copy.deepcopy(CHATGPT)
    talks[1].pop("mapping")
    data = open_chatgpt(write(tmp_path / "conversations.json", [*talks, 7]))
    assert [case.id for case in data.read()] == ["c-1-1", "c-1-3"]
    left_out = {what: place for what, (_, place) in skipped(data).items() if "not as it must be" in what}
    assert left_out == {
        "a conversation that is not as it must be (mapping is missing)": "conversations.json: conversation 2",
        "a conversation that is not as it must be (must be an object, got 7)": "conversations.json: conversation 3",
    }


def test_what_the_user_spoke_is_text_and_messages_without_text_are_counted(tmp_path):
    talk = {
        "id": "v", "current_node": "n3",
        "mapping": {
            **node("n1", None, ["n2"], said("user", {"content_type": "audio_transcription", "text": "I am allergic to nuts", "direction": "in"},
                                            {"content_type": "real_time_user_audio_video_asset_pointer"}, kind="multimodal_text")),
            **node("n2", "n1", ["n3"], said("assistant", "")),
            **node("n3", "n2", [], said("user", {"content_type": "image_asset_pointer"}, kind="multimodal_text")),
        },
    }  # fmt: skip
    data = open_chatgpt(write(tmp_path / "c.json", [talk]))
    assert [case.messages[0]["content"] for case in data.read()] == ["I am allergic to nuts"]
    assert skipped(data) == {
        "a picture, sound or file in a message": (2, "c.json: conversation 1: node 'n1'"),
        "a message without text": (2, "c.json: conversation 1: node 'n2'"),
    }


def turn(name, parent, sender, text, **more):
    return {"uuid": name, "parent_message_uuid": parent, "sender": sender, "text": text, "created_at": "2025-05-06T07:08:09.123456Z",
            "content": [{"type": "text", "text": text}], "attachments": [], "files": []} | more  # fmt: skip


CLAUDE = [
    {
        "uuid": "t-1", "name": "Roof", "created_at": "2025-05-06T07:08:00Z", "account": {"uuid": "a"},
        "chat_messages": [
            turn("1", "0", "human", "The roof leaks", attachments=[{"file_name": "bill.txt", "extracted_content": "Slater: 900 kr"}]),
            turn("2", "1", "assistant", "A wrong turn"),
            turn("3", "1", "assistant", "Call the slater", content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Call the slater"}]),
            turn("4", "3", "human", "He comes on Friday", files=[{"file_name": "a.png"}]),
        ],
    },
]  # fmt: skip


def test_claude_reads_attached_text_and_the_branch_that_was_open_last(tmp_path):
    data = open_claude(write(tmp_path / "conversations.json", CLAUDE))
    first, second = data.read()
    assert first.messages[0]["content"] == "The roof leaks\n\nSlater: 900 kr"
    assert [message["content"] for message in second.context] == ["The roof leaks\n\nSlater: 900 kr", "Call the slater"]
    assert (second.id, second.date) == ("t-1-3", "2025-05-06")
    assert {item.what for item in data.report().skipped} == {
        "a part of a message that is no text (thinking)",
        "a picture, sound or file in a message",
    }


def test_a_claude_export_without_parents_is_read_in_its_order(tmp_path):
    talk = copy.deepcopy(CLAUDE)
    for message in talk[0]["chat_messages"]:
        del message["parent_message_uuid"]
    assert len(list(open_claude(write(tmp_path / "c.json", talk)).read())[1].context) == 3


def test_blank_messages_of_a_claude_conversation_are_counted(tmp_path):
    talk = copy.deepcopy(CLAUDE)
    talk[0]["chat_messages"][2] = turn("3", "1", "assistant", " ")
    data = open_claude(write(tmp_path / "c.json", talk))
    assert len(list(data.read())) == 2
    assert skipped(data)["a message without text"] == (1, "c.json: conversation 1: message 3")


@pytest.mark.parametrize(("open_it", "talks"), [(open_chatgpt, CHATGPT[:1]), (open_claude, CLAUDE)])
def test_a_conversation_that_comes_again_is_left_out_and_named(open_it, talks, tmp_path):
    once = list(open_it(write(tmp_path / "one.json", talks)).read())
    broken = {"id": "c-1", "uuid": "t-1"}
    data = open_it(write(tmp_path / "two.json", [broken, *talks, *talks]))
    assert list(data.read()) == once  # the first of that id cannot be read, so the next is
    assert skipped(data)["a conversation that was read already"] == (1, "two.json: conversation 3")


HALF = "nice \ud83d day"


def with_half(kind):
    """A file of a format in which every text holds half of a character, and how it is written."""
    if kind == "chatgpt":
        return [{"id": HALF, "mapping": node("n", None, [], said("user", HALF))}], False
    if kind == "claude":
        return [{"uuid": HALF, "chat_messages": [turn("1", "0", "human", HALF, attachments=[{"extracted_content": HALF}])]}], False
    if kind == "mem0":
        return [
            MEM0[0] | {"input": [{"role": "user", "content": HALF}], "old_memory": "was " + HALF, "new_memory": HALF, "user_id": HALF}
        ], False
    if kind == "longmemeval":
        entry = copy.deepcopy(LONG[0]) | {"question_id": HALF, "question": HALF, "answer": HALF, "answer_session_ids": [HALF]}
        entry["haystack_session_ids"][1] = entry["haystack_sessions"][1][2]["content"] = HALF
        return [entry], False
    user = copy.deepcopy(HALUMEM) | {"uuid": HALF}
    user["sessions"][0]["dialogue"][0]["content"] = HALF
    user["sessions"][0]["memory_points"][0]["memory_content"] = HALF
    user["sessions"][0]["memory_points"][1]["original_memories"] = ["was " + HALF]
    return [user], True


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "mem0", "longmemeval", "halumem"])
def test_half_of_a_character_is_replaced_and_noted(kind, tmp_path, capsys):
    content, lines = with_half(kind)
    path, target = write(tmp_path / "f.json", content, lines), tmp_path / "out.jsonl"
    assert main(["data", "convert", f"{kind}:{path}", "-o", str(target)]) == 0
    assert "nice \N{REPLACEMENT CHARACTER} day" in target.read_text(encoding="utf-8")
    assert validate(str(target))[0] == []
    assert "Note: a message with half of a character, written as U+FFFD: 1 times, first at" in capsys.readouterr().err


def test_an_odd_kind_of_message_is_told_in_a_reason_that_can_be_written(tmp_path):
    talk = copy.deepcopy(CHATGPT[:1])
    talk[0]["mapping"]["n4"]["message"]["content"]["content_type"] = "\ud83d" * 500
    data = open_chatgpt(write(tmp_path / "c.json", talk))
    assert len(list(data.read())) == 2
    assert all(len(line.encode("utf-8")) < 300 for line in data.notes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda talk: talk["chat_messages"][1].update(uuid=["2"]), "conversation 1: message 2: uuid must be a text, got ['2']"),
        (lambda talk: talk["chat_messages"][3].update(parent_message_uuid={}), "message 4: parent_message_uuid must be a text, got {}"),
        (lambda talk: talk["chat_messages"].append("hi"), "message 5: must be an object, got 'hi'"),
        (lambda talk: talk["chat_messages"][0].update(sender="bot"), "message 1: sender must be one of human, user, assistant, got 'bot'"),
        (lambda talk: talk["chat_messages"][0].update(created_at="now"), "message 1: created_at: must be a datetime"),
        (lambda talk: talk.pop("chat_messages"), "conversation 1: chat_messages is missing"),
        (lambda talk: talk["chat_messages"][0].update(content=[{"type": 3}]), "type must be a text, got 3"),
    ],
)
def test_a_bad_claude_file_is_told_by_place_and_field(change, message, tmp_path):
    talks = copy.deepcopy(CLAUDE)
    change(talks[0])
    with pytest.raises(DataError) as raised:
        list(open_claude(write(tmp_path / "c.json", talks)).read())
    assert message in str(raised.value)


def test_convert_writes_valid_cases_and_says_what_was_left_out(tmp_path, capsys):
    write(tmp_path / "h.jsonl", [HALUMEM], lines=True)
    target = tmp_path / "out.jsonl"
    words = ["data", "convert", f"halumem:{tmp_path / 'h.jsonl'}", "-o", str(target)]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "out.jsonl: 1 cases" in told.out
    assert "Skipped: a session generated for questions, which has no labels: 1 times" in told.err
    assert "silver" in told.err
    assert validate(str(target)) == ([], 1)
    assert main(words) == 2
    assert "never overwritten" in capsys.readouterr().err


def test_unlabelled_cases_are_converted_and_not_scored(tmp_path, capsys):
    write(tmp_path / "c.json", CLAUDE)
    target = tmp_path / "mine.jsonl"
    assert main(["data", "convert", f"claude:{tmp_path / 'c.json'}", "-o", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unlabelled"] == 2
    assert main(["eval", "--data", str(target), "-m", "baseline/rules", "--split", "dev"]) == 2
    assert "all 2 cases carry the tag 'unlabelled'" in capsys.readouterr().err
    assert main(["data", "stats", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["negatives"] == 0


def test_a_format_that_is_not_known_or_names_no_file_is_refused(tmp_path, capsys):
    assert main(["data", "convert", "whatsapp:x", "-o", str(tmp_path / "o")]) == 2
    assert "write FORMAT:FILE with one of locomo, halumem" in capsys.readouterr().err
    for kind in ("halumem", "longmemeval", "mem0", "chatgpt", "claude"):
        with pytest.raises(DataError, match=f"names no data; write {kind}:FILE"):
            open_foreign(f"{kind}:")
        with pytest.raises(DataError, match="there is no"):
            open_foreign(f"{kind}:{tmp_path / 'none'}")


def test_a_message_to_a_tool_is_left_out_and_named(tmp_path):
    talks = copy.deepcopy(CHATGPT)
    talks[0]["mapping"]["n4"]["message"]["recipient"] = "bio"
    data = open_chatgpt(write(tmp_path / "conversations.json", talks))
    assert [message["content"] for message in list(data.read())[1].context] == ["My ferret is called Ottar"]
    assert "a message to a tool, which the person did not see" in {item.what for item in data.report().skipped}


def test_silver_labels_stay_silver_when_they_are_converted(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "h.jsonl", [HALUMEM], lines=True)
    assert main(["data", "convert", "halumem:h.jsonl", "-o", "mine.jsonl"]) == 0
    assert "every case carries the tag 'silver'" in capsys.readouterr().err
    assert main(["eval", "-m", "baseline/silent", "--data", "mine.jsonl", "--split", "all", "--matcher", "lexical", "-q"]) == 0
    assert "Silver labels: " in capsys.readouterr().out
    text = (tmp_path / "mine.jsonl").read_text(encoding="utf-8")
    (tmp_path / "mine.jsonl").write_text(text.replace('"silver"', '"checked"'), encoding="utf-8")
    assert load_dataset("mine.jsonl").silver == ""


def test_an_update_of_mem0_that_only_says_more_leaves_the_old_memory_true(tmp_path):
    entry = {
        "id": "1", "memory_id": "m", "user_id": "u", "event": "UPDATE", "old_memory": "Loves pizza", "new_memory": "Loves pizza with cheese",
        "input": [{"role": "user", "content": "With extra cheese, I love pizza."}],
    }  # fmt: skip
    (case,) = open_mem0(write(tmp_path / "m.json", [entry])).read()
    assert case.forbidden == ()
    (case,) = open_mem0(write(tmp_path / "n.json", [entry | {"new_memory": "Hates pizza"}])).read()
    assert [item.content for item in case.forbidden] == ["Loves pizza"]


def test_of_a_file_that_is_labelled_in_part_the_labelled_cases_are_scored(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "c.json", CHATGPT)
    assert main(["data", "convert", "chatgpt:c.json", "-o", "mine.jsonl"]) == 0
    text = (tmp_path / "mine.jsonl").read_text(encoding="utf-8")
    (tmp_path / "mine.jsonl").write_text(text.replace('"unlabelled"', '"done"', 1), encoding="utf-8")
    capsys.readouterr()
    words = ["eval", "-m", "baseline/silent", "--data", "mine.jsonl", "--matcher", "lexical", "-q", "--json", "-o", "run"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["cells"][0]["counts"]["cases"] == 1
    assert "1 of 2 cases carry the tag 'unlabelled' and are left out." in report["notices"]
    assert main(["score", "run", "--matcher", "lexical", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notices"] == report["notices"]
