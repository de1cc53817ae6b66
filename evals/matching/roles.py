"""Tells whether two statements exchange who does something and to whom it is done. Word order and case marks only; silent where unsure."""

from __future__ import annotations

import re

from evals.matching.reading import Reading, content, plain_letters, stem

_APPOSITION = re.compile(
    r",[^,]*\b(?:the user's|of the user|des nutzers|der nutzerin|del usuario|de la usuaria|пользователя|пользовательницы)\b[^,]*,|\([^)]*\)"
)
_SKIPPED = frozenset({"is", "are", "was", "has", "have", "had", "will", "would", "does", "did"}) | frozenset(
    {"also", "often", "usually", "always", "le", "les", "se", "lo", "la", "hat", "ist", "wird", "auch", "immer"}
)
_OWNER_FIRST = {
    "en": r"^the user (?!and\b)",
    "de": r"^(?:der|die) nutzer(?:in)? ",
    "es": r"^(?:el usuario|la usuaria) ",
    "ru": r"^пользователь(?:ница)? ",
}
_OWNER_LATER = {
    "en": r"(?<!by )\bthe user(?!'s)\b",
    "de": r"\b(?:dem|den) nutzer\b|\bih[mnr]\b",
    "es": r"\bal usuario\b|\ba la usuaria\b",
    "ru": r"\bпользовател(?:я|ю|ем|ьницу|ьнице|ьницей)\b",
}
_KIN_FIRST = {
    "en": r"^(?:the user's|his|her) (?:[a-z\-]+ ){1,3}?",
    "de": r"^(?:die|der|das) (?:\w+ )(?:des nutzers |der nutzerin )?",
    "es": r"^(?:el|la|su) (?:\w+ )(?:del usuario |de la usuaria )?",
    "ru": r"^(?:\w+ ){1,2}?",
}
_AGENT = {"en": "by", "de": "von", "es": "por"}  # before who acts, in the passive
_CHINESE_ACTS = re.compile(r"^用户[^,。]*?([给教欠送帮借])(?!用户)")
_PASSIVE = re.compile(
    r"\b(?P<left>.*?)\b(?:is|was|are|were|been|being|gets|got) (?P<verb>\w+(?:ed|en|t|de)) (?:\w+ ){0,3}?by (?P<right>.*)"
)


def roles_swapped(one: Reading, other: Reading, *, any_verb: bool = False) -> bool:
    """Return whether the roles of two parties are exchanged between two statements.

    Args:
        one: A statement.
        other: A statement.
        any_verb: Also where the verbs differ, as between "buy" and "sell", where an exchange keeps the meaning.

    Returns:
        True only where both parties and the exchange are plain to see.
    """
    if one.language != other.language:
        return False
    if one.language == "en" and not any_verb and (_passive_swap(one, other) or _passive_swap(other, one)):
        return True
    return _owner_swap(one, other, any_verb) or _owner_swap(other, one, any_verb)


def _owner_swap(acts: Reading, undergoes: Reading, any_verb: bool) -> bool:
    """Whether the owner acts on somebody in one statement, and that somebody on the owner in the other."""
    language = acts.language
    first, second = (" ".join(_APPOSITION.sub(" ", reading.folded).split()) for reading in (acts, undergoes))
    if language == "zh":
        deed = _CHINESE_ACTS.search(first)
        return bool(deed) and f"{deed[1]}用户" in second.replace("给了", "给")  # type: ignore[index]
    if language == "hi":
        return bool(_hindi_partner(first, "को") & _hindi_partner(second, "ने")) and "उपयोगकर्ता ने" in first and "उपयोगकर्ता को" in second
    if language not in _OWNER_FIRST:
        return False
    owner = re.search(_OWNER_FIRST[language], first)
    if not owner or not re.search(_OWNER_LATER[language], second) or re.search(_OWNER_FIRST[language], second):
        return False  # where the owner begins both statements, the owner acts in both
    rest = first[owner.end() :]
    agent = _AGENT.get(language, "by")
    return any(
        _written_as_name(name, acts) and f"{agent} {name}" not in first and (any_verb or verb == _verb(rest, language))
        for name, verb in _actors(second, language)
    )


def _actors(text: str, language: str) -> list[tuple[str, str]]:
    """Return the words that may be the name of who acts, at the start or after a relative, each with the verb after it."""
    starts = [0] + [match.end() for match in [re.match(_KIN_FIRST[language], text)] if match]
    found = []
    for start in starts:
        words = _words(text[start:])
        if words:
            found.append((words[0], _verb(text[start + len(words[0]) :], language)))
    return found


def _written_as_name(word: str, reading: Reading) -> bool:
    """Whether the other statement has that word, in any of its endings, with a capital after its first word."""
    capitals = [plain_letters(match) for match in re.findall(r"(?<=[\s(])[^\W\d_]\w+", reading.text) if match[0].isupper()]
    start = plain_letters(word)[: max(3, len(word) - 2)]
    return any(capital.startswith(start) for capital in capitals)


def _verb(rest: str, language: str) -> str:
    words = [word for word in _words(rest) if word not in _SKIPPED and content(word, language)]
    return stem(words[0], language) if words else ""


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]\w+", text)


def _stems(text: str, language: str) -> set[str]:
    return {stem(word, language) for word in _words(text) if content(word, language)}


def _hindi_partner(text: str, mark: str) -> set[str]:
    return {word for word in re.findall(rf"(\S+) {mark}(?=\s)", text) if word != "उपयोगकर्ता"}


def _passive_swap(passive: Reading, active: Reading) -> bool:
    """Whether "X is called by Y" meets "X calls Y"."""
    parts = _PASSIVE.search(passive.folded)
    if not parts or _PASSIVE.search(active.folded):
        return False
    verb = stem(parts["verb"], "en")[:4]
    at = next((match for match in re.finditer(r"\w+", active.folded) if match[0].startswith(verb)), None)
    if at is None:
        return False
    left, right = _stems(parts["left"], "en"), _stems(parts["right"], "en")
    before, after = _stems(active.folded[: at.start()], "en"), _stems(active.folded[at.end() :], "en")
    return bool((left - right) & (before - after)) and bool((right - left) & (after - before))
