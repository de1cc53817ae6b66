"""The baseline with rules: first-person statements by pattern, in English, German, Spanish, Chinese, Russian and Hindi.

It knows no world and parses nothing. It keeps a user's sentence that speaks of the speaker, unless it asks, supposes, orders or tells a
secret, and grades it by a few cue words. English and Chinese statements are put in the third person where that is safe
(`evals.models.third_person`); the others stay as they were said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from evals.cases import Case
from evals.models.base import Fingerprint
from evals.models.baselines import reply_text, user_sentences
from evals.models.third_person import chinese_third_person, english_third_person


def _words(alternatives: str) -> re.Pattern[str]:
    """Return a pattern for whole words; a word's neighbours must be neither letters nor combining marks (Devanagari vowel signs)."""
    inside = r"\w\u0900-\u0963\u0966-\u097f"
    return re.compile(rf"(?<![{inside}])(?:{alternatives})(?![{inside}])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Language:
    """The patterns of one language.

    Attributes:
        typical: Function words that tell the language from others in its script.
        first: The speaker is spoken of.
        skip: Supposed, wished for, or asked; not a statement of fact.
        order: The sentence begins as an order or a request to the assistant.
        weighty: Health and life: salience 0.9.
        durable: Home, work, family, diet, habits, preferences: 0.7.
        passing: Of today only: 0.3.
    """

    typical: re.Pattern[str]
    first: re.Pattern[str]
    skip: re.Pattern[str]
    order: re.Pattern[str]
    weighty: re.Pattern[str]
    durable: re.Pattern[str]
    passing: re.Pattern[str]


_ENGLISH = _Language(
    typical=_words("the|and|is|are|to|of|in|for|that|it|with|my|me|i|am|was|have|has|you|a|an|at|this|not|on|we"),
    first=_words(r"i|i['’](?:m|ve|ll|d)|my|mine|we|we['’](?:re|ve|ll)|our"),
    skip=_words(
        "if|would|wouldn['’]t|could|might|maybe|perhaps|imagine|suppose|wish|what|why|how about|i['’]d|wondering|"
        "i (?:want|need) you to|help me|i (?:need|want) (?:some )?help|used to think"
    ),
    order=_words(
        "(?:please|can|could|would|will|help|tell|show|give|write|fix|explain|summari[sz]e|translate|let|make|find|check|do|does|is|are)"
    ),
    weighty=_words(
        "allerg\\w*|diagnos\\w*|pregnan\\w*|epilep\\w*|diabet\\w*|coeliac|celiac|asthma\\w*|cancer|died|sober|widow\\w*|divorc\\w*|surgery|anaphyla\\w*"
    ),
    durable=_words(
        "live[sd]?|living|moved|work(?:s|ed)?|job|born|married|wife|husband|partner|son|daughter|kids?|children|sister|brother|mother|father|"
        "vegan|vegetarian|always|never|prefer\\w*|favou?rite|hate|love|use|own|study|studying|speak|decided"
    ),
    passing=_words(
        "today|tonight|right now|at the moment|this (?:morning|afternoon|evening)|just|tired|hungry|bored|yesterday|late|currently typing"
    ),
)
_GERMAN = _Language(
    typical=_words("der|die|das|und|ist|nicht|ein|eine|einen|ich|mit|zu|auf|für|mein\\w*|im|in|am|den|dem|wir|bin|habe|es|wie"),
    first=_words("ich|mir|mich|mein(?:e|er|en|em|es)?|wir|unser\\w*"),
    skip=_words("wenn|falls|würde\\w*|könnte\\w*|wäre\\w*|hätte\\w*|vielleicht|eventuell|angenommen|stell dir|soll ich|frage mich"),
    order=_words("bitte|kannst|könntest|sag|zeig|schreib\\w*|gib|erklär\\w*|hilf|mach|übersetz\\w*"),
    weighty=_words(
        "allerg\\w*|diagnos\\w*|schwanger\\w*|epilep\\w*|diabet\\w*|zöliakie|asthma\\w*|krebs|gestorben|verstorben|trocken|geschieden|operation|operiert"
    ),
    durable=_words(
        "wohne\\w*|lebe\\w*|umgezogen|arbeite\\w*|beruf|job|geboren|verheiratet|frau|mann|partner(?:in)?|sohn|tochter|kinder?|schwester|bruder|"
        "mutter|vater|vegan\\w*|vegetari\\w*|immer|nie|lieber|bevorzuge|lieblings\\w*|hasse|liebe|mag|studiere|spreche|entschieden"
    ),
    passing=_words("heute|gerade|im moment|gestern|müde|hungrig|spät|eben"),
)
_SPANISH = _Language(
    typical=_words("el|la|los|las|que|y|es|en|un|una|de|por|para|con|mi|mis|se|al|del|lo|soy|estoy|tengo|llamo|gusta|encanta"),
    first=_words(
        "yo|mi|mis|me|mí|conmigo|soy|estoy|tengo|vivo|vivimos|trabajo|prefiero|odio|quiero|necesito|uso|nací|estudio|hablo|somos|tenemos|"
        "nosotr[oa]s|nuestr[oa]s?|voy|fui|he|hemos|dejé|empecé|cumplo|nos"
    ),
    skip=_words("si|ojalá|quizás?|tal vez|podría\\w*|querría|quisiera|gustaría|sería|imagina|supongamos|a lo mejor|me pregunto"),
    order=_words("por favor|puedes|podrías|dime|muéstrame|escribe|escríbeme|dame|explica|explícame|ayúdame|haz|traduce"),
    weighty=_words(
        "al[eé]rgi\\w*|diagnostic\\w*|embaraz\\w*|epil[eé]p\\w*|diab[eé]t\\w*|cel[ií]ac\\w*|asm[aá]\\w*|cáncer|murió|falleci\\w*|sobri[oa]|divorci\\w*|operaron|cirugía"
    ),
    durable=_words(
        "viv(?:o|imos)|mud(?:é|amos)|trabajo|nací|casad[oa]|esposa|esposo|marido|mujer|pareja|hij[oa]s?|herman[oa]s?|madre|padre|vegan[oa]|"
        "vegetarian[oa]|siempre|nunca|prefiero|favorit[oa]s?|odio|encanta|uso|estudio|hablo|decid(?:í|imos)"
    ),
    passing=_words("hoy|ahora mismo|ahora|esta (?:mañana|tarde|noche)|ayer|cansad[oa]|hambre|tarde"),
)
_RUSSIAN = _Language(
    typical=_words("и|в|не|на|я|что|с|у"),
    first=_words("я|мне|меня|мной|мо(?:й|я|ё|е|и|его|ей|их|им|ими|ю|ём|ем)|мы|нас|нам|наш\\w*"),
    skip=_words("если|бы|может быть|возможно|наверное|представь\\w*|допустим|хотел(?:а|ось)? бы|интересно"),
    order=_words("пожалуйста|можешь|можете|скажи\\w*|покажи\\w*|напиши\\w*|дай\\w*|объясни\\w*|помоги\\w*|сделай\\w*|переведи\\w*"),
    weighty=_words(
        "аллерги\\w*|диагн\\w*|беремен\\w*|эпилеп\\w*|диабет\\w*|целиаки\\w*|астм\\w*|рак|умер(?:ла|ли)?|развод\\w*|разв[её]л\\w*|операци\\w*"
    ),
    durable=_words(
        "жив(?:у|ём|ем)|переехал\\w*|работа\\w*|родил\\w*|женат|замужем|жена|муж|сын|дочь|дочка|дети|сестра|брат|мама|мать|папа|отец|"
        "веган\\w*|вегетариан\\w*|всегда|никогда|предпочита\\w*|любим\\w*|люблю|ненавижу|пользуюсь|учусь|говорю|решил\\w*"
    ),
    passing=_words("сегодня|сейчас|вчера|устал\\w*|голод\\w*|только что"),
)
_HINDI = _Language(
    typical=_words("है|हैं|में|का|की|के|मैं"),
    first=_words("मैं|मैंने|मुझे|मुझको|मुझसे|मुझ|मेरा|मेरी|मेरे|हम|हमने|हमें|हमारा|हमारी|हमारे"),
    skip=_words("अगर|यदि|शायद|काश|मान लो|मान लीजिए|क्या|क्यों|कैसे|कब"),
    order=_words("कृपया|बताओ|बताइए|दिखाओ|लिखो|लिखिए|समझाओ|समझाइए"),
    weighty=_words("एलर्जी|गर्भवती|मधुमेह|डायबिटीज़?|मिर्गी|अस्थमा|दमा|कैंसर|देहांत|निधन|मृत्यु|तलाक|ऑपरेशन"),
    durable=_words(
        "रहता|रहती|रहते|काम|नौकरी|जन्म|शादी|शादीशुदा|पत्नी|पति|बेटा|बेटी|बच्चे|बहन|भाई|माँ|पिता|शाकाहारी|वीगन|हमेशा|कभी नहीं|पसंद|नापसंद|"
        "पसंदीदा|नफ़रत|पढ़ता|पढ़ती|बोलता|बोलती"
    ),
    passing=_words("आज|अभी|कल|थक|थका|थकी|भूख"),
)
_CHINESE = _Language(
    typical=re.compile("[\u4e00-\u9fff]"),
    first=re.compile("我|咱|本人"),
    skip=re.compile("如果|要是|假如|假设|也许|可能|或许|想象|希望|要不要|能不能|会不会|是不是|吗|呢$|想知道"),
    order=re.compile("请|帮我|告诉我|给我|替我"),
    weighty=re.compile("过敏|确诊|怀孕|癫痫|糖尿病|乳糜泻|哮喘|癌|去世|离婚|手术|戒酒"),
    durable=re.compile(
        "住|搬|工作|上班|出生|结婚|妻子|老婆|丈夫|老公|儿子|女儿|孩子|姐|妹|哥|弟|妈|爸|素食|吃素|总是|从不|从来|喜欢|讨厌|最爱|更愿意|决定|学习"
    ),
    passing=re.compile("今天|现在|刚才|刚刚|昨天|今晚|今早|累|饿"),
)
_LATIN = (_ENGLISH, _GERMAN, _SPANISH)
_SCRIPTS = ((re.compile("[\u0400-\u04ff]"), _RUSSIAN), (re.compile("[\u0900-\u097f]"), _HINDI), (re.compile("[\u4e00-\u9fff]"), _CHINESE))

_SECRET = _words(
    r"password|passphrase|passcode|api[ _-]?key|secret key|token|pin(?: code)?|cvv|passwort|kennwort|geheimzahl|contraseña|clave|пароль|"
    r"пин-?код|पासवर्ड|पिन"
)
_SECRET_CHINESE = re.compile("密码|口令|验证码")
_REMEMBER = re.compile(r"^(?:please\s+)?(?:remember|note|keep in mind|don['’]t forget)(?:\s+that|[,:])\s+", re.IGNORECASE)
_QUESTION = re.compile(r"[?？؟][\"'”’»)）」』]*$|^¿")


def _language_of(sentence: str) -> _Language:
    """Return the patterns for a sentence: by its script, and within Latin by the most function words, English on a tie."""
    counts = [(len(script.findall(sentence)), language) for script, language in _SCRIPTS]
    most, language = max(counts, key=lambda pair: pair[0])
    if most * 3 > sum(char.isalpha() for char in sentence):
        return language
    return max(_LATIN, key=lambda one: len(one.typical.findall(sentence)) + len(one.first.findall(sentence)))


def _grade(sentence: str, language: _Language) -> float:
    """Return one of the guidelines' grades: 0.9 for health and life, 0.3 for today's trifles, 0.7 for the durable, else 0.5."""
    if language.weighty.search(sentence):
        return 0.9
    if language.passing.search(sentence):
        return 0.3
    return 0.7 if language.durable.search(sentence) else 0.5


def statement(sentence: str) -> tuple[str, float] | None:
    """Return a sentence as (content, salience) if it states something about its speaker, else None.

    Args:
        sentence: One sentence of a user's message.

    Returns:
        The content and its salience, one of 0.3, 0.5, 0.7 and 0.9; None for a question, a supposition, an order, a secret, or a
        sentence about others.
    """
    told = _REMEMBER.sub("", sentence)
    language = _language_of(told)
    if _QUESTION.search(told) or _SECRET.search(told) or _SECRET_CHINESE.search(told):
        return None
    if not language.first.search(told) or language.skip.search(told) or language.order.match(told):
        return None
    grade = _grade(told, language)
    if language is _ENGLISH:
        return english_third_person(told), grade
    return (chinese_third_person(told) if language is _CHINESE else told), grade


class RulesBaseline:
    """Answers with the user's statements about themselves, found by pattern: what a day of work without a model gives."""

    name = "baseline/rules"
    fingerprint: ClassVar[Fingerprint] = {"engine": "baseline", "baseline": "rules", "version": 1}

    def reply(self, case: Case) -> str:
        """Return the statements of the user's messages, graded."""
        found = (statement(sentence) for sentence in user_sentences(case))
        return reply_text(item for item in found if item is not None)
