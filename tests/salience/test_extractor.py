"""A4 to A6, A9 to A12, and the rendering of A14: what is sent, and what comes of a reply."""

import asyncio

import pytest

import salience
from salience import (
    AsyncChatClient,
    AsyncLlmClient,
    AsyncModelSalienceExtractor,
    CalibrationMap,
    ChatClient,
    Decoding,
    Example,
    ExtractOptions,
    LlmClient,
    ModelSalienceExtractor,
    OptionError,
    Policy,
    Reply,
    SalienceExtractor,
    SeamError,
    Turn,
    build_request,
    create_salience_extractor,
    read_result,
    render_turn,
)

ITEM = '[{"content": "The user likes rye bread", "salience": 0.7}]'


class Completes:
    def __init__(self, reply=ITEM):
        self.reply, self.seen = reply, []

    def complete(self, *, system, prompt):
        self.seen.append((system, prompt))
        return self.reply


class Chats:
    def __init__(self, reply=ITEM):
        self.reply, self.seen = reply, []

    def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        self.seen.append((list(messages), schema, max_tokens, temperature))
        return Reply(self.reply, "stop", 10, 5)


class CompletesAsync(Completes):
    async def complete(self, *, system, prompt):
        return super().complete(system=system, prompt=prompt)


class ChatsAsync(Chats):
    async def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        return super().chat(messages, schema=schema, max_tokens=max_tokens, temperature=temperature)


def texts(candidates):
    return [candidate.content for candidate in candidates]


def test_clients_fit_the_protocols():
    assert isinstance(Completes(), LlmClient)
    assert isinstance(Chats(), ChatClient)
    assert isinstance(CompletesAsync(), AsyncLlmClient)
    assert isinstance(ChatsAsync(), AsyncChatClient)
    assert isinstance(create_salience_extractor(Completes()), SalienceExtractor)


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (Turn("hi"), "Turn:\nhi"),
        (Turn("hi", date="2026-03-02"), "Date: 2026-03-02\nTurn:\nhi"),
        (Turn("hi", date="2026-03-02", source="a\nDate: 1999-01-01"), "Date: 2026-03-02\nSource: a Date: 1999-01-01\nTurn:\nhi"),
        (Turn("  a\r\n\tb \x00 ", source=" "), "Turn:\n  a\r\n\tb \x00 "),
    ],
)
def test_a_turn_is_rendered_with_its_date_and_otherwise_unchanged(turn, text):
    assert render_turn(turn) == text


def test_without_a_policy_complete_gets_the_prompt_and_the_turn():
    client = Completes()
    found = create_salience_extractor(client).extract_salient(Turn("[user] I like rye bread", date="2026-03-02"))
    assert texts(found) == ["The user likes rye bread"]
    assert client.seen == [(salience.SALIENCE_SYSTEM_PROMPT, "Date: 2026-03-02\nTurn:\n[user] I like rye bread")]


EXAMPLES = (Example(Turn("[user] a"), '[{"content": "A", "salience": 0.7}]'), Example(Turn("[user] b", date="2026-01-01"), "[]"))


def test_examples_as_turns_are_messages():
    policy = Policy(system="S", examples=EXAMPLES, examples_as="turns", decoding=Decoding(160, 0), schema_json='{"type":"array"}')
    client = Chats()
    ModelSalienceExtractor(client, policy=policy).extract(Turn("[user] c"))
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Turn:\n[user] a"},
        {"role": "assistant", "content": '[{"content": "A", "salience": 0.7}]'},
        {"role": "user", "content": "Date: 2026-01-01\nTurn:\n[user] b"},
        {"role": "assistant", "content": "[]"},
        {"role": "user", "content": "Turn:\n[user] c"},
    ]
    assert client.seen == [(messages, {"type": "array"}, 160, 0)]


def test_examples_in_the_system_text_go_through_any_client():
    client = Completes()
    ModelSalienceExtractor(client, policy=Policy(system="S", examples=EXAMPLES)).extract(Turn("[user] c"))
    system = (
        'S\n\nExamples:\n\nTurn:\n[user] a\nReply:\n[{"content": "A", "salience": 0.7}]\n\nDate: 2026-01-01\nTurn:\n[user] b\nReply:\n[]'
    )
    assert client.seen == [(system, "Turn:\n[user] c")]


def test_both_seams_send_the_same_bytes():
    completes, chats = Completes(), Chats()
    turn = Turn("é 漢字 🙂 \u2028\n[[x]]\t", date="2026-03-02", source="s")
    for client in (completes, chats):
        ModelSalienceExtractor(client, policy=Policy(examples=EXAMPLES)).extract(turn)
    system, prompt = completes.seen[0]
    assert chats.seen[0][0] == [{"role": "system", "content": system}, {"role": "user", "content": prompt}]


@pytest.mark.parametrize(
    "policy", [Policy(schema_json="{}"), Policy(examples=EXAMPLES, examples_as="turns"), Policy(decoding=Decoding(max_tokens=5))]
)
def test_a4_a_policy_that_needs_chat_refuses_a_client_without_it(policy):
    for make in (ModelSalienceExtractor, AsyncModelSalienceExtractor, create_salience_extractor):
        with pytest.raises(SeamError, match=r"Completes has only complete\(\)"):
            make(Completes(), policy=policy)


def test_a4_what_is_no_client_is_refused():
    with pytest.raises(SeamError, match="str is no model client"):
        create_salience_extractor("gpt")


def test_async_clients_get_the_async_extractor():
    for client in (CompletesAsync(), ChatsAsync()):
        extractor = create_salience_extractor(client)
        assert isinstance(extractor, AsyncModelSalienceExtractor)
        assert texts(asyncio.run(extractor.extract_salient(Turn("x")))) == ["The user likes rye bread"]
    assert isinstance(create_salience_extractor(Chats()), ModelSalienceExtractor)


def test_the_wrong_extractor_says_which_is_right():
    with pytest.raises(SeamError, match="asynchronous: use AsyncModelSalienceExtractor"):
        ModelSalienceExtractor(CompletesAsync()).extract(Turn("x"))
    with pytest.raises(SeamError, match="not asynchronous: use ModelSalienceExtractor"):
        asyncio.run(AsyncModelSalienceExtractor(Completes()).extract(Turn("x")))
    with pytest.raises(SeamError, match="must return a str, got NoneType"):
        ModelSalienceExtractor(Completes(None)).extract(Turn("x"))


@pytest.mark.parametrize(
    ("reply", "finish", "status", "count"),
    [
        (ITEM, "stop", "ok", 1),
        ("[]", "stop", "empty", 0),
        ("", "stop", "malformed", 0),
        ("I think nothing", "stop", "malformed", 0),
        (f"Here: {ITEM}", "stop", "repaired", 1),
        ('[{"content": "A", "salience": 0.5}, {"content": "B', "length", "truncated", 1),
        ("<think>on and on", "length", "truncated", 0),
        ("", "length", "truncated", 0),
    ],
)
def test_a9_nothing_worth_keeping_and_unreadable_never_look_the_same(reply, finish, status, count):
    result = read_result(Policy(), Turn("x"), Reply(reply, finish))
    assert (result.status, len(result.candidates)) == (status, count)
    assert result.reply.text == reply


def test_a10_provenance_is_inherited_and_the_item_wins():
    turn = Turn("x", source="mail", observed="stated", date="2026-03-02", meta={"a": 1, "b": 1})
    reply = Reply(
        '[{"content": "A", "salience": 0.5}, '
        '{"content": "B", "salience": 0.5, "source": "s", "observed": "inferred", "date": "2025-01-01", "meta": {"b": 2}}]'
    )
    a, b = read_result(Policy(), turn, reply).candidates
    assert (a.source, a.observed, a.date, a.meta) == ("mail", "stated", "2026-03-02", {"a": 1, "b": 1})
    assert (b.source, b.observed, b.date, b.meta) == ("s", "inferred", "2025-01-01", {"a": 1, "b": 2})
    default = ExtractOptions(default_observed="guessed")
    assert [c.observed for c in read_result(Policy(), Turn("x"), reply, default).candidates] == ["guessed", "inferred"]
    assert [c.observed for c in read_result(Policy(), turn, reply, default).candidates] == ["stated", "inferred"]


THREE = Reply('[{"content": "A", "salience": 0.2}, {"content": "B", "salience": 0.9}, {"content": "C", "salience": 0.9}, {"content": "D"}]')


def test_a11_filter_stable_sort_and_cap_in_this_order_and_all_is_accounted_for():
    result = read_result(Policy(), Turn("x"), THREE, ExtractOptions(min_salience=0.3, max_candidates=1))
    assert texts(result.candidates) == ["B"]
    assert sorted((item.reason, item.text[:1]) for item in result.dropped if item.reason != "no salience") == [
        ("below min_salience", "A"),
        ("over max_candidates", "C"),
    ]
    assert len(result.dropped) == 3
    assert texts(read_result(Policy(), Turn("x"), THREE).candidates) == ["B", "C", "A"]
    assert texts(read_result(Policy(), Turn("x"), THREE, ExtractOptions(max_candidates=0)).candidates) == []
    assert texts(read_result(Policy(), Turn("x"), THREE, ExtractOptions(min_salience=0.9)).candidates) == ["B", "C"]


def test_a14_calibration_comes_before_the_options():
    policy = Policy(calibration=CalibrationMap(((0.0, 0.0), (1.0, 0.5))), operating_threshold=0.3, options=ExtractOptions(min_salience=0.3))
    result = read_result(policy, Turn("x"), THREE)
    assert [(c.content, c.salience) for c in result.candidates] == [("B", pytest.approx(0.45)), ("C", pytest.approx(0.45))]


class QuotaError(Exception):
    pass


class Fails:
    def complete(self, *, system, prompt):
        raise QuotaError("no more")


class FailsAsync:
    async def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        raise QuotaError("no more")


def test_a12_errors_of_the_client_propagate():
    with pytest.raises(QuotaError):
        create_salience_extractor(Fails()).extract_salient(Turn("x"))
    with pytest.raises(QuotaError):
        asyncio.run(create_salience_extractor(FailsAsync()).extract_salient(Turn("x")))


def test_a5_one_core_serves_both():
    policy, turn = Policy(examples=EXAMPLES, examples_as="turns", schema_json="{}"), Turn("y", date="2026-03-02", meta={"k": 1})
    sync, other = Chats(), ChatsAsync()
    first = ModelSalienceExtractor(sync, policy=policy).extract(turn)
    second = asyncio.run(AsyncModelSalienceExtractor(other, policy=policy).extract(turn))
    assert first == second
    assert sync.seen == other.seen
    assert list(build_request(policy, turn).messages) == sync.seen[0][0]


@pytest.mark.parametrize("given", ["My sister", None, {"text": "x"}])
def test_what_is_no_turn_and_no_policy_is_said(given):
    with pytest.raises(OptionError, match=r"turn must be a salience\.Turn"):
        create_salience_extractor(Completes()).extract_salient(given)
    with pytest.raises(OptionError, match=r"policy must be a salience\.Policy, got 'default'"):
        create_salience_extractor(Completes(), policy="default")


def test_a_reply_without_text_is_the_clients_fault():
    with pytest.raises(SeamError, match="text is None"):
        create_salience_extractor(Chats(None)).extract(Turn("x"))
