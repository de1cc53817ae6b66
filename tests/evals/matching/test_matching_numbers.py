"""Numbers in words and local notations become digits; the values are worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.matching.numbers import digits, plain

TABLE = [
    ("en", "thirty-four people", "34 people"),
    ("en", "two hundred and five sheep", "205 sheep"),
    ("en", "three million two hundred thousand", "3200000"),
    ("en", "1.5 million", "1500000"),
    ("en", "two three", "2 3"),
    ("en", "twenty-three and four", "23 and 4"),
    ("en", "one of the five", "one of the 5"),
    ("en", "a bill of 3,200.50", "a bill of 3200.50"),
    ("en", "v1.31.2 and 10.0.0.1", "v1.31.2 and 10.0.0.1"),
    ("en", "on 2026-11-09", "on 2026-11-09"),
    ("de", "achtunddreißig Kilometer", "38 Kilometer"),
    ("de", "Achtunddreißig Kilometer", "38 Kilometer"),
    ("de", "fünfhundertdreiundzwanzig", "523"),
    ("de", "zweitausendfünfhundert", "2500"),
    ("de", "1.234,56 Euro und 3,5 Liter", "1234.56 Euro und 3.5 Liter"),
    ("de", "im August 2020 sechs Jahre", "im August 2020 6 Jahre"),
    ("es", "treinta y dos mil quinientos", "32500"),
    ("es", "dos y tres", "2 y 3"),
    ("es", "2.100 euros", "2100 euros"),
    ("ru", "две тысячи триста сорок пять", "2345"),
    ("ru", "11 400 рублей", "11400 рублей"),
    ("hi", "साढ़े चार हज़ार रुपये", "4500 रुपये"),
    ("hi", "ढाई बीघा", "2.5 बीघा"),
    ("hi", "पौने दो सौ", "175"),
    ("hi", "1,00,000 और ४५", "100000 और 45"),
    ("zh", "两千元", "2000元"),
    ("zh", "一万两千三百元", "12300元"),
    ("zh", "不超过一百五。", "不超过150。"),
    ("zh", "一百零五个", "105个"),
    ("zh", "二〇二四年", "2024年"),
    ("zh", "老三", "老3"),
    ("zh", "三明治，周四、周日", "三明治，周四、周日"),
    ("it", "ventidue e 1,200", "ventidue e 1200"),
    ("fr", "1 250,50 euros", "1250.50 euros"),
    ("pt", "R$ 1.250,50", "R$ 1250.50"),
]


@pytest.mark.parametrize(("language", "text", "expected"), TABLE)
def test_numbers_become_digits(language: str, text: str, expected: str) -> None:
    assert digits(text, language) == expected


@given(st.text(), st.sampled_from(["en", "de", "es", "zh", "ru", "hi", "fr"]))
def test_any_text_is_read(text: str, language: str) -> None:
    assert isinstance(digits(text, language), str)


@given(st.integers(min_value=2, max_value=999_999))
def test_plain_integers_stay(number: int) -> None:
    assert digits(f"about {number} things", "en") == f"about {number} things"


@pytest.mark.parametrize(("value", "expected"), [(3.0, "3"), (2.5, "2.5"), (0.001, "0.001"), (1e6, "1000000")])
def test_plain(value: float, expected: str) -> None:
    assert plain(value) == expected
