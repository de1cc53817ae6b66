"""Writes numbers one way: words and local notations to digits, in six languages. It does not compare numbers.

"Thirty-four", "vierunddreißig" and "三十四" become 34; "3,200" and the German "3.200" become 3200; "साढ़े चार हज़ार" becomes 4500.
One ("one", "ein", "一") stays a word, as it is mostly an article. Texts in other languages keep their words; digits are treated as
in English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

_COMMA_DECIMAL = frozenset({"de", "es", "ru", "fr", "pt"})

_EN = (
    "zero=0 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 fourteen=14 fifteen=15 "
    "sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 "
    "dozen=12 one=1 hundred=x100 thousand=x1000 million=x1000000 billion=x1000000000"
)
_ES = (
    "cero=0 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 trece=13 catorce=14 quince=15 "
    "dieciséis=16 diecisiete=17 dieciocho=18 diecinueve=19 veinte=20 veintiuno=21 veintiún=21 veintiuna=21 veintidós=22 "
    "veintitrés=23 veinticuatro=24 veinticinco=25 veintiséis=26 veintisiete=27 veintiocho=28 veintinueve=29 treinta=30 cuarenta=40 "
    "cincuenta=50 sesenta=60 setenta=70 ochenta=80 noventa=90 cien=100 ciento=100 doscientos=200 doscientas=200 trescientos=300 "
    "trescientas=300 cuatrocientos=400 cuatrocientas=400 quinientos=500 quinientas=500 seiscientos=600 seiscientas=600 "
    "setecientos=700 setecientas=700 ochocientos=800 ochocientas=800 novecientos=900 novecientas=900 uno=1 un=1 una=1 mil=x1000 "
    "millón=x1000000 millones=x1000000"
)
_RU = (
    "ноль=0 два=2 две=2 двух=2 двум=2 двумя=2 двое=2 три=3 трёх=3 трех=3 тремя=3 трое=3 четыре=4 четырёх=4 четырех=4 четырьмя=4 "
    "четверо=4 пять=5 пяти=5 пятью=5 шесть=6 шести=6 семь=7 семи=7 восемь=8 восьми=8 девять=9 девяти=9 десять=10 десяти=10 "
    "одиннадцать=11 одиннадцати=11 двенадцать=12 двенадцати=12 тринадцать=13 тринадцати=13 четырнадцать=14 четырнадцати=14 "
    "пятнадцать=15 пятнадцати=15 шестнадцать=16 шестнадцати=16 семнадцать=17 семнадцати=17 восемнадцать=18 восемнадцати=18 "
    "девятнадцать=19 девятнадцати=19 двадцать=20 двадцати=20 тридцать=30 тридцати=30 сорок=40 сорока=40 пятьдесят=50 пятидесяти=50 "
    "шестьдесят=60 шестидесяти=60 семьдесят=70 семидесяти=70 восемьдесят=80 восьмидесяти=80 девяносто=90 девяноста=90 сто=100 "
    "ста=100 двести=200 двухсот=200 триста=300 трёхсот=300 трехсот=300 четыреста=400 четырёхсот=400 пятьсот=500 пятисот=500 "
    "шестьсот=600 шестисот=600 семьсот=700 семисот=700 восемьсот=800 восьмисот=800 девятьсот=900 девятисот=900 полтора=1.5 "
    "полторы=1.5 один=1 одна=1 одну=1 тысяча=x1000 тысячи=x1000 тысяч=x1000 тысячу=x1000 миллион=x1000000 миллиона=x1000000 "
    "миллионов=x1000000"
)
_HI = (
    "शून्य एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह "
    "सत्रह अठारह उन्नीस बीस इक्कीस बाईस तेईस चौबीस पच्चीस छब्बीस सत्ताईस अट्ठाईस "
    "उनतीस तीस इकतीस बत्तीस तैंतीस चौंतीस पैंतीस छत्तीस सैंतीस अड़तीस उनतालीस "
    "चालीस इकतालीस बयालीस तैंतालीस चौवालीस पैंतालीस छियालीस सैंतालीस अड़तालीस "
    "उनचास पचास इक्यावन बावन तिरपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ साठ इकसठ "
    "बासठ तिरसठ चौंसठ पैंसठ छियासठ सड़सठ अड़सठ उनहत्तर सत्तर इकहत्तर बहत्तर "
    "तिहत्तर चौहत्तर पचहत्तर छिहत्तर सतहत्तर अठहत्तर उनासी अस्सी इक्यासी बयासी "
    "तिरासी चौरासी पचासी छियासी सत्तासी अट्ठासी नवासी नब्बे इक्यानवे बानवे "
    "तिरानवे चौरानवे पचानवे छियानवे सत्तानवे अट्ठानवे निन्यानवे"
)
_HI_MORE = "पांच=5 छः=6 छे=6 पन्द्रह=15 ढाई=2.5 डेढ़=1.5 सौ=x100 हज़ार=x1000 हजार=x1000 लाख=x100000 करोड़=x10000000"
_HI_FRACTIONS = {"साढ़े": 0.5, "सवा": 0.25, "पौने": -0.25}
_DE_UNITS = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"
)
_DE_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_JOINERS = {"en": frozenset({"and"}), "es": frozenset({"y"})}
_ONE = {"en": {"one"}, "es": {"uno", "un", "una"}, "ru": {"один", "одна", "одну"}, "hi": {"एक"}, "de": {"ein", "eins"}}
_ZH_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_ZH_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_ZH_COUNTED = (
    "个只位家年月号日天岁米公千克斤元块毛角分秒小时点周次级楼层号室人名口头匹条张本件台辆套间栋倍杯瓶碗片"
    "粒颗度寸尺里亩平吨升毫厘英美欧百%％"
)
_ZH_NUMBER = re.compile(
    f"(?<![周期拜])([零〇一二两三四五六七八九十百千万亿]+)(?=[{_ZH_COUNTED}]|$|[，。；、）])|(?<=[第老])([一二三四五六七八九十]+)"
)

Word = tuple[float, bool]  # value, and whether it multiplies what stands before it


def _parse_table(text: str) -> dict[str, Word]:
    rows = (entry.split("=") for entry in text.split())
    return {word: (float(value.lstrip("x")), value.startswith("x")) for word, value in rows}


def _german() -> dict[str, Word]:
    below = {word: value for value, word in enumerate(_DE_UNITS.split())}
    for tens, word in enumerate(_DE_TENS.split(), 2):
        below[word] = 10 * tens
        below |= {f"{unit}und{word}": 10 * tens + value for unit, value in list(below.items()) if 1 <= value <= 9}
    hundreds = {f"{head}hundert": 100 * max(1, below.get(head, 1)) for head in ["", *_DE_UNITS.split()[1:10]]}
    tails = {"": 0} | below
    full = below | {
        f"{head}{joint}{tail}": high + low for head, high in hundreds.items() for joint in ("", "und") for tail, low in tails.items()
    }
    table: dict[str, Word] = {word: (float(value), False) for word, value in full.items() if word not in {"ein", "hundertund"}}
    table |= {f"{head}tausend": (1000.0 * value, False) for head, value in full.items()}
    return table | {
        "anderthalb": (1.5, False),
        "eineinhalb": (1.5, False),
        "zweieinhalb": (2.5, False),
        "tausend": (1000.0, True),
        "million": (1e6, True),
        "millionen": (1e6, True),
    }


@lru_cache(maxsize=8)
def _table(language: str) -> Mapping[str, Word]:
    if language == "de":
        return {word.casefold(): value for word, value in _german().items()}
    if language == "hi":
        table: dict[str, Word] = {word: (float(value), False) for value, word in enumerate(_HI.split())}
        return table | _parse_table(_HI_MORE)
    return _parse_table({"en": _EN, "es": _ES, "ru": _RU}.get(language, ""))


def digits(text: str, language: str) -> str:
    """Return the text with its numbers in plain digits: no grouping, a dot before decimals.

    Args:
        text: Any text.
        language: ISO 639-1 code; decides words and notation.

    Returns:
        The text; only numbers are changed.
    """
    text = _notation(text, language)
    if language == "zh":
        return _ZH_NUMBER.sub(_chinese, text)
    if language in _ONE:
        return _words_to_digits(text, language)
    return text


def plain(value: float) -> str:
    """Return a number as digits without a needless fraction: 3.0 is "3"."""
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0")


def _notation(text: str, language: str) -> str:
    text = "".join(str(int(char)) if char.isdecimal() and not char.isascii() else char for char in text)
    group, point = (r"[.\u00a0\u202f ]", ",") if language in _COMMA_DECIMAL else (r"[,\u00a0\u202f]", r"\.")
    text = re.sub(rf"(?<![\d.,])\d{{1,3}}(?:{group}\d{{2,3}})*{group}\d{{3}}(?![\d])", lambda match: re.sub(r"\D", "", match[0]), text)
    return re.sub(rf"(?<![\d.,])(\d+){point}(\d+)(?![\d.,]*\d)", r"\1.\2", text)


def _chinese(match: re.Match[str]) -> str:
    word = match[1] or match[2]
    if word == "一":
        return word
    if len(word) > 1 and all(char in _ZH_DIGITS for char in word):
        return "".join(str(_ZH_DIGITS[char]) for char in word)  # read out digit by digit, as in years
    total, section, digit, last = 0, 0, 0, 1
    for char in word:
        if char in _ZH_DIGITS:
            digit, last = _ZH_DIGITS[char], last if _ZH_DIGITS[char] else 1
        elif _ZH_SCALES[char] >= 10_000:
            total, section, digit, last = total + max(1, section + digit) * _ZH_SCALES[char], 0, 0, _ZH_SCALES[char]
        else:
            section, digit, last = section + max(1, digit) * _ZH_SCALES[char], 0, _ZH_SCALES[char]
    return str(
        total + section + digit * max(1, last // 10)
    )  # a bare last digit counts tenths of the last scale: 一百五 is 150, 一百零五 is 105


def _words_to_digits(text: str, language: str) -> str:
    parts = re.split(r"([\s\-]+|[,;:.!?()।\"]+(?!\d))", text)  # words and separators take turns
    done: list[str] = []
    at = 0
    while at < len(parts):
        end = _run_end(parts, at, language)
        words = parts[at:end:2]
        if words and _is_number(words, language):
            done.append(plain(_value(words, language)))
        else:
            end = at + 1
            done.append(parts[at])
        done.extend(parts[end : end + 1])
        at = end + 1
    return "".join(done)


def _run_end(parts: list[str], start: int, language: str) -> int:
    """Return the index after the last word of the longest run of words, from `start`, that make one number."""
    joiners = _JOINERS.get(language, frozenset())
    end, open_section = start, 0.0
    for at in range(start, len(parts), 2):
        if at > start and not re.fullmatch(r"[\s\-]+", parts[at - 1]):
            break
        word = parts[at].casefold()
        if word in joiners and end > start:
            continue  # counts only if a number word follows
        if language == "hi" and word in _HI_FRACTIONS and at == start:
            continue
        if re.fullmatch(r"\d+(\.\d+)?", word) and at == start:
            value, multiplies = float(word), False
        elif known := _lookup(word, language):
            value, multiplies = known
        else:
            break
        if not multiplies and end > start and (parts[start][:1].isdecimal() or _starts_anew(open_section, value)):
            break
        open_section = 0.0 if multiplies else open_section + value
        end = at + 1
    return end


def _lookup(word: str, language: str) -> Word | None:
    table = _table(language)
    if language == "de" and word not in table and "tausend" in word:
        head, _, tail = word.partition("tausend")
        parts = table.get(f"{head}tausend"), table.get(tail.removeprefix("und"))
        return (parts[0][0] + parts[1][0], False) if parts[0] and parts[1] else None
    return table.get(word)


def _starts_anew(section: float, value: float) -> bool:
    """Whether a number word begins a new number: "two three" is not five, but "twenty three" is 23."""
    if section == 0:
        return False
    digits_before = plain(section)
    zeros = len(digits_before) - len(digits_before.rstrip("0"))
    return bool(value >= 10**zeros or value != int(value))


def _is_number(words: list[str], language: str) -> bool:
    """Whether a run is more than the article-like "one", and not digits alone, which are right already."""
    folded = [word.casefold() for word in words]
    if len(folded) == 1:
        return not folded[0][0].isdecimal() and folded[0] not in _ONE[language] | set(_HI_FRACTIONS)
    return True


def _value(words: list[str], language: str) -> float:
    total, section, extra = 0.0, 0.0, 0.0
    for word in map(str.casefold, words):
        if word[0].isdecimal():
            section += float(word)
        elif word in _HI_FRACTIONS:
            extra = _HI_FRACTIONS[word]
        elif known := _lookup(word, language):
            value, multiplies = known
            if not multiplies:
                section += value
            elif value == 100:
                section, extra = (section + extra or 1.0) * value, 0.0
            else:
                total, section, extra = total + (section + extra or 1.0) * value, 0.0, 0.0
    return total + section + extra
