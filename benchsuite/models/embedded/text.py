"""Generic language: content tokens, the shapes of values, and the kind of value a question asks for."""

from __future__ import annotations

import re


def _listed(text: str) -> list[str]:
    return text.split()


STOP = frozenset(
    _listed(
        """
        a an the is are was were be been being am do does did done doing have has had having i me my mine we
        us our you your he him his she her it its they them their this that these those there here what which who
        whom whose when where why how of in on at to for from by with and or as if so than then not any some
        one into out up about over under per much many will would can could shall should may might must please
        tell show shown showed say says said see seen get got give given according also just only own same
        such too very s t
        """
    )
)
_WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,:/-]\d+)*")
_POSSESSIVE = re.compile(r"['’]s\b")
_MONTHS_AND_DAYS = _listed("jan feb mar apr may jun jul aug sep oct nov dec mon tue wed thu fri sat sun")
_LONG_NAMES = re.compile(
    r"(?:(?:jan|febr)uary|march|april|june|july|august|(?:septem|octo|novem|decem)ber"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)$"
)
_ORDINALS = dict(zip(_listed("first second third fourth fifth sixth"), "123456", strict=True))
_NUMBER_WORD = re.compile(r"n(?:o|os|r|um|umbers?)$")
_SUFFIXES = ("ies", "ing", "est", "ed", "es", "s")

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_CURRENCY = r"(?:[$€£¥]|\b(?:usd|eur|gbp|chf|dkk|sek|nok|cad|aud|jpy|kr)\b)"
DATE = re.compile(
    rf"\b\d{{4}}[-/.]\d\d?[-/.]\d\d?\b|\b\d\d?[-/.]\d\d?[-/.]\d{{2,4}}\b"
    rf"|\b(?:{_DAY},?\s)?\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:,?\s\d{{4}})?\b"
    rf"|\b(?:{_DAY},?\s)?{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b|\b{_MONTH}\s\d{{4}}\b"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.I,
)
TIME = re.compile(r"\b\d{1,2}[:h]\d\d(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}(?:\.\d\d)?\s?[ap]\.?m\b", re.I)
MONEY = re.compile(
    rf"-?{_CURRENCY}\s?\d[\d,. ]*\d|-?{_CURRENCY}\s?\d|\d[\d,.]*\s?(?:{_CURRENCY}|dollars?\b|euros?\b)", re.I
)
PERCENT = re.compile(r"-?\d[\d.,]*\s?(?:%|percent\b)", re.I)
SPAN = re.compile(
    r"\d[\d.,]*\s?(?:h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?|d(?:ays?)?|w(?:ee)?ks?|months?|years?)\b",
    re.I,
)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:\s?(?:%|[a-z°]{1,4}\b))?", re.I)
RATE = re.compile(r"\b(?:every|each|twice|once|daily|weekly|monthly|yearly)\b", re.I)
QUOTED = re.compile(r'["“]([^"”]{2,80})["”]')
NAME = re.compile(r"\b[A-Z][\w&'’-]*(?:\s(?:of|the|de|&)?\s?[A-Z0-9][\w&'’-]*)*")

# The kind of value asked for, in order of precedence; the first that matches decides.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.I))
    for kind, pattern in (
        ("percent", r"\bper\s?cent|\bpercentages?\b|%"),
        ("time", r"\b(?:what|which) time\b|\bwhat hour\b|\b(?:time|hour)s? (?:is|was|does|did)\b"),
        ("often", r"\bhow often\b|\bhow frequently\b"),
        ("span", r"\bhow long\b|\bhow many (?:min|hour|sec|day|week|month|year)"),
        ("count", r"\bhow many\b"),
        ("money", r"\bhow much\b.*\b(?:pay|paid|cost|spen[dt]|owe|worth|charge)|\b(?:prices?|costs?)\b"),
        (
            "date",
            r"^\W*(?:(?:on|by|since|until) )?(?:when|(?:what|which) (?:day|date|month|year))\b"
            r"|\b(?:date|day (?:is|was))\b",
        ),
        ("size", r"\bhow (?:much|far|old|tall|heavy|big|fast|warm|cold|high|large|deep)\b"),
        ("who", r"\bwho(?:m|se)?\b|\b(?:what|which) person\b"),
        ("where", r"\bwhere\b|\b(?:what|which) (?:place|city|town)\b"),
    )
)


_OF_MESSAGE = re.compile(
    r"\b(?:when|(?:what|which) (?:day|date))\b.*\b(?:did|have) (?:i|we|you)\b.*"
    r"\b(?:mention|say|said|t(?:ell|old|alk)|sh(?:are|ow|own)|sen[dt]|post|wr(?:ite|ote)|bring|brought|discuss|upload)",
    re.I,
)


def asks_message_date(question: str) -> bool:
    """Whether the day of a message is asked for, not a day that it speaks of."""
    return _OF_MESSAGE.search(question) is not None


def stem(word: str) -> str:
    """A crude common form.

    Plural, -ing, -est and -ed go, months and weekdays keep three letters, ordinals become digits, and the forms of
    'number' (no, nr, num) become one.
    """
    if word in _ORDINALS:
        return _ORDINALS[word]
    if _NUMBER_WORD.match(word):
        return "no"
    if word[:3] in _MONTHS_AND_DAYS and (len(word) == 3 or _LONG_NAMES.match(word)):
        return word[:3]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            return word[: -len(suffix)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def words(text: str) -> list[str]:
    """Lower-case content words and numbers, in order, without stop words."""
    return [word for word in _WORD.findall(_POSSESSIVE.sub("", text.lower())) if word not in STOP]


def tokens(text: str) -> list[str]:
    """Stemmed content words and numbers, in order."""
    return [stem(word) for word in words(text)]


_FORMAT = re.compile(r"(?<=[?.!])\s+(?=(?:please )?(?:answer|reply|respond|give|write|use)\b)", re.I)


def split_format(question: str) -> tuple[str, str]:
    """The question proper, and what follows it on how to write the answer ('Answer as ...'), if anything."""
    match = _FORMAT.search(question)
    return (question[: match.start()], question[match.end() :]) if match else (question, "")


def question_kind(question: str) -> str:
    """What the wording asks for: percent, time, often, span, count, money, date, size, who, where, or ''."""
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), "")


def has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


def letters(text: str) -> int:
    return sum(char.isalpha() for char in text)


def kind_fit(kind: str, value: str) -> float:
    """How well a value's shape answers a kind of question: -1 cannot, 1 exactly, 0 unknown."""
    digit = has_digit(value)
    if kind == "percent":
        return 1.0 if PERCENT.search(value) else -0.6
    if kind == "time":
        return 1.0 if TIME.search(value) else -1.0
    if kind == "date":
        return 1.0 if DATE.search(value) else -1.0
    if kind == "money":
        if MONEY.search(value):
            return 1.0
        return 0.0 if digit and not DATE.search(value) and not TIME.search(value) else -0.8
    if kind == "span":
        return 1.0 if SPAN.search(value) else (0.2 if digit and not MONEY.search(value) else -0.8)
    if kind == "count":
        if re.fullmatch(r"\d[\d,]*", value):
            return 1.0
        return 0.2 if digit and not (MONEY.search(value) or DATE.search(value) or TIME.search(value)) else -0.8
    if kind == "size":
        return 1.0 if digit and not DATE.search(value) else -0.8
    if kind == "often":
        return 1.0 if RATE.search(value) or "/" in value else -0.3
    if kind in ("who", "where"):
        return 0.6 if NAME.search(value) and not digit else -0.6
    return 0.0


_SPANS: dict[str, tuple[re.Pattern[str], ...]] = {
    "percent": (PERCENT, NUMBER),
    "time": (TIME,),
    "date": (DATE, TIME),
    "money": (MONEY, NUMBER),
    "span": (SPAN, NUMBER),
    "count": (NUMBER,),
    "size": (NUMBER,),
    "often": (RATE, NUMBER),
    "who": (NAME,),
    "where": (QUOTED, NAME),
}
_ANY_SPAN = (QUOTED, MONEY, DATE, TIME, PERCENT, NUMBER, NAME)


def span_of(kind: str, sentence: str, question_tokens: frozenset[str]) -> str:
    """The part of a sentence that answers; the whole sentence when no part has the right shape.

    A span that only repeats the question is passed over.
    """
    for pattern in _SPANS.get(kind, _ANY_SPAN):
        for match in pattern.finditer(sentence):
            span = (match.group(1) if pattern.groups else match.group()).strip(" .,;")
            found = tokens(span)
            if found and not set(found) <= question_tokens:
                return span
    return sentence
