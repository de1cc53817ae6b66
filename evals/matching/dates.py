"""Writes dates and times of day as ISO 8601, in eleven languages, and finds weekdays. Relative dates ("tomorrow") stay as they are.

A date becomes as precise as it was said: 2026-11-09, 2026-11, 2026, --11-09 (no year). A time becomes T16:30; without "am" or
"pm" it may mean either half of the day, which the comparison allows for. Notations that countries read differently (3/4/2026) are
left alone.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MONTHS = {
    "en": "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?",
    "de": "jan(?:uar)?|jänner|feb(?:ruar)?|märz|apr(?:il)?|mai|juni?|juli?|aug(?:ust)?|sept?(?:ember)?|okt(?:ober)?|"
    "nov(?:ember)?|dez(?:ember)?",
    "es": "enero|febrero|marzo|abril|mayo|junio|julio|agosto|sep?tiembre|octubre|noviembre|diciembre",
    "ru": "январ[ьяе]|феврал[ьяе]|март[ае]?|апрел[ьяе]|ма[йяе]|июн[ьяе]|июл[ьяе]|август[ае]?|сентябр[ьяе]|октябр[ьяе]|"
    "ноябр[ьяе]|декабр[ьяе]",
    "fr": "janvier|février|fevrier|mars|avril|mai|juin|juillet|août|aout|septembre|octobre|novembre|décembre|decembre",
    "pt": "janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro",
    "ar": "يناير|فبراير|مارس|[أا]بريل|مايو|يونيو|يوليو|[أا]غسطس|سبتمبر|[أا]كتوبر|نوفمبر|ديسمبر|كانون الثاني|شباط|آذار|نيسان|[أا]يار|"
    "حزيران|تموز|آب|[أا]يلول|تشرين ال[أا]ول|تشرين الثاني|كانون ال[أا]ول|جانفي|فيفري|[أا]فريل|ماي|جوان|جويلية|[أا]وت",
    "hi": "जनवरी|फ़रवरी|फरवरी|मार्च|अप्रैल|मई|जून|जुलाई|अगस्त|सितंबर|सितम्बर|अक्टूबर|अक्तूबर|नवंबर|नवम्बर|दिसंबर|दिसम्बर",
}
_MONTH_STEMS = {
    "en": "jan feb mar apr may jun jul aug sep oct nov dec",
    "de": "jan,jän feb mär apr mai jun jul aug sep okt nov dez",
    "es": "ene feb mar abr may jun jul ago se oct nov dic",
    "ru": "янв фев мар апр ма июн июл авг сен окт ноя дек",
    "fr": "janv fév,fev mars avr mai juin juil aoû,aou sep oct nov déc,dec",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "ar": "يناير,كانون_الثاني,جانفي فبراير,شباط,فيفري مارس,آذار أبريل,ابريل,نيسان,أفريل,افريل مايو,أيار,ايار,ماي يونيو,حزيران,جوان "
    "يوليو,تموز,جويلية أغسطس,اغسطس,آب,أوت,اوت سبتمبر,أيلول,ايلول أكتوبر,اكتوبر,تشرين_الأول,تشرين_الاول نوفمبر,تشرين_الثاني "
    "ديسمبر,كانون_الأول,كانون_الاول",
    "hi": "जन फ़र,फर मार् अप् मई जून जुल अग सित अक् नव दिस",
}
_WEEKDAYS = {
    "en": "mon(?:day)?s? tue(?:s|sday)?s? wed(?:nesday)?s? thu(?:rs|rsday)?s? fri(?:day)?s? sat(?:urday)?s? sun(?:day)?s?",
    "de": "montag\\w* dienstag\\w* mittwoch\\w* donnerstag\\w* freitag\\w* samstag\\w*|sonnabend\\w* sonntag\\w*",
    "es": "lunes martes miércoles jueves viernes sábados? domingos?",
    "ru": "понедельник\\w* вторник\\w* сред[ауые]|средам четверг\\w* пятниц\\w* суббот\\w* воскресень\\w*",
    "fr": "lundis? mardis? mercredis? jeudis? vendredis? samedis? dimanches?",
    "pt": "segunda(?:s-feiras|-feira|s) terças?(?:-feiras?)? quartas?-feiras?|quartas quintas?-feiras?|quintas "
    "sextas?(?:-feiras?)? sábados? domingos?",
    "ja": " ".join(f"{day}曜" for day in "月火水木金土日"),
    "ko": " ".join(f"{day}요일" for day in "월화수목금토일"),
    "ar": "الاثنين|الإثنين الثلاثاء ال[أا]ربعاء الخميس الجمعة السبت ال[أا]حد",
    "zh": " ".join(f"(?:周|星期|礼拜){day}" for day in ("一", "二", "三", "四", "五", "六", "[日天]")),
    "hi": "सोमवार मंगलवार बुधवार गुरुवार|बृहस्पतिवार|वीरवार शुक्रवार शनिवार रविवार|इतवार",
}
_YEAR = r"(?P<y>(?:19|20)\d\d)"
_DAY = r"(?P<d>[12]\d|3[01]|0?[1-9])"
_EDGE = {"hi": (r"(?:(?<=\s)|^)", r"(?=[\s,।.)]|$)")}
_EDGES = (r"(?<![\w\-])", r"(?![\w\-])")
_EAST = {"zh": ("年", "月", "[日号]", ""), "ja": ("年", "月", "日", ""), "ko": ("년", "월", "일", " ?")}
"""Languages that write year, month and day with a sign behind each: the signs, and what may stand between the parts."""


@lru_cache(maxsize=8)
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    if language in _EAST:
        year, month, day, gap = _EAST[language]
        return (
            re.compile(rf"{_YEAR}{year}{gap}(?P<m>1[0-2]|0?[1-9]){month}(?:{gap}{_DAY}{day})?(?!\d)"),
            re.compile(rf"(?<!\d)(?P<m>1[0-2]|0?[1-9]){month}{gap}{_DAY}{day}(?!\d)"),
            re.compile(rf"{_YEAR}{year}"),
        )
    month = f"(?P<m>{_MONTHS[language]})\\.?"
    start, end = _EDGE.get(language, _EDGES)
    forms = {
        "en": [
            rf"{_DAY}(?:st|nd|rd|th)?(?: of)? {month},? {_YEAR}",
            rf"{month} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}",
            rf"{month},? (?:of )?{_YEAR}",
            rf"{_DAY}(?:st|nd|rd|th)?(?: of)? {month}",
            rf"{month} {_DAY}(?:st|nd|rd|th)?",
        ],
        "de": [rf"{_DAY}\. ?{month} {_YEAR}", rf"{_DAY}\.(?P<m2>1[0-2]|0?[1-9])\.{_YEAR}", rf"{month} {_YEAR}", rf"{_DAY}\. ?{month}"],
        "es": [rf"{_DAY} de {month}(?: de(?:l)? {_YEAR})", rf"{month}(?: de(?:l)?)? {_YEAR}", rf"{_DAY} de {month}"],
        "fr": [rf"{_DAY}(?:er)? {month} {_YEAR}", rf"{month} {_YEAR}", rf"{_DAY}(?:er)? {month}"],
        "pt": [rf"{_DAY}(?:º|\.º)? de {month}(?: de {_YEAR})", rf"{month}(?: de)? {_YEAR}", rf"{_DAY}(?:º|\.º)? de {month}"],
        "ar": [rf"{_DAY} {month}،? {_YEAR}", rf"{month}،? {_YEAR}", rf"{_DAY} {month}"],
        "ru": [
            rf"{_DAY} {month} {_YEAR}(?: года?)?",
            rf"{_DAY}\.(?P<m2>1[0-2]|0?[1-9])\.{_YEAR}",
            rf"{month} {_YEAR}(?: года?)?",
            rf"{_DAY} {month}",
        ],
        "hi": [rf"{_DAY} {month},? {_YEAR}", rf"{month},? {_YEAR}", rf"{_DAY} {month}"],
    }
    return tuple(re.compile(f"{start}{form}{end}", re.IGNORECASE) for form in forms[language])


_ISO = re.compile(r"(?<![A-Za-z\d.\-])(?:(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?|--\d\d-\d\d)(?![A-Za-z\d\-]|[.:]\d)")


_YEARS = re.compile(r"(?<![\w\-/])((?:19|20)\d\d)(?:[-\u2013/]((?:19|20)\d\d)|/(\d\d))(?![\w\-/])")


def find_dates(text: str, language: str) -> frozenset[str]:
    """Return the dates of a canonical text: 2026-11-09, 2026-11, 2026, --11-09, --11 for a month alone, both years of 2025-2026 or 2025/26.

    Args:
        text: A text that went through `iso_dates`.
        language: ISO 639-1 code, for the names of months.
    """
    spans = [(first, second or first[:2] + short) for first, second, short in _YEARS.findall(text)]
    found = {*_ISO.findall(text), *(year for span in spans for year in span)}
    rest = _ISO.sub(" ", text)
    if language in _EAST:
        found |= {f"--{int(month):02d}" for month in re.findall(rf"(?<!\d)(1[0-2]|[1-9]){_EAST[language][1]}(?!\d)", rest)}
    elif language in _MONTHS:
        start, end = _EDGE.get(language, _EDGES)
        before = r"(?:in|of|since|until|by|every|last|next|early|late|mid) " if language == "en" else ""  # "may" and "march" are verbs too
        months = re.finditer(f"{start}{before}(?P<m>{_MONTHS[language]}){end}", rest, re.IGNORECASE)
        found |= {f"--{_month(match['m'], language):02d}" for match in months}
    return frozenset(found)


def written_dates(text: str) -> frozenset[str]:
    """Return the dates that a text, canonical or not, has in ISO 8601 already: 2026-11-09, 2026-11 and 2026."""
    return frozenset(_ISO.findall(text))


def iso_dates(text: str, language: str) -> str:
    """Return the text with its dates in ISO 8601.

    Args:
        text: A text whose numbers are in digits already.
        language: ISO 639-1 code; in a language without patterns only ISO dates are known, and they stay.

    Returns:
        The text; only dates are changed.
    """
    if language not in _MONTHS and language not in _EAST:
        return text
    for pattern in _patterns(language):
        text = pattern.sub(lambda match: _iso(match, language), text)
    return text


def _iso(match: re.Match[str], language: str) -> str:
    given = {name: value for name, value in match.groupdict().items() if value}
    month = int(given["m2"]) if "m2" in given else _month(given.get("m", ""), language)
    head = given.get("y") or "-"
    tail = f"-{month:02d}" if month else ""
    return head + tail + (f"-{int(given['d']):02d}" if "d" in given else "") + (" " if language in _EAST else "")


def _month(word: str, language: str) -> int:
    if word.isdigit() or not word:
        return int(word or 0)
    stems = _MONTH_STEMS[language].split()
    return next(number for number, stem in enumerate(stems, 1) if word.casefold().startswith(tuple(stem.replace("_", " ").split(","))))


def without_dates(text: str) -> str:
    """Return a canonical text with a semicolon in place of each date and time of day."""
    return re.sub(r"T\d\d:\d\d", " ; ", _ISO.sub(" ; ", text))


@lru_cache(maxsize=8)
def _weekday_patterns(language: str) -> tuple[re.Pattern[str], ...]:
    start, end = ("", "") if language in _EAST else _EDGE.get(language, _EDGES)
    return tuple(re.compile(f"{start}(?:{names}){end}", re.IGNORECASE) for names in _WEEKDAYS.get(language, "").split())


WEEKDAY_LANGUAGES = frozenset(_WEEKDAYS)
"""The languages whose weekdays are known."""


def weekdays(text: str, language: str) -> frozenset[int]:
    """Return the weekdays that the text names, Monday as 1 to Sunday as 7; none in a language that is not known."""
    found = {
        number
        for number, pattern in enumerate(_weekday_patterns(language), 1)
        for match in pattern.finditer(text)
        if not _plain_word(match[0])
    }
    return frozenset(found)


def _plain_word(text: str) -> bool:
    """Whether a short English weekday name stands without its capital, and so is a word of its own."""
    return text in {"mon", "wed", "sat", "sats", "sun", "suns", "weds"}


_TIMES = {
    "en": [
        (r"(\d{1,2})[:.](\d\d)\s*([ap])\.?m\b\.?", ""),
        (r"(\d{1,2})()\s*([ap])\.?m\b\.?", ""),
        (r"\b(\d{1,2})(?:[:.](\d\d))? in the ([ap])(?:fternoon)?\b", ""),
        (r"\b(\d{1,2})(?:[:.](\d\d))? in the (?:morning)\b", ""),
        (r"\b(\d{1,2})(?:[:.](\d\d))? (?:in the evening|at night)", "+720"),
        (r"half[ -]past (\d{1,2})", "+30"),
        (r"quarter past (\d{1,2})", "+15"),
        (r"quarter to (\d{1,2})", "-15"),
        (r"(\d{1,2}) o'?clock", ""),
        (r"(?<!T)\b(\d{1,2}):(\d\d)\b", ""),
    ],
    "de": [
        (r"halb (\d{1,2})\b", "-30"),
        (r"viertel nach (\d{1,2})\b", "+15"),
        (r"viertel vor (\d{1,2})\b", "-15"),
        (r"(\d{1,2})[:.](\d\d) uhr", ""),
        (r"(\d{1,2}) uhr (\d\d)\b", ""),
        (r"(\d{1,2}) uhr", ""),
        (r"(?<!T)\b(\d{1,2}):(\d\d)\b", ""),
    ],
    "es": [
        (r"\b(\d{1,2}) y media", "+30"),
        (r"\b(\d{1,2}) y cuarto", "+15"),
        (r"\b(\d{1,2}) menos cuarto", "-15"),
        (r"(?<!T)\b(\d{1,2}):(\d\d)\b", ""),
        (r"(?<=a las )(\d{1,2})\b(?!:)", ""),
    ],
    "ru": [(r"(?<!T)\b(\d{1,2}):(\d\d)\b", ""), (r"\b(\d{1,2}) (?:утра|вечера|дня|ночи)", "")],
    "zh": [(r"(\d{1,2})点半", "+30"), (r"(\d{1,2})点(?:(\d{1,2})分)?", ""), (r"(?<!T)(?<!\d)(\d{1,2})[:：](\d\d)(?!\d)", "")],
    "hi": [(r"\b(\d{1,2})\.5 बजे", "+30"), (r"\b(\d{1,2}) बजे", ""), (r"(?<!T)\b(\d{1,2}):(\d\d)\b", "")],
}
_TIME_PATTERNS = {language: [(re.compile(pattern, re.IGNORECASE), shift) for pattern, shift in rows] for language, rows in _TIMES.items()}


def iso_times(text: str, language: str) -> str:
    """Return the text with its times of day as T16:30.

    Args:
        text: A text whose numbers are in digits already.
        language: ISO 639-1 code; texts of other languages are returned as they are.

    Returns:
        The text; only times are changed.
    """
    for pattern, shift in _TIME_PATTERNS.get(language, ()):
        text = pattern.sub(lambda match, shift=shift: _time(match, shift), text)  # type: ignore[misc]
    return text


def _time(match: re.Match[str], shift: str) -> str:
    groups = [*match.groups(), None, None]
    hour, minute = int(groups[0] or 0), int(groups[1] or 0)
    if hour > 24 or minute > 59:
        return match[0]
    if groups[2]:
        hour = hour % 12 + (12 if groups[2].casefold() == "p" else 0)
    total = (60 * hour + minute + int(shift or 0)) % 1440
    return f"T{total // 60:02d}:{total % 60:02d}"
