import json

import pytest

from evals.cases import Case
from evals.models import Baseline, Model, open_model
from evals.models.rules import statement
from evals.models.third_person import chinese_third_person, english_third_person


def make_case(*messages: tuple[str, str]) -> Case:
    chat = tuple({"role": role, "content": content} for role, content in messages)
    earlier = ({"role": "user", "content": "I used to live in Oslo."},)
    return Case(id="c1", conversation="k1", split="dev", language="en", context=earlier, messages=chat, memories=())


def reply_of(name: str, case: Case) -> list[dict[str, object]]:
    baseline = open_model(name, environ={})
    assert isinstance(baseline, Baseline)
    assert not isinstance(baseline, Model)
    assert baseline.name == name
    assert baseline.fingerprint["baseline"] == name.split("/")[1]
    items: list[dict[str, object]] = json.loads(baseline.reply(case))
    return items


CASE = make_case(("user", "I live in Graz. What is the time?"), ("assistant", "I am a model."), ("user", "I live in Graz. Danke!"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("baseline/silent", []),
        ("baseline/verbatim", [("I live in Graz.", 0.5), ("What is the time?", 0.5), ("Danke!", 0.5)]),
        ("baseline/rules", [("The user lives in Graz.", 0.7)]),
    ],
)
def test_baseline(name: str, expected: list[tuple[str, float]]) -> None:
    assert reply_of(name, CASE) == [{"content": content, "salience": salience} for content, salience in expected]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I am allergic to peanuts.", ("The user is allergic to peanuts.", 0.9)),
        ("Remember that I never eat pork.", ("The user never eats pork.", 0.7)),
        ("My wife Lena works at Acme.", ("The user's wife Lena works at Acme.", 0.7)),
        ("I'm tired.", ("The user is tired.", 0.3)),
        ("I have a red bike.", ("The user has a red bike.", 0.5)),
        ("We moved to Lisbon.", ("We moved to Lisbon.", 0.7)),
        ("Can you fix my code?", None),
        ("Fix my code.", None),
        ("Give me a list.", None),
        ("If I moved to Rome I would sell my car.", None),
        ("I want you to write a poem.", None),
        ("My password is hunter2.", None),
        ("The bus was late.", None),
        ("Ich wohne in Wien.", ("Ich wohne in Wien.", 0.7)),
        ("Ich bin gegen Nüsse allergisch.", ("Ich bin gegen Nüsse allergisch.", 0.9)),
        ("Wenn ich in Wien wohnte, hätte ich ein Rad.", None),
        ("Kannst du mir helfen?", None),
        ("Der Bus war spät.", None),
        ("Vivo en Madrid con mi hija.", ("Vivo en Madrid con mi hija.", 0.7)),
        ("Me llamo Ana.", ("Me llamo Ana.", 0.5)),
        ("¿Dónde vivo", None),
        ("Si viviera en Roma, tendría un perro.", None),
        ("Mi contraseña es gato.", None),
        ("我住在上海。", ("用户住在上海。", 0.7)),
        ("我对花生过敏。", ("用户对花生过敏。", 0.9)),
        ("如果我住在上海就好了。", None),
        ("帮我写一封信。", None),
        ("今天下雨。", None),
        ("Я живу в Казани.", ("Я живу в Казани.", 0.7)),
        ("У меня аллергия на орехи.", ("У меня аллергия на орехи.", 0.9)),
        ("Если бы я жил в Казани.", None),
        ("Автобус опоздал.", None),
        ("मैं दिल्ली में रहता हूँ।", ("मैं दिल्ली में रहता हूँ।", 0.7)),
        ("मुझे मूंगफली से एलर्जी है।", ("मुझे मूंगफली से एलर्जी है।", 0.9)),
        ("अगर मैं दिल्ली में रहता।", None),
        ("बस देर से आई।", None),
    ],
)
def test_statement(sentence: str, expected: tuple[str, float] | None) -> None:
    assert statement(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I've lived in Graz since 2019.", "The user has lived in Graz since 2019."),
        ("I’ll visit my sister in May.", "The user will visit their sister in May."),
        ("I really like my new bike.", "The user really likes their new bike."),
        ("I don't drink coffee and I can't swim.", "The user does not drink coffee and the user cannot swim."),
        ("I study law.", "The user studies law."),
        ("I moved to Ghent.", "The user moved to Ghent."),
        ("My flight is late and my bag is lost.", "The user's flight is late and their bag is lost."),
        ("The dog bit me.", "The dog bit them."),
        ("I believe in ghosts.", "I believe in ghosts."),  # not in the tables
        ("I love you.", "I love you."),
        ("I told her that my car broke.", "I told her that my car broke."),  # "their" would be ambiguous
        ("I live with our dog.", "I live with our dog."),
    ],
)
def test_english_third_person(sentence: str, expected: str) -> None:
    assert english_third_person(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("我的猫叫咪咪。", "用户的猫叫咪咪。"),
        ("我们结婚了。", "我们结婚了。"),
        ("我喜欢自我介绍。", "用户喜欢自我介绍。"),
        ("本人住北京。", "用户住北京。"),
    ],
)
def test_chinese_third_person(sentence: str, expected: str) -> None:
    assert chinese_third_person(sentence) == expected
