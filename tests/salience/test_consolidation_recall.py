"""B1: facts out of a text. What is asked is an extraction under the recall prompt; only the reply is read another way."""

import asyncio

import pytest

from salience import (
    RECALL_SYSTEM_PROMPT,
    AsyncModelConsolidator,
    ExtractedMemory,
    ModelConsolidator,
    OptionError,
    Policy,
    Reply,
    Turn,
    read_recall,
    recall_policy,
    recall_requests,
)

TEXT = "[user] I'm Ines. I keep goats."
TWO = ["The user's name is Ines", "The user keeps goats"]


def read(text, finish_reason="stop", turn=TEXT):
    result = read_recall(recall_policy(), turn, [Reply(text, finish_reason)])
    return [memory.content for memory in result.memories], result.status


ITEMS = '{"content": "The user\'s name is Ines"}, {"content": "The user keeps goats"}'


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"memories": [' + ITEMS + "]}", "ok"),
        ("[" + ITEMS + "]", "ok"),
        ('{"facts": ["The user\'s name is Ines", "The user keeps goats"]}', "repaired"),
        ('["The user\'s name is Ines", "The user keeps goats"]', "repaired"),
        ("Here:\n```json\n[" + ITEMS + ",]\n```", "repaired"),
        ("<think>[{}]</think>\n" + ITEMS.replace("}, ", "}\n"), "repaired"),
        ('{"memories": [' + ITEMS + ', {"content": "The us', "truncated"),
        ("[" + ITEMS + ', {"content": ""}, 7]', "repaired"),
        ("[" + ITEMS + ', {"content": "<fact>"}]', "repaired"),
    ],
)
def test_facts_are_read_out_of_what_models_write(text, status):
    assert read(text) == (TWO, status)


@pytest.mark.parametrize(
    ("text", "finish_reason", "status"),
    [
        ('{"memories": []}', "stop", "empty"),
        ("[]", "stop", "empty"),
        ("No facts: []", "stop", "empty"),
        ("", "stop", "malformed"),
        ("The user keeps goats.", "stop", "malformed"),
        ("<think>hm", "length", "truncated"),
        ('{"memories": [{"content": "The', "length", "truncated"),
        ("[" * 300_000, "stop", "truncated"),
    ],
)
def test_nothing_and_unreadable_are_told_apart(text, finish_reason, status):
    assert read(text, finish_reason) == ([], status)


def test_a_fact_stated_twice_is_kept_once():
    result = read_recall(recall_policy(), TEXT, [Reply('["The user keeps goats", "the user keeps goats.", "The user keeps 3 goats"]')])
    assert [memory.content for memory in result.memories] == ["The user keeps goats", "The user keeps 3 goats"]
    assert [item.reason for item in result.dropped] == ["stated twice"]


def test_the_prompt_s_own_text_is_no_fact():
    echo = '["The user\'s name is Zevrin", "Write in the language of the text.", "The user keeps goats"]'
    result = read_recall(recall_policy(), TEXT, [Reply(echo)])
    assert result.memories == (ExtractedMemory("The user keeps goats"),)
    assert [item.reason for item in result.dropped] == ["the prompt's own text"] * 2
    assert read('["The user\'s name is Zevrin"]', turn="Call me Zevrin")[0] == ["The user's name is Zevrin"]
    assert read(RECALL_SYSTEM_PROMPT)[0] == []


class Completes:
    def __init__(self, *replies):
        self.replies, self.seen = list(replies), []

    def complete(self, *, system, prompt):
        self.seen.append((system, prompt))
        return self.replies.pop(0)


class CompletesAsync(Completes):
    async def complete(self, *, system, prompt):
        return super().complete(system=system, prompt=prompt)


def test_b1_extract_asks_with_the_recall_prompt_and_the_date_of_a_turn():
    client, twin = Completes('["The user keeps goats"]'), CompletesAsync('["The user keeps goats"]')
    turn = Turn(TEXT, date="2031-03-02")
    assert ModelConsolidator(client).extract(turn) == [ExtractedMemory("The user keeps goats")]
    assert asyncio.run(AsyncModelConsolidator(twin).extract(turn)) == [ExtractedMemory("The user keeps goats")]
    assert client.seen == twin.seen == [(RECALL_SYSTEM_PROMPT, f"Date: 2031-03-02\nTurn:\n{TEXT}")]


def test_a_long_text_is_split_and_calls_are_counted():
    policy = Policy("mine", "List facts.", max_turn_chars=200)
    text = "\n\n".join(f"[user] Sentence number {number} is about something else entirely." for number in range(6))
    parts = len(recall_requests(policy, text))
    assert parts > 1
    client = Completes(*['["The user keeps goats"]'] * parts)
    result = ModelConsolidator(client, recall=policy).extract_result(text)
    assert (result.memories, result.calls, len(client.seen)) == ((ExtractedMemory("The user keeps goats"),), parts, parts)
    with pytest.raises(OptionError, match=f"replies must be {parts}"):
        read_recall(policy, text, [Reply("[]")])


def test_what_is_no_text_is_refused():
    with pytest.raises(OptionError, match="text must be a string or a salience.Turn, got int"):
        ModelConsolidator(Completes()).extract(7)
    with pytest.raises(OptionError, match="ExtractedMemory.content"):
        ExtractedMemory(" ")
