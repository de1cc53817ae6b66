"""Writes a statement in one form before it is compared: who it is about, contractions, numbers, dates and times. It judges nothing.

The owner of the memories becomes "The user" (or the word of the language) wherever they are the subject: "I", "user", "the
owner", "User Jacinta", "Jacinta (the user)" and the owner's names. Elsewhere a name stays, since it may be part of another
("Jacinta's Bakery").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from evals.matching.dates import iso_dates, iso_times
from evals.matching.numbers import digits

SUBJECTS = {
    "en": "The user", "de": "Der Nutzer", "es": "El usuario", "ru": "Пользователь", "zh": "用户", "hi": "उपयोगकर्ता",
    "fr": "L'utilisateur", "pt": "O usuário", "ja": "ユーザー", "ko": "사용자", "ar": "المستخدم",
}  # fmt: skip
"""What the owner is called, by language; other languages use the English words."""

_LONGEST = 2000  # characters that are compared: a statement is far shorter, and a runaway reply must not cost minutes
_CLAUSE = r"(?:^|(?<=[.;:!?—–] )|(?<=, )|(?<=\bthat )|(?<=\bbecause )|(?<=\band ))"
_TEENS = "eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split()  # noqa: SIM905
_TENS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth".split()  # noqa: SIM905
_CONTRACTIONS = [
    (r"\bcan['’]t\b", "cannot"),
    (r"\bwon['’]t\b", "will not"),
    (r"\bshan['’]t\b", "shall not"),
    (r"(\w)n['’]t\b", r"\1 not"),
    (r"\bI['’]m\b", "I am"),
    (r"(\w)['’]re\b", r"\1 are"),
    (r"(\w)['’]ve\b", r"\1 have"),
    (r"(\w)['’]ll\b", r"\1 will"),
    (r"\b(I|you|he|she|we|they)['’]d\b", r"\1 would"),
    (r"\b(it|he|she|that|there|here|what|who)['’]s\b", r"\1 is"),
    (r"\bno\. ?(?=\d)", "number "),
    *[(rf"\b{word}\b", f"{number}th") for number, word in enumerate(_TEENS, 11)],
    *[(rf"\b{word}\b", f"{10 * number}th") for number, word in enumerate(_TENS, 2)],
    (r"\b[Tt]wice\b", "2 times"),
    (r"\b[Tt]hrice\b", "3 times"),
    (r"\b[Aa]n? (\w+) and a half\b", r"1.5 \1s"),
    (r"\b[Hh]alf an hour\b", "30 minutes"),
    (r"\b[Hh]alf a dozen\b", "6"),
]
_ENGLISH = [
    (r"^(?i:the )?(?i:user|owner) [A-Z][\w\-]+(?='s\b| )(?! [A-Z])", "The user"),
    (r"^[A-Z][\w\-]+,? \(?(?:who is )?the (?:user|owner)\)?,?(?= )", "The user"),
    (rf"{_CLAUSE}(?i:the )?(?i:user|owner)(?='s\b|[ ,])", "The user"),
    (r"(?<=\bfor )user\b", "the user"),
    (r"(?<![Tt]he )\buser(?= owns\b| has\b| is\b)", "the user"),
    (r"\bI am\b", "The user is"),
    (r"\bI (was|have|had)\b", lambda m: "The user " + {"have": "has"}.get(m[1], m[1])),
    (r"\bI\b", "The user"),
    (r"\b[Mm]yself\b", "the user"),
    (r"\b(?:[Mm]y own|[Mm]y|[Mm]ine)\b", "the user's"),
    (r"\b[Mm]e\b", "the user"),
]
_SUBJECT_RULES: dict[str, list[tuple[str, str | Callable[[re.Match[str]], str]]]] = {
    "en": _ENGLISH,  # type: ignore[dict-item]
    "de": [
        (r"\bIch bin\b|\bich bin\b", "Der Nutzer ist"),
        (r"\bIch habe\b|\bich habe\b", "Der Nutzer hat"),
        (r"\b[Ii]ch\b", "Der Nutzer"),
        (r"\bDie Nutzerin\b", "Der Nutzer"),
        (r"\bdie Nutzerin\b", "der Nutzer"),
        (r"\b[Mm]ir\b", "dem Nutzer"),
        (r"\bmich\b", "den Nutzer"),
        (r"^Nutzer(?:in)? ", "Der Nutzer "),
    ],
    "es": [
        (r"\bLa usuaria\b", "El usuario"),
        (r"\bla usuaria\b", "el usuario"),
        (r"^[Uu]suari[oa] ", "El usuario "),
        (r"^Yo\b", "El usuario"),
        (r"^Soy\b", "El usuario es"),
        (r"^Tengo\b", "El usuario tiene"),
        (r"^Estoy\b", "El usuario está"),
        (r"^No tengo\b", "El usuario no tiene"),
        (r"^He (?=\w+[dt]o\b)", "El usuario ha "),
        (r"^Vivo\b", "El usuario vive"),
        (r"^Trabajo\b", "El usuario trabaja"),
        (r"^Quiero\b", "El usuario quiere"),
        (r"^Me (?=\w+(?:an?|en?|ó|aron|ieron)\b)", "Al usuario le "),
    ],
    "ru": [
        (r"\bПользовательница\b", "Пользователь"),
        (r"\bпользовательница\b", "пользователь"),
        (r"\bЯ\b|\bя\b", "Пользователь"),
        (r"\b[Уу] меня\b", "У пользователя"),
        (r"\b[Мм]не\b", "Пользователю"),
        (r"\b[Мм]еня\b", "пользователя"),
    ],
    "fr": [
        (r"\b[Ll]'utilisatrice\b", "L'utilisateur"),
        (r"^[Jj]e suis\b", "L'utilisateur est"),
        (r"^[Jj]'ai\b", "L'utilisateur a"),
        (r"^(?:[Jj]e |[Jj]')", "L'utilisateur "),
        (r"^[Uu]tilisa(?:teur|trice) ", "L'utilisateur "),
    ],
    "pt": [
        (r"\b(?:[Oo] (?:usuário|utilizador)|[Aa] (?:usuária|utilizadora))\b", "O usuário"),
        (r"\b(d|n|a)(?:o (?:usuário|utilizador)|a (?:usuária|utilizadora))\b", r"\1o usuário"),
        (r"\bà (?:usuária|utilizadora)\b", "ao usuário"),
        (r"^(?:[Uu]suári[oa]|[Uu]tilizadora?) ", "O usuário "),
        (r"^(?:[Ee]u )?[Tt]enho\b", "O usuário tem"),
        (r"^(?:[Ee]u )?[Ss]ou\b", "O usuário é"),
        (r"^[Ee]u\b", "O usuário"),
    ],
    "ja": [(r"^(?:私|僕|俺|わたし)(?=[はがのも])", "ユーザー")],
    "ko": [(r"^(?:나는|저는|난|전) ", "사용자는 "), (r"^(?:나의|저의|내|제) ", "사용자의 ")],
    "ar": [("المستخدمة", "المستخدم"), (r"^أنا ", "المستخدم ")],
    "zh": [(r"^(?:我|本人|用户本人)(?!们|国)", "用户"), (r"(?<=[，。；：])我(?!们|国)", "用户"), (r"我的", "用户的")],
    "hi": [
        (r"^मैंने(?=\s)", "उपयोगकर्ता ने"),
        (r"^मैं(?=\s)", "उपयोगकर्ता"),
        (r"^मुझे(?=\s)|^मुझको(?=\s)", "उपयोगकर्ता को"),
        (r"(?:^|(?<=\s))मेरा(?=\s)", "उपयोगकर्ता का"),
        (r"(?:^|(?<=\s))मेरी(?=\s)", "उपयोगकर्ता की"),
        (r"(?:^|(?<=\s))मेरे(?=\s)", "उपयोगकर्ता के"),
    ],
}
_JOINTS = {
    "en": [(r"(?<!^)\bThe user\b", "the user")],
    "de": [(r"(?<!^)\bDer Nutzer\b", "der Nutzer")],
    "es": [(r"\ba [Ee]l usuario\b", "al usuario"), (r"\bde [Ee]l usuario\b", "del usuario")],
    "ru": [(r"(?<!^)\bПользователь", "пользователь")],
}
_WORDS_FOR_NUMBERS = {
    "de": [
        (r"\b(zwei|drei|vier|fünf|sechs|zehn)(?=(?:jährig|monatig|wöchig|tägig|stündig))", r"\1 "),
        (r"\bzweimal\b", "2 Mal"),
        (r"\bdreimal\b", "3 Mal"),
    ],
    "es": [(r"\bhora y media\b", "1.5 horas"), (r"\bmedia hora\b", "30 minutos")],
    "ru": [
        (r"\bдважды\b", "2 раза"),
        (r"\bтрижды\b", "3 раза"),
        (r"\bполчаса\b", "30 минут"),
        (r"\b[Дд]вух(?=месячн|летн|дневн|недельн|часов)", "2-"),
        (r"\b[Тт]р[её]х(?=месячн|летн|дневн|недельн|часов)", "3-"),
        (r"\b[Чч]етыр[её]х(?=месячн|летн|дневн|недельн|часов)", "4-"),
        (r"\b[Пп]яти(?=месячн|летн|дневн|недельн|часов)", "5-"),
        (r"\b[Шш]ести(?=месячн|летн|дневн|недельн|часов)", "6-"),
    ],
    "hi": [(r"आधा घंटा|आधे घंटे", "30 मिनट")],
    "zh": [("半小时|半个小时", "30分钟")],
}


@lru_cache(maxsize=2_048)
def canonicalise(text: str, language: str, owner_names: tuple[str, ...] = ()) -> str:
    """Return the statement in one form that still reads as a sentence of its language.

    Args:
        text: A statement; only its first 2,000 characters are used.
        language: ISO 639-1 code. Languages without a subject in `SUBJECTS` get spaces and notation only.
        owner_names: What the owner is called.

    Returns:
        The statement; equal facts in different clothes are nearer to each other, and the result is its own canonical form in
        all that concerns numbers and dates.
    """
    text = text[:_LONGEST]
    text = " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").split())
    text = _owner(text, language, owner_names)
    for pattern, replacement in _CONTRACTIONS if language == "en" else _WORDS_FOR_NUMBERS.get(language, ()):
        text = re.sub(pattern, replacement, text)
    for rule, subject in _SUBJECT_RULES.get(language, ()):
        text = re.sub(rule, subject, text)
    for pattern, replacement in _JOINTS.get(language, ()):
        text = re.sub(pattern, replacement, text)
    return iso_dates(iso_times(digits(text, language), language), language)


def _owner(text: str, language: str, names: tuple[str, ...]) -> str:
    subject = SUBJECTS.get(language, SUBJECTS["en"])
    for name in sorted(filter(str.strip, names), key=len, reverse=True):
        known = re.escape(" ".join(name.split()))
        edge = r"(?=的|(?!的))" if language == "zh" else r"(?=$|'s\b|[\s,.;:।])(?! [A-Z])"
        text = re.sub(rf"{_CLAUSE}(?i:{known})(?: \((?:the )?(?:user|owner)\))?{edge}", subject, text)
    return text
