"""Numbers with their units, as a text states them, and whether two of them are the same amount. Reads canonical text only.

Units of one kind are brought to one base (metres, grams, seconds, litres), so that 420 cm is 4.2 m; currencies and areas each are
a kind of their own or share a base, and are never exchanged at a rate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from evals.matching.numbers import plain

# kind, factor to the base, names as they follow a number (all languages together: unit names hardly clash)
_UNITS = (
    ("length", 1000.0, "km|kilomet(?:er|re)s?|kilometern?|kilómetros?|километр\\w*|км|公里|千米|किलोमीटर|किमी"),
    ("length", 1.0, "m|met(?:er|re)s?|metern?|metros?|метр\\w*|м|米|मीटर"),
    ("length", 0.01, "cm|centimet(?:er|re)s?|zentimetern?|centímetros?|сантиметр\\w*|см|厘米|सेंटीमीटर|सेमी"),
    ("length", 0.001, "mm|millimet(?:er|re)s?|millimetern?|milímetros?|миллиметр\\w*|мм|毫米"),
    ("length", 1609.344, "mi|miles?|meilen?|millas?|мил[яьи]\\w*|英里|मील"),
    ("length", 0.3048, "ft|foot|feet|fuß|pies?|фут\\w*|英尺|फ़?ुट"),
    ("length", 0.0254, "inch(?:es)?|zoll|pulgadas?|дюйм\\w*|英寸|इंच"),
    ("mass", 1000.0, "kg|kilos?|kilograms?|kilogramm|kilogramos?|килограмм\\w*|кг|公斤|千克|किलो|किलोग्राम|किग्रा"),
    ("mass", 1.0, "g|grams?|gramm|gramos?|грамм\\w*|г|克|ग्राम"),
    ("mass", 0.001, "mg|milligrams?|milligramm|miligramos?|миллиграмм\\w*|мг|毫克|मिलीग्राम|मिग्रा"),
    ("mass", 0.000001, "µg|mcg|micrograms?|mikrogramm|microgramos?|мкг|微克"),
    ("mass", 453.592, "lbs?|libras?|фунт\\w*|磅|पाउंड"),
    ("mass", 500.0, "斤|市斤"),
    ("mass", 1_000_000.0, "t|tons?|tonnes?|tonnen?|toneladas?|тонн\\w*|吨|टन"),
    ("mass", 6350.29, "stone"),
    ("", 1.0, "pounds?"),
    ("time", 1.0, "s|secs?|seconds?|sekunden?|segundos?|секунд\\w*|秒|सेकंड"),
    ("time", 0.001, "ms|milliseconds?|millisekunden?|milisegundos?|миллисекунд\\w*|мс|毫秒"),
    ("time", 60.0, "min|mins|minutes?|minuten?|minutos?|минут\\w*|мин|分钟|मिनट"),
    ("time", 3600.0, "h|hrs?|hours?|stunden?|horas?|час(?:а|ов)?|часов\\w*|stündig\\w*|ч|小时|个小时|घंट[ाे]|घण्टे"),
    ("time", 86_400.0, "days?|tage?n?|días?|дн(?:я|ей)|день|дневн\\w*|tägig\\w*|天|日|दिन"),
    ("time", 604_800.0, "weeks?|wochen?|semanas?|недел\\w*|wöchig\\w*|周|个星期|星期|हफ़?्त[ाे]|सप्ताह"),
    ("months", 1.0, "months?|monate?n?|mes(?:es)?|месяц\\w*|месячн\\w*|monatig\\w*|个月|महीन[ाे]"),
    ("months", 12.0, "years?|yrs?|jahre?n?|años?|год(?:а|у)?|лет|летн\\w*|jährig\\w*|年|साल|वर्ष"),
    ("volume", 1.0, "l|lit(?:er|re)s?|litern?|litros?|литр\\w*|л|升|लीटर"),
    ("volume", 0.001, "ml|millilit(?:er|re)s?|milliliter|mililitros?|миллилитр\\w*|мл|毫升|मिलीलीटर"),
    ("volume", 3.785, "gallons?|gallonen?|galones?|галлон\\w*|加仑|गैलन"),
    ("area", 1.0, "m²|m2|sqm|square met(?:er|re)s?|quadratmetern?|metros cuadrados|кв\\. ?м|平方米|平米|वर्ग मीटर"),
    ("area", 4046.86, "acres?|акр\\w*|英亩|एकड़"),
    ("area", 10_000.0, "ha|hectares?|hektar|hectáreas?|гектар\\w*|га|公顷|हेक्टेयर"),
    ("bigha", 1.0, "bighas?|बीघ[ाे]"),
    ("mu", 1.0, "亩"),
    ("percent", 1.0, "%|percent|per cent|prozent|por ciento|процент\\w*|प्रतिशत|फ़?ीसदी"),
    ("eur", 1.0, "€|eur|euros?|евро|欧元|यूरो"),
    ("usd", 1.0, "\\$|usd|dollars?|dólares|доллар\\w*|美元|डॉलर"),
    ("gbp", 1.0, "£|gbp|pfund|фунт\\w* стерлингов|英镑"),
    ("rub", 1.0, "₽|руб\\w*|rubles?"),
    ("inr", 1.0, "₹|rs|rupees?|रुपय[ाे]|रुपए|रु"),
    ("cny", 1.0, "¥|rmb|yuan|元|块钱?|人民币"),
    ("byte", 1.0, "mb|megabytes?"),
    ("byte", 1000.0, "gb|gigabytes?"),
    ("byte", 1_000_000.0, "tb|terabytes?"),
    ("byte", 0.001, "kb|kilobytes?"),
    ("celsius", 1.0, "°c|degrees celsius|grad celsius"),
    ("fahrenheit", 1.0, "°f|degrees fahrenheit"),
)
_ORDINALS = {
    "en": "first|second(?! of|s)|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth",
    "de": "erste\\w*|zweite\\w*|dritte\\w*|vierte\\w*|fünfte\\w*|sechste\\w*|siebte\\w*|achte\\w*|neunte\\w*|zehnte\\w*",
    "es": "primer[oa]?|segund[oa](?!s)|tercer[oa]?|cuart[oa]|quint[oa]|sext[oa]|séptim[oa]|octav[oa]|noven[oa]|décim[oa]",
    "ru": "перв\\w+|втор\\w+|треть\\w+|третий|четв[её]рт\\w+|пят(?:ый|ая|ое|ого|ой|ую|ом)|шест(?:ой|ая|ое|ого)|"
    "седьм\\w+|восьм(?:ой|ая|ое|ого)|девят(?:ый|ая|ое|ого)|десят(?:ый|ая|ое|ого)",
    "hi": "पहल[ाीे](?! से)|दूसर[ाीे]|तीसर[ाीे]|चौथ[ाीे]|पाँचव\\S*|छठ[ाीे]|सातव\\S*|आठव\\S*|नौव\\S*|दसव\\S*",
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount: `value` in the base of its `kind` ("length", "eur"), "" where no known unit follows; `said` as in the text."""

    value: float
    kind: str
    said: str

    def same(self, other: Quantity) -> bool:
        """Return whether two amounts are equal within 1%; a missing unit fits any where the bare numbers agree."""
        if self.kind == other.kind:
            return abs(self.value - other.value) <= (0.01 if self.kind else 1e-9) * max(abs(self.value), abs(other.value))
        return "" in (self.kind, other.kind) and _bare(self) == _bare(other)


def _bare(quantity: Quantity) -> str:
    found = re.search(r"\d+(?:\.\d+)?", quantity.said)
    return plain(float(found[0])) if found else plain(quantity.value)


@lru_cache(maxsize=1)
def _number() -> re.Pattern[str]:
    units = "|".join(f"(?P<u{at}>{names})" for at, (_, _, names) in enumerate(_UNITS))
    return re.compile(
        r"(?P<sign>[£$€¥₹₽] ?)?(?<![\w.\-:])(?P<n>\d+(?:\.\d+)?)(?P<ordinal>st|nd|rd|th)?(?![\d:]|\.\d)"
        rf"(?:[ \-]?(?:{units})(?![a-zа-яё²]))?"
    )


def quantities(text: str, language: str) -> tuple[Quantity, ...]:
    """Return the amounts of a text in order, without dates, times of day and ordinals.

    Args:
        text: Case-folded canonical text from which dates and times have been taken out.
        language: ISO 639-1 code.
    """
    text = re.sub(r"第\d+|老\d+|(?:number|nr\.?|núm\.?|№) ?\d+", " ", text)
    pattern = _number()
    if language == "zh":
        text = re.sub(r"(?<=[^\x00-\x7f])(?=\d)", " ", text)  # numbers touch the characters before them
    found = []
    for match in pattern.finditer(text):
        if match["ordinal"]:
            continue
        unit = next((at for at in range(len(_UNITS)) if match[f"u{at}"]), None)
        sign = (match["sign"] or "").strip()
        kind, factor = _sign_kind(sign) if sign else (_UNITS[unit][:2] if unit is not None else ("", 1.0))
        found.append(Quantity(float(match["n"]) * factor, kind, match[0].strip()))
    return tuple(found)


def _sign_kind(sign: str) -> tuple[str, float]:
    return next((kind, factor) for kind, factor, names in _UNITS if re.match(names, sign))


def ordinals(text: str, language: str) -> frozenset[int]:
    """Return the places in an order that a text names ("third", "no. 3", "第3"), as numbers from 1."""
    found = {
        int(digits)
        for digits in re.findall(r"(?:第|老|number |nr\. ?|№ ?)(\d+)|\b(\d+)(?:st|nd|rd|th)\b", text)
        for digits in digits
        if digits
    }
    for at, words in enumerate(_split(_ORDINALS.get(language, "")), 1):
        edge = (r"(?:^|(?<=\s))", r"(?=[\s,।.]|$)") if language == "hi" else (r"\b", r"\b")
        if words and re.search(f"{edge[0]}(?:{words}){edge[1]}", text):
            found.add(at)
    return frozenset(found)


def _split(words: str) -> list[str]:
    """Split an alternation at its outermost bars."""
    parts, depth = [""], 0
    for char in words:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts
