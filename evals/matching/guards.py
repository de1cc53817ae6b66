"""Guards refuse a pair that similarity proposes, because one fact in it differs. A guard never proposes a match.

Each guard looks at the features of two statements (`evals.matching.reading`), declares the languages that it can read, and
answers with a reason or None. Guards hold only where both statements are in their languages; number and ISO date hold in all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from evals.matching import cues
from evals.matching.dates import WEEKDAY_LANGUAGES
from evals.matching.quantities import Quantity
from evals.matching.reading import NAMED, UNSPACED, Reading, content, plain_letters, stem
from evals.matching.roles import roles_swapped

_CLOSE = 0.65  # between the word overlap of dev pairs that differ in polarity and that of paraphrases that only seem to
ANY = frozenset({"*"})
"""A guard for every language."""


class Guard(Protocol):
    """One reason to refuse.

    Attributes:
        name: Short name for reports ("polarity").
        languages: ISO 639-1 codes in which the guard can read a statement, or `ANY`.
    """

    name: str
    languages: frozenset[str]

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return why the two cannot state the same, or None."""
        ...


class Number:
    """Amounts differ, or one of the statement's is missing. One ("a", "one") does not count, as it is mostly an article."""

    name, languages = "number", ANY

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the amounts that differ, or None."""
        missing = _said_as_place(_unmatched(gold.quantities, predicted.quantities), predicted.ordinals)
        added = _said_as_place(_unmatched(predicted.quantities, gold.quantities), gold.ordinals)
        if missing and added:
            return f"{added[0].said} vs {missing[0].said}"
        if missing:
            return f"{missing[0].said} is missing"
        if predicted.ordinals and gold.ordinals and not predicted.ordinals & gold.ordinals:
            return f"place {min(predicted.ordinals)} vs {min(gold.ordinals)}"
        return None


class Date:
    """Dates or times of day contradict each other. A date that is less precise, or missing, does not."""

    name, languages = "date", ANY

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the dates that differ, or None."""
        for fits, mine, theirs in ((_dates_fit, predicted.dates, gold.dates), (_times_fit, predicted.times, gold.times)):
            odd = sorted(one for one in mine if not any(fits(one, other) for other in theirs))
            lost = sorted(other for other in theirs if not any(fits(one, other) for one in mine))
            if odd and lost:
                return f"{odd[0].removeprefix('--')} vs {lost[0].removeprefix('--')}"
        return None


class Weekday:
    """The weekdays named have none in common."""

    name, languages = "weekday", WEEKDAY_LANGUAGES

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the weekdays, or None."""
        if predicted.weekdays and gold.weekdays and not predicted.weekdays & gold.weekdays:
            return f"day {min(predicted.weekdays)} vs {min(gold.weekdays)} of the week"
        return None


class Polarity:
    """One statement denies what the other asserts, or they differ in "none", "some" and "all", or in a condition ("only", "unless").

    Within a language it acts only where the two share most of their words, as a denial in other words is often none ("declined").
    """

    name, languages = "polarity", cues.LANGUAGES

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return which statement denies or restricts, or None."""
        if predicted.language == gold.language and _overlap(predicted, gold) < _CLOSE:
            return None
        for denied, other, which in ((predicted, gold, "prediction"), (gold, predicted, "statement")):
            if _denies(denied, other):
                return f"only the {which} has a negation"
            if denied.cue("restriction") and not (other.cue("restriction") or other.cue("restriction_soft")):
                return f"only the {which} has a condition"
        ours, theirs = (cues.groups("quantity", reading.folded, reading.language) for reading in (predicted, gold))
        return f"{min(ours)} vs {min(theirs)}" if ours and theirs and not ours & theirs else None


class Antonym:
    """The two name opposite poles of one concept, and the roles are not exchanged ("younger than B" is "B is older")."""

    name, languages = "antonym", cues.LANGUAGES

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the opposite words' concept, or None."""
        return "opposite words" if opposed(predicted, gold) and not _turned(predicted, gold) else None


class Order:
    """Who does it to whom is exchanged: "A lent B" against "B lent A", also by passive."""

    name, languages = "order", cues.LANGUAGES

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return that the roles are exchanged, or None."""
        return "roles are exchanged" if roles_swapped(predicted, gold) and not opposed(predicted, gold) else None


class Subject:
    """The fact is told of another person: another relative, or the owner instead of a relative."""

    name, languages = "subject", cues.LANGUAGES

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the two subjects, or None."""
        if predicted.kin and gold.kin and not predicted.kin & gold.kin and not _capitals(predicted) & _capitals(gold):
            return f"{min(predicted.kin)} vs {min(gold.kin)}"
        for one, other in ((predicted, gold), (gold, predicted)):
            if other.kin and not one.kin and _about_owner(one) and _about_relative(other):
                return f"the owner vs the owner's {min(other.kin)}"
            stranger = _stranger(other)
            if stranger and _about_owner(one) and stranger not in one.folded:
                return f"the owner vs {stranger}"
        return None


class Code:
    """Each statement has a path, address or identifier that the other lacks, or the prediction lacks one of the statement's."""

    name, languages = "code", ANY

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the identifiers, or None."""
        added, missing = sorted(predicted.codes - gold.codes), sorted(gold.codes - predicted.codes)
        if added and missing:
            return f"{added[0]} vs {missing[0]}"
        return f"{missing[0]} is missing" if missing else None


class Name:
    """Each statement has a proper name that the other lacks, or the prediction lacks one of the statement's."""

    name, languages = "name", NAMED

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the names, or None."""
        if predicted.language != gold.language:
            return None  # names change with the language ("Munich", "München")
        added, missing = _names_lacking(predicted, gold), _names_lacking(gold, predicted)
        if added and missing:
            return f"{added[0]} vs {missing[0]}"
        return f"{missing[0]} is missing" if missing else None


class Status:
    """Planned against done, former against current, supposed against certain."""

    name, languages = "status", cues.LANGUAGES

    def check(self, predicted: Reading, gold: Reading) -> str | None:
        """Return the two states, or None."""
        for one, other, order in ((predicted, gold, "{} vs {}"), (gold, predicted, "{1} vs {0}")):
            if one.cue("doubt") and not (other.cue("doubt") or other.cue("doubt_soft")):
                return order.format("supposed", "certain")
            if one.cue("plan") and other.cue("done") and not (one.cue("done") or other.cue("plan")):
                return order.format("planned", "done")
            if one.cue("former") and not (other.cue("former") or other.cue("former_soft")):
                return order.format("former", "current")
        return None


GUARDS: tuple[Guard, ...] = (Number(), Date(), Weekday(), Polarity(), Status(), Antonym(), Order(), Subject(), Name(), Code())
"""All guards, in the order in which they are asked; the first that refuses is reported."""


def objections(predicted: Reading, gold: Reading) -> Iterator[tuple[str, str]]:
    """Give name and reason of each guard that refuses, in the order in which they are asked.

    Args:
        predicted: Features of the prediction.
        gold: Features of the statement's nearest phrase.
    """
    for guard in GUARDS:
        if guard.languages is ANY or {predicted.language, gold.language} <= guard.languages:
            reason = guard.check(predicted, gold)
            if reason:
                yield guard.name, reason


def refuse(predicted: Reading, gold: Reading) -> tuple[str, str] | None:
    """Return name and reason of the first guard that refuses, or None."""
    return next(objections(predicted, gold), None)


def opposed(predicted: Reading, gold: Reading) -> bool:
    """Return whether the two name opposite poles of one concept."""
    shared = predicted.poles.keys() & gold.poles.keys()
    same_actor = _about_owner(predicted) and _about_owner(gold)
    return any(not predicted.poles[number] & gold.poles[number] and (same_actor or not cues.converse(number)) for number in shared)


def _turned(predicted: Reading, gold: Reading) -> bool:
    """Whether a negation or an exchange of roles makes up for an opposite word."""
    return predicted.cue("negation") != gold.cue("negation") or roles_swapped(predicted, gold, any_verb=True)


def _said_as_place(these: list[Quantity], places: frozenset[int]) -> list[Quantity]:
    """Return the amounts that are not in `places` either: "turns 90" is "has her 90th birthday"."""
    return [one for one in these if one.value not in places]


def _overlap(one: Reading, other: Reading) -> float:
    """Return the share of the shorter statement's stems that the other has too, 0 to 1."""
    mine, theirs = one.stems(), other.stems()
    return len(mine & theirs) / max(1, min(len(mine), len(theirs)))


def _unmatched(these: tuple[Quantity, ...], those: tuple[Quantity, ...]) -> list[Quantity]:
    return [one for one in these if one.value != 1 and not any(one.same(other) for other in those)]


def _dates_fit(one: str, other: str) -> bool:
    """Whether two dates can be one day: they agree in every part that both have."""
    parts = [(date[2:].split("-") if date.startswith("--") else date.split("-")) for date in (one, other)]
    if one.startswith("--") != other.startswith("--"):
        parts = [part if date.startswith("--") else part[1:] for part, date in zip(parts, (one, other), strict=True)]
    return all(left == right for left, right in zip(*parts, strict=False))


def _times_fit(one: str, other: str) -> bool:
    """Whether two times are equal, or half a day apart (a text without "am" or "pm" leaves that open)."""
    first, second = (60 * int(time[1:3]) + int(time[4:6]) for time in (one, other))
    return (first - second) % 720 == 0


def _denies(denied: Reading, other: Reading) -> bool:
    """Whether only `denied` has a negation, and something near the negation is in the other statement too."""
    hits = cues.spans("negation", denied.folded, denied.language)
    if not hits or other.cue("negation") or other.cue("negation_soft"):
        return False
    if denied.language != other.language:
        return True
    shared = other.stems()
    return any(_near(denied, start, end) & shared for start, end in hits)


def _near(reading: Reading, start: int, end: int) -> frozenset[str]:
    """Return the stems of the content words around a cue: 30 characters before and after (without spaces, 6)."""
    reach = 6 if reading.language in UNSPACED else 30
    before, after = reading.folded[max(0, start - reach) : start], reading.folded[end : end + reach]
    if reading.language in UNSPACED:
        beside = before if reading.language == "ja" else after  # Japanese denies behind the verb, Chinese before it
        return frozenset(beside[at : at + 2] for at in range(max(0, len(beside) - 1)))
    near = re.findall(r"[\w\u0900-\u0963\u0966-\u097f]+", f"{before} | {after}")
    return frozenset(stem(word, reading.language) for word in near if content(word, reading.language))


_OWNER = {
    "en": r"^(?:[^,]*, )?the user(?!'s)\b",
    "de": r"^(?:der|die) nutzer(?:in)?\b",
    "es": r"^el usuario\b|^la usuaria\b",
    "ru": r"^пользователь\b|^у пользовател\w+\b",
    "zh": r"^用户(?!的)",
    "hi": r"^उपयोगकर्ता(?! (?:का|की|के) (?!पास))",
    "fr": r"^l'utilisateur\b",
    "pt": r"^o usuário\b|^ao usuário\b",
    "ja": r"^ユーザー(?!の)",
    "ko": r"^사용자(?!의)",
    "ar": r"^(?:\w+ )?المستخدم\b",
}
_OWNERS = {
    "en": r"the user's|(?:his|her) ",
    "de": r"des nutzers|der nutzerin|(?:seine|ihre)\w*",
    "es": r"del usuario|de la usuaria|\bsu\b",
    "ru": r"пользовател(?:я|ьницы)",
    "zh": r"用户的|用户(?=[妻女儿母父丈朋同哥姐弟妹])",
    "hi": r"उपयोगकर्ता (?:का|की|के)",
    "fr": r"de l'utilisateur|\b(?:son|sa|ses)\b",
    "pt": r"d[oa] usuári[oa]|\b(?:seus?|suas?)\b",
    "ja": r"ユーザーの",
    "ko": r"사용자의",
    "ar": r"\w+ المستخدم\b",
}

_STRANGER = {
    "en": (
        r"can|cannot|does|did|must|should|would|needs|hates|loves|is|was|has|had|will|wants|lives|works|likes|plays|studies|owns|takes|teaches|moved|got",
        r"user|users|his|her|him|he|she|they|their|them",
    ),
    "es": (r"es|está|fue|tiene|tuvo|va|vive|trabaja|quiere|ha|toma|estudia|enseña", r"usuari[oa]|su|sus|le|se|lo|la"),
    "ru": (r"живёт|работает|имеет|хочет|сидит|учится|любит|был|была|будет|болеет", r"пользовател\w+|его|её|ему|ей|свой|своя|свою|он|она"),
}


def _about_owner(reading: Reading) -> bool:
    return reading.language in _OWNER and bool(re.search(_OWNER[reading.language], reading.folded))


def _capitals(reading: Reading) -> frozenset[str]:
    """Return the content words with a capital, wherever they stand."""
    found = re.findall(r"[^\W\d_][\w\-]+", reading.text)
    return frozenset(word.casefold() for word in found if word[0].isupper() and content(word.casefold(), reading.language))


def _about_relative(reading: Reading) -> bool:
    """Whether a relative of the owner is the subject: the owner stands only as a possessor."""
    return bool(re.search(_OWNERS[reading.language], reading.folded)) and not _about_owner(reading)


def _stranger(reading: Reading) -> str | None:
    """Return the name that a statement begins with, where a verb follows and no word stands, or may stand, for the owner."""
    if reading.language not in _STRANGER:
        return None
    verbs, owner = _STRANGER[reading.language]
    found = re.match(rf"([^\W\d_]\w+)(?: [^\W\d_a-zа-яё]\w+)* (?:{verbs})\b", reading.text)
    return found[1].casefold() if found and found[1][0].isupper() and not re.search(rf"\b(?:{owner})\b", reading.folded) else None


def _names_lacking(these: Reading, those: Reading) -> list[str]:
    """Return the names of `these` that no word of `those` begins like, and no abbreviation in `those` may stand for."""
    known = [part for word in those.words for part in re.split(r"[\W_]+", plain_letters(word))]
    initials = {letter for word in re.findall(r"\b[A-Z][A-Z0-9]{1,4}s?\b", those.text) for letter in word.casefold()}
    return sorted(
        name
        for name in these.names - those.names
        if name[0] not in initials and not any(_alike(name, word, these.language) for word in known)
    )


def _alike(name: str, word: str, language: str) -> bool:
    shorter = min(len(name), len(word))
    length = min(4, max(2, shorter - 1)) if language == "ru" else max(3, min(4, shorter))  # Russian names change their endings
    return name[:length] == word[:length]
