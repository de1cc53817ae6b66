import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.models.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?! … \n---", []),
        (
            "Hi! I live in St. Petersburg. Dr. Who is 3.5 m tall (really). ok",
            ["Hi!", "I live in St. Petersburg.", "Dr. Who is 3.5 m tall (really).", "ok"],
        ),
        ("i live in berlin. i have a cat", ["i live in berlin.", "i have a cat"]),
        ("J. R. Smith called. See example.com for more.", ["J. R. Smith called.", "See example.com for more."]),
        ('She said "no." Then she left.', ['She said "no."', "Then she left."]),
        ("Wait... what? No.", ["Wait...", "what?", "No."]),
        ("Am 3. März fliege ich. Am 7. bin ich da.", ["Am 3. März fliege ich.", "Am 7. bin ich da."]),
        ("I turned 30. We had cake.", ["I turned 30.", "We had cake."]),
        ("¿Dónde vivo? ¡Aquí! Vale.", ["¿Dónde vivo?", "¡Aquí!", "Vale."]),
        ("我住在上海。我喜欢猫！你呢？", ["我住在上海。", "我喜欢猫！", "你呢？"]),
        ("मैं दिल्ली में रहता हूँ। मुझे चाय पसंद है।", ["मैं दिल्ली में रहता हूँ।", "मुझे चाय पसंद है।"]),
        ("Я живу в Казани. Мне 30 лет.", ["Я живу в Казани.", "Мне 30 лет."]),
        ("- one\n* two\n3) three", ["one", "two", "three"]),
    ],
)
def test_split(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@given(st.text())
def test_no_letter_is_lost_or_invented(text: str) -> None:
    letters = [char for char in text if char.isalpha()]
    assert [char for sentence in split_sentences(text) for char in sentence if char.isalpha()] == letters
