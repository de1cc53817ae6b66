"""Each guard against statements that it must refuse and paraphrases that it must let pass. None of them is in the labelled pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.matching.cues import LANGUAGES, table
from evals.matching.guards import GUARDS, refuse
from evals.matching.reading import read

REFUSED = [
    ("number", "en", "The user has three goats.", "The user has four goats."),
    ("number", "en", "The user takes aspirin.", "The user takes 100 mg of aspirin."),
    ("number", "fr", "Elle a 3 chats.", "Elle a 4 chats."),
    ("number", "en", "Ines came first in the race.", "Ines came third in the race."),
    ("date", "en", "The lease ends on 3 May 2026.", "The lease ends on 2026-05-04."),
    ("date", "en", "The bus leaves at 8:15.", "The bus leaves at 8:45."),
    ("date", "fr", "Le bail finit le 2026-05-03.", "Le bail finit le 2026-05-04."),
    ("weekday", "en", "The user swims on Mondays.", "The user swims on Thursdays."),
    ("weekday", "zh", "用户每周一游泳。", "用户每周四游泳。"),
    ("polarity", "en", "The user eats meat.", "The user does not eat meat."),
    ("polarity", "de", "Der Nutzer isst Fleisch.", "Der Nutzer isst kein Fleisch."),
    ("polarity", "es", "El usuario come carne.", "El usuario no come carne."),
    ("polarity", "ru", "Пользователь ест мясо.", "Пользователь не ест мясо."),
    ("polarity", "zh", "用户吃肉。", "用户不吃肉。"),
    ("polarity", "hi", "उपयोगकर्ता मांस खाता है।", "उपयोगकर्ता मांस नहीं खाता।"),
    ("polarity", "en", "The user may drive.", "The user may only drive by daylight."),
    ("polarity", "en", "None of the hens lay eggs.", "Some of the hens do not lay eggs."),
    ("status", "en", "The user is moving to Lyon.", "The user might move to Lyon."),
    ("status", "en", "The user has sold the boat.", "The user is going to sell the boat."),
    ("status", "en", "The user works as a nurse.", "The user used to work as a nurse."),
    ("status", "de", "Der Nutzer zieht nach Lyon.", "Der Nutzer zieht vielleicht nach Lyon."),
    ("antonym", "en", "The user sleeps with the window open.", "The user sleeps with the window closed."),
    ("antonym", "es", "El usuario se rompió el brazo izquierdo.", "El usuario se rompió el brazo derecho."),
    ("order", "en", "The user hired Berit.", "Berit hired the user."),
    ("order", "en", "The parser is called by the scanner.", "The parser calls the scanner."),
    ("order", "ru", "Пользователь учит Берит.", "Берит учит пользователя."),
    ("subject", "en", "The user's mother has asthma.", "The user's father has asthma."),
    ("subject", "en", "The user has asthma.", "The user's brother has asthma."),
    ("name", "en", "The user lives in Lancaster.", "The user lives in Leicester."),
    ("name", "en", "The user has a sister.", "The user has a sister called Berit."),
    ("code", "en", "The config is in /etc/app/a.toml.", "The config is in /etc/app/b.toml."),
]
PASSED = [
    ("en", "The user has a cat.", "The user has one cat."),
    ("en", "In May 2026 the lease ends.", "The lease ends on 2026-05-04."),
    ("en", "The bus leaves at 4:30.", "The bus leaves at 4:30 pm."),
    ("en", "The user is teetotal.", "The user does not drink alcohol."),
    ("en", "The user has turned down the post in Oslo.", "The user did not take the post that Oslo offered."),
    ("en", "The user sleeps no more than six hours.", "The user sleeps at most six hours."),
    ("en", "The user is younger than Berit.", "Berit is older than the user."),
    ("en", "The user bought a boat from Berit.", "Berit sold the user a boat."),
    ("en", "The user was hired by Berit.", "Berit hired the user."),
    ("en", "Turns ninety in 2023.", "The ninetieth birthday is in 2023."),
    ("en", "The mother of the user's spouse lives in Oslo.", "The user's mother-in-law lives in Oslo."),
    ("en", "It runs on GCP.", "It runs in Google Cloud."),
    ("de", "Der Nutzer darf höchstens fünf Kilo heben.", "Der Nutzer darf nicht mehr als fünf Kilo heben."),
    ("ru", "Живёт с тётей Зоей.", "Тётя Зоя живёт вместе."),
    ("zh", "用户二〇二三年搬家。", "用户2023年搬家。"),
]


@pytest.mark.parametrize(("guard", "language", "predicted", "gold"), REFUSED)
def test_refused(guard: str, language: str, predicted: str, gold: str) -> None:
    refused = refuse(read(predicted, language), read(gold, language))
    assert refused is not None
    assert refused[0] == guard


@pytest.mark.parametrize(("language", "predicted", "gold"), PASSED)
def test_passed(language: str, predicted: str, gold: str) -> None:
    assert refuse(read(predicted, language), read(gold, language)) is None


def test_a_guard_is_silent_outside_its_languages() -> None:
    assert refuse(read("Mangia la carne.", "it"), read("Non mangia la carne, no.", "it")) is None


def test_polarity_holds_across_languages() -> None:
    refused = refuse(read("The user eats meat.", "en"), read("Der Nutzer isst kein Fleisch.", "de"))
    assert refused == ("polarity", "only the statement has a negation")


def test_the_owners_name_is_not_a_missing_name() -> None:
    assert refuse(read("Allergic to nuts.", "en", ("Jacinta",)), read("Jacinta is allergic to nuts.", "en", ("Jacinta",))) is None


@pytest.mark.parametrize("piece", ["a.", "is a by ", "1,000", "a@", "/a", "the user ", "用户", "hat be ", "not "])
def test_a_runaway_text_is_read(piece: str) -> None:
    for language in sorted(LANGUAGES):
        reading = read(piece * 100_000, language)
        assert refuse(reading, reading) is None


@given(st.text(max_size=60), st.sampled_from([*sorted(LANGUAGES), "it"]))
def test_a_text_never_contradicts_itself(text: str, language: str) -> None:
    reading = read(text, language)
    assert refuse(reading, reading) is None


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(sorted(LANGUAGES)), st.sampled_from([*sorted(LANGUAGES), "it"]))
def test_any_two_texts_are_compared(one: str, other: str, first: str, second: str) -> None:
    refused = refuse(read(one, first), read(other, second))
    assert refused is None or refused[0] in {guard.name for guard in GUARDS}


def test_the_table_speaks_known_languages_only() -> None:
    rows = [*table()["cues"].values(), *table()["kin"].values(), *table()["quantity"].values(), *table()["opposites"]]
    assert {key for row in rows for key in row} - {"converse"} <= LANGUAGES
