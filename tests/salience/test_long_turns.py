"""A13, putting together: what is asked about a long turn, and what becomes of the replies to its parts."""

import asyncio
import itertools
import json

import pytest

import salience
from salience import (
    CalibrationMap,
    Candidate,
    Decoding,
    ExtractionResult,
    ExtractOptions,
    OptionError,
    Policy,
    Reply,
    Turn,
    build_request,
    build_requests,
    create_salience_extractor,
    read_result,
    read_results,
    split_turn,
)
from salience.merging import merge_candidates, merge_replies, merge_status, statement_key

A, B, C = ("a" * 9 + " ") * 18, ("b" * 9 + " ") * 18, ("c" * 9 + " ") * 18
LONG = Turn.from_messages(
    [{"role": "user", "content": text.strip()} for text in (A, B, C)], source="mail", date="2026-03-02", meta={"t": 1}
)
SPLITS = Policy(system="S", max_turn_chars=200)


def test_the_long_turn_has_three_parts():
    assert [part.text for part in split_turn(LONG, 200)] == [f"[user] {text.strip()}" for text in (A, B, C)]


def items(*pairs, **more):
    return json.dumps([{"content": content, "salience": salience, **more} for content, salience in pairs], ensure_ascii=False)


def replies(*texts):
    return [Reply(text, "stop", 10, 5) for text in texts]


def pairs(result):
    return [(candidate.content, candidate.salience) for candidate in result.candidates]


# What is asked


def test_a_turn_that_is_not_split_is_one_request():
    for policy in (Policy(), Policy(max_turn_chars=len(LONG.text))):
        assert build_requests(policy, LONG) == (build_request(policy, LONG),)


def test_each_part_is_asked_about_on_its_own_under_the_whole_policy():
    policy = Policy(system="S", max_turn_chars=200, schema_json='{"type":"array"}', decoding=Decoding(50, 0))
    asked = build_requests(policy, LONG)
    assert asked == tuple(build_request(policy, part) for part in split_turn(LONG, 200))
    assert [request.messages[-1]["content"] for request in asked] == [
        f"Date: 2026-03-02\nSource: mail\nTurn:\n[user] {text.strip()}" for text in (A, B, C)
    ]
    assert build_request(policy, LONG).messages[-1]["content"].endswith(C.strip())


@pytest.mark.parametrize("policy", [Policy(), SPLITS])
def test_what_is_no_turn_is_said(policy):
    with pytest.raises(OptionError, match=r"turn must be a salience\.Turn, got str"):
        build_requests(policy, "text")


# What comes of one reply, and of a wrong number of them


@pytest.mark.parametrize("text", ["[]", "", items(("X", 0.5), ("X", 0.5)), f"Here: {items(('X', 0.1), ('Y', 0.9))}"])
@pytest.mark.parametrize("options", [None, ExtractOptions(min_salience=0.4, max_candidates=1)])
def test_one_reply_is_read_as_ever(text, options):
    policy, reply = Policy(max_turn_chars=10_000), Reply(text, "length")
    result = read_results(policy, LONG, [reply], options)
    assert result == read_result(policy, LONG, reply, options)
    assert result.parts == ()


@pytest.mark.parametrize(
    ("policy", "wanted", "given"), [(SPLITS, 3, 2), (SPLITS, 3, 4), (SPLITS, 3, 0), (Policy(), 1, 3), (Policy(), 1, 0)]
)
def test_a_wrong_number_of_replies_is_named(policy, wanted, given):
    with pytest.raises(OptionError, match=f"replies must be {wanted}, one for each .*, got {given}"):
        read_results(policy, LONG, replies(*["[]"] * given))


# What comes of many


def test_parts_are_put_together():
    given = replies(items(("The user sails", 0.5)), items(("Tove is a nurse", 0.9), ("The user has a cat", 0.5)), "[]")
    result = read_results(SPLITS, LONG, given)
    assert pairs(result) == [("Tove is a nurse", 0.9), ("The user sails", 0.5), ("The user has a cat", 0.5)]
    assert (result.status, result.dropped) == ("ok", ())
    assert result.reply == Reply("\n\n".join(reply.text for reply in given), "stop", 30, 15)
    assert [part.reply for part in result.parts] == given
    assert [part.status for part in result.parts] == ["ok", "ok", "empty"]
    assert [part.parts for part in result.parts] == [(), (), ()]
    assert {(one.source, one.date, one.meta["t"]) for one in result.candidates} == {("mail", "2026-03-02", 1)}


def test_the_highest_of_duplicates_is_kept_with_the_tags_and_meta_of_all():
    given = replies(
        items(("The user sails.", 0.5), tags=["sport", "sea"], meta={"a": 1, "b": 1}),
        items(("the user  sails", 0.8), tags=["sea", "boat"], meta={"b": 2, "c": 2}, observed="inferred"),
        items(("User sails!", 0.8), tags=["x"]),
    )
    result = read_results(SPLITS, LONG, given)
    (only,) = result.candidates
    assert (only.content, only.salience, only.observed) == ("the user  sails", 0.8, "inferred")
    assert only.tags == ("sport", "sea", "boat", "x")
    assert only.meta == {"t": 1, "a": 1, "b": 1, "c": 2}
    assert [(item.reason, item.text) for item in result.dropped] == [
        ("duplicate of another part", "The user sails."),
        ("duplicate of another part", "User sails!"),
    ]


def test_a_repetition_within_a_part_is_told_apart():
    given = replies(items(("X", 0.5), ("X.", 0.4)), items(("X", 0.3)), "[]")
    result = read_results(SPLITS, LONG, given)
    assert pairs(result) == [("X", 0.5)]
    assert [item.reason for item in result.dropped] == ["duplicate within a part", "duplicate of another part"]


def test_options_apply_once_and_to_the_whole():
    given = replies(items(("A", 0.9), ("B", 0.8), ("C", 0.2)), items(("D", 0.85), ("B", 0.95)), items(("E", 0.3)))
    result = read_results(SPLITS, LONG, given, ExtractOptions(min_salience=0.3, max_candidates=3))
    assert pairs(result) == [("B", 0.95), ("A", 0.9), ("D", 0.85)]
    assert [(item.reason, item.text) for item in result.dropped] == [
        ("duplicate of another part", "B"),
        ("below min_salience", "C"),
        ("over max_candidates", "E"),
    ]
    assert [len(part.candidates) for part in result.parts] == [3, 2, 1]
    assert pairs(read_results(SPLITS, LONG, given, ExtractOptions(max_candidates=0))) == []


def test_what_one_part_puts_below_min_salience_another_may_hold_up():
    given = replies(items(("A", 0.1)), items(("A", 0.6)), "[]")
    result = read_results(SPLITS, LONG, given, ExtractOptions(min_salience=0.5))
    assert pairs(result) == [("A", 0.6)]


def test_options_of_the_policy_and_the_default_observed_count():
    policy = Policy(max_turn_chars=200, options=ExtractOptions(min_salience=0.5, default_observed="stated"))
    result = read_results(policy, LONG, replies(items(("A", 0.4)), items(("B", 0.6)), "[]"))
    assert [(one.content, one.observed) for one in result.candidates] == [("B", "stated")]
    assert [one.observed for part in result.parts for one in part.candidates] == ["stated", "stated"]


def test_each_candidate_is_calibrated_once():
    policy = Policy(max_turn_chars=200, calibration=CalibrationMap(((0.0, 0.0), (1.0, 0.5))), operating_threshold=0.3)
    result = read_results(policy, LONG, replies(items(("A", 0.8)), items(("A", 0.4)), items(("B", 1.0))))
    assert pairs(result) == [("B", 0.5), ("A", 0.4)]


def test_items_that_could_not_be_read_stay_accounted_for():
    given = replies('[{"content": "A", "salience": 0.5}, {"content": "B"}]', "[]", items(("<fact>", 0.5)))
    assert [item.reason for item in read_results(SPLITS, LONG, given).dropped] == ["no salience", "placeholder"]


# Which are duplicates

SAME = [
    ("The user likes rye bread", "the user likes rye bread."),
    ("The user likes rye bread", "User likes  rye bread!"),
    ("The user likes rye bread", "\u201cThe user likes rye bread\u201d"),
    ("The user’s sister is Tove", "The user's sister is Tove"),
    ("Tove is a nurse", "Tove is nurse"),
    ("The user lives in the Hague", "The user lives in The Hague"),
    ("The user has an aunt, Anna", "The user has aunt Anna"),
    ("Zoe\u0308 is the user's cat", "Zo\u00eb is the user's cat"),
    ("The user pays ５ euros", "The user pays 5 euros"),
    ("The user has a \ufb01ne dog", "The user has a fine dog"),
    ("It was \u22125 degrees", "It was -5 degrees"),
    ("用户住在杭州。", "用户住在杭州"),
    ("उपयोगकर्ता पुणे में रहता है।", "उपयोगकर्ता पुणे में रहता है"),
    ("¿Le gusta el té?", "Le gusta el té?"),
    ("STRASSE UND HOF", "Strasse und Hof"),
    ("ΟΔΟΣ", "οδος"),
    ("ｶﾞﾗｽ", "ガラス"),
    ("The user is co\u00adeliac", "The user is coeliac"),
]
DIFFERENT = [
    # numbers
    ("The user has 2 dogs", "The user has 3 dogs"),
    ("The user drinks 1.5 l", "The user drinks 15 l"),
    ("The dose is .5 mg", "The dose is 5 mg"),
    ("The dose is 1,5 mg", "The dose is 15 mg"),
    ("The user gets up at 6:30", "The user gets up at 630"),
    ("It was -5 degrees", "It was 5 degrees"),
    ("The room has 10² m", "The room has 102 m"),
    ("The dose is 1½ pills", "The dose is 11⁄2 pills"),
    ("The user is 5' tall", 'The user is 5" tall'),
    ("The user pays 5%", "The user pays 5"),
    ("The user pays $5", "The user pays €5"),
    ("The user has two dogs", "The user has 2 dogs"),
    # negation
    ("The user likes tea", "The user does not like tea"),
    ("The user is allergic to latex", "The user is not allergic to latex"),
    ("The user can sail", "The user can't sail"),
    ("The user eats no pork", "The user eats pork"),
    ("Der Nutzer isst kein Fleisch", "Der Nutzer isst ein Fleisch"),
    ("用户不喜欢茶", "用户喜欢茶"),
    ("The user has a few friends", "The user has few friends"),
    ("The user has a little time", "The user has little time"),
    # names and other words
    ("Tove lives in Oslo", "Tora lives in Oslo"),
    ("The user takes vitamin A daily", "The user takes vitamin daily"),
    ("The user takes vitamin a", "The user takes vitamin"),
    ("The user knows C++", "The user knows C"),
    ("The user knows C#", "The user knows C"),
    ("The user visits Zoë", "The user visits Zoe"),
    ("El usuario llama a Ana", "El usuario llama Ana"),
    ("Das sind Maße", "Das sind Masse"),
    ("The user likes tea?", "The user likes tea."),
    ("The user's dog is old", "The users dog is old"),
    ("The user likes tea", "The user likes tea and coffee"),
    ("The flag is \U0001f3f4\U000e0067\U000e0062\U000e007f", "The flag is \U0001f3f4\U000e0075\U000e0073\U000e007f"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_trivial_variants_are_merged(one, other):
    assert statement_key(one) == statement_key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_statements_that_differ_in_what_they_say_are_not_merged(one, other):
    assert statement_key(one) != statement_key(other)


def result_of(*candidates):
    return ExtractionResult(candidates, Reply("x"), "ok")


@pytest.mark.parametrize("field", [{"date": "2026-01-02"}, {"source": "letter"}])
def test_the_same_words_of_another_day_or_source_are_not_merged(field):
    kept, dropped = merge_candidates([result_of(Candidate("A", 0.5)), result_of(Candidate("A", 0.5, **field))])
    assert (len(kept), dropped) == (2, [])


# The status of the whole

STATUSES = [
    (["malformed", "malformed"], "malformed"),
    (["malformed", "empty"], "truncated"),
    (["malformed", "ok"], "truncated"),
    (["malformed", "repaired"], "truncated"),
    (["malformed", "truncated"], "truncated"),
    (["truncated", "truncated"], "truncated"),
    (["truncated", "empty"], "truncated"),
    (["truncated", "ok"], "truncated"),
    (["truncated", "repaired"], "truncated"),
    (["repaired", "repaired"], "repaired"),
    (["repaired", "ok"], "repaired"),
    (["repaired", "empty"], "repaired"),
    (["ok", "ok"], "ok"),
    (["ok", "empty"], "ok"),
    (["empty", "empty"], "empty"),
]
REPLY_WITH = {
    "malformed": Reply("I cannot", "stop"),
    "truncated": Reply('[{"content": "A", "salience": 0.5}, {"cont', "length"),
    "repaired": Reply("Here: " + items(("R", 0.5)), "stop"),
    "ok": Reply(items(("K", 0.5)), "stop"),
    "empty": Reply("[]", "stop"),
}


def test_the_table_of_statuses_is_whole():
    assert {frozenset(given) for given, _ in STATUSES} == {frozenset(pair) for pair in itertools.product(REPLY_WITH, repeat=2)}


@pytest.mark.parametrize(("given", "status"), STATUSES)
def test_the_status_of_the_whole(given, status):
    for order in (given, given[::-1], [*given, given[0]]):
        assert merge_status(order) == status
    result = read_results(SPLITS, LONG, [REPLY_WITH[one] for one in [*given, given[1]]])
    assert result.status == status
    assert [part.status for part in result.parts] == [*given, given[1]]
    assert bool(result.candidates) == bool({"truncated", "repaired", "ok"} & set(given))


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ([Reply("a", "stop", 1, 2), Reply("b", "stop", 3, 4)], Reply("a\n\nb", "stop", 4, 6)),
        ([Reply("a", "length", 1, 2), Reply("b", "stop", None, 4)], Reply("a\n\nb", "length", None, 6)),
        ([Reply("a", "stop", 1, None), Reply("", None, 0, None)], Reply("a\n\n", None, 1, None)),
    ],
)
def test_the_reply_of_the_whole(given, whole):
    assert merge_replies(given) == whole


# Through a client


class Queue:
    """A chat client that answers from a queue; an exception in it is raised."""

    def __init__(self, *answers):
        self.answers, self.seen = list(answers), []

    def take(self, messages):
        self.seen.append(messages[-1]["content"].split("Turn:\n")[1])
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        return Reply(self.take(messages), "stop", 10, 5)


class QueueAsync(Queue):
    def __init__(self, *answers):
        super().__init__(*answers)
        self.running = self.most = 0

    async def chat(self, messages, *, schema=None, max_tokens=None, temperature=None):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return Reply(self.take(messages), "stop", 10, 5)


class Completes(Queue):
    chat = None

    def complete(self, *, system, prompt):
        return self.take([{"content": prompt}])


class CompletesAsync(Completes):
    async def complete(self, *, system, prompt):
        return super().complete(system=system, prompt=prompt)


ANSWERS = [items(("The user sails", 0.4)), items(("User sails.", 0.6), ("Tove is a nurse", 0.5)), f"So: {items(('X', 0.7))}"]
PARTS = [f"[user] {text.strip()}" for text in (A, B, C)]


@pytest.mark.parametrize(("sync", "other"), [(Queue, QueueAsync), (Completes, CompletesAsync)])
def test_both_twins_ask_part_by_part_and_agree(sync, other):
    clients = sync(*ANSWERS), other(*ANSWERS)
    first = create_salience_extractor(clients[0], policy=SPLITS).extract(LONG)
    second = asyncio.run(create_salience_extractor(clients[1], policy=SPLITS).extract(LONG))
    assert first == second
    assert clients[0].seen == clients[1].seen == PARTS
    assert pairs(first) == [("X", 0.7), ("User sails.", 0.6), ("Tove is a nurse", 0.5)]
    assert (first.status, len(first.parts)) == ("repaired", 3)
    assert first == read_results(SPLITS, LONG, [part.reply for part in first.parts])


def test_extract_salient_gives_the_same_candidates_and_takes_options():
    extractor = create_salience_extractor(Queue(*ANSWERS), policy=SPLITS)
    found = extractor.extract_salient(LONG, ExtractOptions(max_candidates=1))
    assert [one.content for one in found] == ["X"]
    client = Queue(ANSWERS[0])
    assert len(create_salience_extractor(client, policy=SPLITS).extract_salient(Turn("short"))) == 1
    assert client.seen == ["short"]


class QuotaError(Exception):
    pass


@pytest.mark.parametrize("make", [Queue, QueueAsync])
def test_a12_an_error_of_the_client_propagates_at_once(make):
    client = make(ANSWERS[0], QuotaError("no more"), ANSWERS[2])
    extractor = create_salience_extractor(client, policy=SPLITS)
    with pytest.raises(QuotaError):
        asyncio.run(extractor.extract(LONG)) if make is QueueAsync else extractor.extract(LONG)
    assert client.seen == PARTS[:2]


def test_an_async_client_is_never_called_twice_at_once():
    client = QueueAsync(*ANSWERS)
    asyncio.run(create_salience_extractor(client, policy=SPLITS).extract(LONG))
    assert client.most == 1


def test_all_of_it_is_exported():
    assert {"split_turn", "build_requests", "read_results"} <= set(salience.__all__) <= set(dir(salience))
