"""What a stored text drops of a statement that it should hold, told by numbers, dates, names and cue words. No model is asked.

A merged statement says more than each of its parts, so a matcher, which asks whether two statements say the same, cannot tell this. What
is here looks one way only: from the statement to the text. It uses what the guards of `evals.matching` can see, and is blind where they
are: names are seen in three languages (`evals.matching.reading.NAMED`), a denial in other words ("declined") counts as one, and what
a text *adds* is never looked at. Both are read in the language of the case.
"""

from __future__ import annotations

from collections.abc import Iterator

from evals.matching.guards import ANY, Code, Name, Number
from evals.matching.reading import Reading, read

MOST = 0.5
"""The share of a statement's content words below which most of it is gone."""
NEARLY_ALL = 0.85
"""The share from which a text holds a statement whose words it has taken over. It is above four of five, as one word in five is what tells
the son from the daughter: of 309 memories of train and dev that no right decision touches, the new fact, about something else, drops no
detail and has half of the words of 11, and nearly all of none."""

_DROPS = (Number(), Code(), Name())  # each objects if, and only if, the first lacks something of the second
_KEPT_CUES = (("negation", "the negation"), ("restriction", "the condition"))
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NEW_CUES = ("negation", "former", "doubt")


def detail_dropped(text: str, statement: str, language: str) -> str | None:
    """Return the first detail of a statement that a text drops, in words, or None.

    That is an amount, a place in an order, a date, time of day or weekday, a name or identifier that the statement has and the text has
    not, or a denial or a condition of which the text has no sign. The same amount in another unit, a date that is more precise, and a time
    half a day off ("4:30", "16:30") are kept. The text may say more.

    Args:
        text: What is stored.
        statement: What it should hold.
        language: ISO 639-1 code of both.
    """
    return next(_details(read(text, language), read(statement, language)), None)


def dropped(text: str, statement: str, language: str) -> str | None:
    """Return what a text drops of a statement, in words, or None: a detail, or more than half of the content words.

    Args:
        text: What is stored.
        statement: What it should hold.
        language: ISO 639-1 code of both.
    """
    detail = detail_dropped(text, statement, language)
    few = _share(read(text, language), read(statement, language)) < MOST
    return detail or ("most of the words" if few else None)


def keeps(text: str, statement: str, language: str, beside: str = "") -> bool:
    """Return whether a text has taken over a statement: it drops no detail of it and has nearly all of its words.

    A denial, a past or a doubt that is neither in the statement nor in what it was merged with is taken for one of the statement. A
    statement in other words is missed; whether the text says the same is for a matcher.

    Args:
        text: What is stored.
        statement: What it should hold.
        language: ISO 639-1 code of all.
        beside: What the statement was merged with.
    """
    told, wanted, other = (read(one, language) for one in (text, statement, beside))
    if _share(told, wanted) < NEARLY_ALL or any(_details(told, wanted)):
        return False
    return not any(told.cue(cue) and not (wanted.cue(cue) or other.cue(cue)) for cue in _NEW_CUES)


def _details(told: Reading, wanted: Reading) -> Iterator[str]:
    for guard in _DROPS:
        reason = guard.check(told, wanted) if guard.languages is ANY or wanted.language in guard.languages else None
        if reason is not None:
            yield f"{'an amount' if guard.name == 'number' else f'a {guard.name}'}: {reason}"
    yield from (f"the date {one.removeprefix('--')}" for one in sorted(wanted.dates) if not _dated(one, told))
    yield from (f"the time {one[1:]}" for one in sorted(wanted.times) if not any(_half_day(one, other) for other in told.times))
    yield from (f"the weekday {_DAYS[day - 1]}" for day in sorted(wanted.weekdays - told.weekdays))
    for cue, name in _KEPT_CUES:
        if wanted.cue(cue) and not (told.cue(cue) or told.cue(f"{cue}_soft")):
            yield name


def _dated(date: str, told: Reading) -> bool:
    """Whether a text has a date that is at least as precise; of one without a year in any year."""
    if not date.startswith("--"):
        return any(one.startswith(date) for one in told.dates)
    return any((one if one.startswith("--") else f"-{one[4:]}").startswith(date) for one in told.dates)


def _half_day(one: str, other: str) -> bool:
    """Whether two times of day are equal or twelve hours apart."""
    first, second = (60 * int(time[1:3]) + int(time[4:6]) for time in (one, other))
    return (first - second) % 720 == 0


def _share(told: Reading, wanted: Reading) -> float:
    """The share of the statement's content words that the text has, 0 to 1; 1 where it has none."""
    stems = wanted.stems()
    return len(stems & told.stems()) / len(stems) if stems else 1.0
