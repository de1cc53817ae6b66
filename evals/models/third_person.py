"""First-person statements put in the third person, by tables: only what is safe; anything else comes back as it was.

English: every "I" must be followed by a verb from the tables, and no "we", "us", "our" or "you" may be in the sentence. Chinese: verbs do
not inflect, so the pronoun alone changes. In the other languages the verb (in Russian and Hindi its gender too) agrees with the subject:
out of reach here.
"""

from __future__ import annotations

import re

_CONTRACTIONS = {"'m": " is", "'ve": " has", "'ll": " will"}
_FIXED = {
    "am": "is", "have": "has", "do": "does", "was": "was", "had": "had", "did": "did", "will": "will", "can": "can", "must": "must",
    "should": "should", "don't": "does not", "didn't": "did not", "can't": "cannot", "cannot": "cannot", "won't": "will not",
    "haven't": "has not", "wasn't": "was not", "go": "goes", "study": "studies", "teach": "teaches", "watch": "watches",
    "went": "went", "got": "got", "grew": "grew", "met": "met", "lost": "lost", "left": "left", "quit": "quit", "bought": "bought",
    "sold": "sold", "took": "took", "made": "made", "found": "found", "began": "began", "became": "became", "broke": "broke",
    "gave": "gave", "kept": "kept", "wrote": "wrote",
}  # fmt: skip
_REGULAR_WORDS = (
    "live work like love hate prefer want need use play own drive run speak plan avoid drink eat sleep know think feel cook train commute "
    "volunteer manage lead collect read write keep enjoy dislike take make start swim cycle hike travel rent share support grow"
)
_REGULAR = frozenset(_REGULAR_WORDS.split())
_ADVERBS = "really|always|usually|often|never|also|only|still|mostly|recently|currently|actually|generally|mainly|just|now|both"
_SUBJECT = re.compile(rf"\bI(?P<short>'(?:m|ve|ll))?(?P<adverb>(?:\s+(?:{_ADVERBS}))*)(?:\s+(?P<verb>[a-z]+(?:n't)?))?\b(?!')")
_LEFT_OVER = re.compile(r"\b(?:I|we|us|our|ours|you|your|let's)\b", re.IGNORECASE)
_PRONOUNS = ((re.compile(r"\bmyself\b"), "themselves"), (re.compile(r"\bmine\b"), "theirs"), (re.compile(r"\bme\b"), "them"))
_CLAUSE_JOINED = re.compile(r"[;:]|\b(?:he|she|they|his|her|their|him|them)\b", re.IGNORECASE)


def _third(verb: str) -> str | None:
    """Return the verb as it follows "the user", or None where the tables do not know it."""
    if verb in _FIXED:
        return _FIXED[verb]
    if verb in _REGULAR:
        return verb + "s"
    return verb if verb.endswith("ed") and len(verb) > 4 else None


def _replace_subject(match: re.Match[str]) -> str:
    short, adverb, verb = match["short"], match["adverb"] or "", match["verb"]
    if short:  # "I'm really tired": what follows the contraction stays
        return f"the user{_CONTRACTIONS[short]}{adverb}" + (f" {verb}" if verb else "")
    third = _third(verb) if verb else None
    return match.group() if third is None else f"the user{adverb} {third}"


def english_third_person(sentence: str) -> str:
    """Return "I am X", "I have X", "my X" as a statement about "The user", or the sentence unchanged where that is not safe.

    "My" becomes "the user's" where the sentence has no other subject of that name yet, and "their" after "the user". Sentences that also
    speak of a third person stay, as "their" and "them" would be ambiguous.
    """
    plain = sentence.replace("’", "'")
    if _CLAUSE_JOINED.search(plain):
        return sentence
    told = _SUBJECT.sub(_replace_subject, plain)
    for pattern, pronoun in _PRONOUNS:
        told = pattern.sub(pronoun, told)
    told = _my(told)
    if _LEFT_OVER.search(told):
        return sentence
    return told[:1].upper() + told[1:]


def _my(text: str) -> str:
    """Replace each "my": the first mention of the user becomes "the user's", a later one "their"."""

    def replace(match: re.Match[str]) -> str:
        before = text[: match.start()].lower()
        return "their" if "the user" in before or re.search(r"\bmy\b", before) else "the user's"

    return re.sub(r"\b[Mm]y\b", replace, text)


def chinese_third_person(sentence: str) -> str:
    """Return a Chinese sentence with 我 replaced by 用户; one with 我们 or 咱 stays, as others are meant too."""
    return (
        sentence
        if "我们" in sentence or "咱" in sentence
        else sentence.replace("本人", "我").replace("自我", "自\0").replace("我", "用户").replace("\0", "我")
    )
