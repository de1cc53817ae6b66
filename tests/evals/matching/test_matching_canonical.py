"""Canonical form: subject, contractions, dates, times; and the amounts and weekdays read from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.matching.canonical import canonicalise
from evals.matching.dates import find_dates, weekdays
from evals.matching.quantities import ordinals, quantities

SUBJECTS = [
    ("en", (), "I'm on an insulin pump.", "The user is on an insulin pump."),
    ("en", (), "user can't eat nuts", "The user cannot eat nuts"),
    ("en", (), "User Jacinta is a vet.", "The user is a vet."),
    ("en", (), "Wiremu (the user) declined.", "The user declined."),
    ("en", (), "My sister lives in Oslo.", "the user's sister lives in Oslo."),
    ("en", ("Jacinta",), "Jacinta lives in Oslo.", "The user lives in Oslo."),
    ("en", ("Jacinta",), "Jacinta's sister lives in Oslo.", "The user's sister lives in Oslo."),
    ("en", ("Jacinta",), "Bruno works at Jacinta's Bakery.", "Bruno works at Jacinta's Bakery."),
    ("en", ("Jacinta",), "Jacinta Bakery is closed.", "Jacinta Bakery is closed."),
    ("en", (), "The product owner is Bruno.", "The product owner is Bruno."),
    ("de", (), "Ich bin laktoseintolerant.", "Der Nutzer ist laktoseintolerant."),
    ("de", (), "Die Nutzerin hat Katzen.", "Der Nutzer hat Katzen."),
    ("es", (), "Tengo alergia al látex.", "El usuario tiene alergia al látex."),
    ("es", (), "El móvil de la usuaria", "El móvil del usuario"),
    ("zh", (), "我对芒果过敏", "用户对芒果过敏"),
    ("zh", (), "我们去北京", "我们去北京"),
    ("ru", (), "У меня аллергия.", "У пользователя аллергия."),
    ("hi", (), "मुझे डर लगता है", "उपयोगकर्ता को डर लगता है"),
    ("it", ("Awa",), "Awa vive a Dakar.", "The user vive a Dakar."),
    ("fr", ("Awa",), "Awa habite à Dakar.", "L'utilisateur habite à Dakar."),
    ("fr", (), "J'ai deux chats", "L'utilisateur a deux chats"),
    ("fr", (), "La sœur de l’utilisatrice dort", "La sœur de L'utilisateur dort"),
    ("pt", (), "A irmã da utilizadora mora em Braga", "A irmã do usuário mora em Braga"),
    ("pt", (), "Tenho dois gatos", "O usuário tem dois gatos"),
    ("ja", (), "私は犬を飼っている", "ユーザーは犬を飼っている"),
    ("ko", (), "저는 개를 키운다", "사용자는 개를 키운다"),
    ("ar", (), "تسكن المستخدمة في طنجة", "تسكن المستخدم في طنجة"),
]
DATES = [
    ("fr", "Il garde le secteur à l'hiver 2025-2026.", "2025"),
    ("fr", "Il garde le secteur à l'hiver 2025-2026.", "2026"),
    ("en", "The user plays in the 2024/25 season.", "2025"),
    ("fr", "Depuis le 1er septembre 2021", "2021-09-01"),
    ("fr", "en août 2024", "2024-08"),
    ("fr", "le 3 mai", "--05-03"),
    ("pt", "no dia 3 de maio de 2024", "2024-05-03"),
    ("pt", "em março", "--03"),
    ("ja", "2025年3月14日に引っ越す", "2025-03-14"),
    ("ja", "3月に", "--03"),
    ("ko", "2025년 3월 14일에", "2025-03-14"),
    ("ko", "3월 14일", "--03-14"),
    ("ar", "في 14 آذار 2025", "2025-03-14"),
    ("ar", "في تشرين الثاني 2025", "2025-11"),
    ("ar", "في كانون الأول", "--12"),
    ("ar", "شهر جويلية 2024", "2024-07"),
    ("en", "due on 9 November 2026", "2026-11-09"),
    ("en", "due on November 9th, 2026", "2026-11-09"),
    ("en", "since Sept. 2025", "2025-09"),
    ("en", "on 5 March", "--03-05"),
    ("en", "closed in August", "--08"),
    ("en", "he may march", None),
    ("de", "am 1. September 2026", "2026-09-01"),
    ("de", "am 03.11.2026", "2026-11-03"),
    ("es", "el 28 de febrero de 2026", "2026-02-28"),
    ("es", "en septiembre de 2026", "2026-09"),
    ("ru", "до 9 ноября 2024 года", "2024-11-09"),
    ("ru", "в мае 2027 года", "2027-05"),
    ("zh", "将于2026年7月20日参加", "2026-07-20"),
    ("hi", "5 दिसंबर 2026 को", "2026-12-05"),
    ("en", "paid 2000 euros in 2019", "2019"),
]
TIMES = [
    ("en", "at half past four", "at T04:30"),
    ("en", "at 4:30 pm", "at T16:30"),
    ("en", "at five in the morning", "at T05:00"),
    ("de", "um halb fünf", "um T04:30"),
    ("de", "um 16.30 Uhr", "um T16:30"),
    ("es", "a las cuatro y media", "a las T04:30"),
    ("ru", "в 16:30", "в T16:30"),
    ("zh", "四点半", "T04:30"),
    ("hi", "साढ़े चार बजे", "T04:30"),
]


@pytest.mark.parametrize(("language", "names", "text", "expected"), SUBJECTS)
def test_subject(language: str, names: tuple[str, ...], text: str, expected: str) -> None:
    assert canonicalise(text, language, names) == expected


@pytest.mark.parametrize(("language", "text", "expected"), DATES)
def test_dates(language: str, text: str, expected: str | None) -> None:
    found = find_dates(canonicalise(text, language), language)
    assert (expected in found) if expected else not found


@pytest.mark.parametrize(("language", "text", "expected"), TIMES)
def test_times(language: str, text: str, expected: str) -> None:
    assert canonicalise(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "on Tuesdays and Sun", {2, 7}),
        ("en", "sat in the sun", set()),
        ("de", "jeden Dienstag", {2}),
        ("es", "los miércoles", {3}),
        ("ru", "по пятницам", {5}),
        ("zh", "每周四", {4}),
        ("hi", "हर सोमवार", {1}),
        ("it", "lunedì", set()),
        ("fr", "chaque lundi", {1}),
        ("pt", "às terças-feiras e aos sábados", {2, 6}),
        ("pt", "na segunda vez", set()),
        ("ja", "毎週木曜日", {4}),
        ("ko", "매주 금요일", {5}),
        ("ar", "كل يوم أحد وكل يوم الأحد", {7}),
    ],
)
def test_weekdays(language: str, text: str, expected: set[int]) -> None:
    assert weekdays(text, language) == expected


@pytest.mark.parametrize(
    ("language", "one", "other", "same"),
    [
        ("en", "420 cm", "4.2 metres", True),
        ("en", "1600 lb", "1600 kg", False),
        ("en", "£3200", "3200 pounds", True),
        ("en", "1.5 hours", "90 minutes", True),
        ("en", "34 people", "34 singers", True),
        ("en", "3 cats", "4 cats", False),
        ("zh", "游1000米", "游1公里", True),
        ("hi", "2.5 बीघा", "2.5 एकड़", False),
        ("ru", "60 литров", "60 л", True),
    ],
)
def test_amounts(language: str, one: str, other: str, same: bool) -> None:
    (first,), (second,) = quantities(one, language), quantities(other, language)
    assert first.same(second) is second.same(first) is same


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "the third child", {3}),
        ("en", "baby number 3", {3}),
        ("en", "her 90th birthday", {90}),
        ("zh", "排第2", {2}),
        ("ru", "второго ребёнка", {2}),
    ],
)
def test_ordinals(language: str, text: str, expected: set[int]) -> None:
    assert ordinals(text, language) == expected


@given(st.text(max_size=80), st.sampled_from(["en", "de", "es", "zh", "ru", "hi", "fr", "pt", "ja", "ko", "ar", "it"]))
def test_any_text_has_a_form(text: str, language: str) -> None:
    assert isinstance(canonicalise(text, language), str)
