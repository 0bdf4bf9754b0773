"""Text → sentences, content words, and marks: the names, numbers, dates and codes that make a sentence worth keeping.

Pure text work on single sentences; knows nothing of conversations. Rules are for English, with what is cheap
for other languages: digits and capitals everywhere, sentences and character pairs in Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Key = tuple[str, str]

_ABBREVIATIONS = (
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bNo)(?<!\bProf)(?<!\be\.g)(?<!\bi\.e)(?<!\b[A-Z])"
)
_BREAK = re.compile(rf"(?:{_ABBREVIATIONS}\.|[!?…])[\"'”’)\]]*\s+|(?<=[。！？])\s*|\s*\n+\s*")
_WIDE = "\\u3040-\\u30ff\\u3400-\\u9fff"
_WIDE_RUN = re.compile(rf"[{_WIDE}]+")
_TOKEN = re.compile(rf"[^\W_{_WIDE}]+(?:[-./:,'’&][^\W_{_WIDE}]+)*")
_MONTH_NAMES = """january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec"""
_MONTHS = {month: month[:3] for month in _MONTH_NAMES.split()}
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = {form: day for day in _DAY_NAMES.split() for form in (day, day + "s")}
_MONEY_BEFORE = re.compile(r"[$€£¥₹]\s?$")
_MONEY_AFTER = re.compile(
    r"\s?(?:[$€£¥₹円元]|(?:euros?|dollars?|pounds?|bucks|kroner|kronor|francs?|yen|usd|eur|gbp)\b)", re.I
)
_CLOCK_AFTER = re.compile(r"\s?(?:[ap]\.?m\b|o'clock\b|uhr\b)", re.I)
_NAMES_FOLLOW = re.compile(
    r"(?:'s|’s|\s(?:and [A-Z]\w+ )?(?:is|was|has|had|will|would|does|did|likes?|loves?|hates?|lives?|wants?|works?"
    r"|prefers?|cannot|can't|won't|doesn't|turns?|comes?|said|says|told|needs?|plays?|owns?|sings?))\b"
)
_ALIASES = {
    "mum": "mother",
    "mom": "mother",
    "mama": "mother",
    "dad": "father",
    "papa": "father",
    "kid": "child",
}
_STOP_WORDS = """a about after again all also am an and any are as at be because been before being but by can can't
    could did do does doesn't don't for from get go going got had has have he her here hers him his how i i'd i'll i'm
    i've if in into is isn't it it's its just let like me more my no not now of off on one or our ours out over please
    she so some something than thanks that that's the their them then there these they this those though to too up us
    was we we'd we'll we're we've well were what when where which while who why will with would yes you you'd your
    actually instead anyway really very quite still only even yet already sorry okay ok hi hello hey oh mr mrs ms dr
    every everything everybody nothing it'll much many lot lots thing things way"""
STOP = frozenset(_STOP_WORDS.split())
"""Function words of English: neither names nor content."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A name, number, date or code: `kind` and `key` compare it with others, `surface` is how it was written."""

    kind: str
    key: str
    surface: str
    weight: float

    @property
    def id(self) -> Key:
        """What two ways of writing the same thing share; money is often named again as a bare number."""
        return ("number" if self.kind in ("money", "year") else self.kind, self.key)


def sentences(text: str) -> list[str]:
    """The sentences of `text` with their punctuation; a line break always ends one."""
    found, start = [], 0
    for gap in _BREAK.finditer(text):
        found.append(text[start : gap.end()].strip())
        start = gap.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def stems(text: str) -> frozenset[str]:
    """Content words of `text` in a crude common form; pairs of characters where words are not spaced."""
    words = {_stem(token.lower()) for token in _TOKEN.findall(text)}
    pairs = {run[0][i : i + 2] for run in _WIDE_RUN.finditer(text) for i in range(max(1, len(run[0]) - 1))}
    return frozenset((words | pairs) - {""})


def marks(text: str, known: frozenset[str] = frozenset()) -> tuple[Mark, ...]:
    """The marks of one sentence in order. A capital on the first word means a name only if that is `known`."""
    return tuple(_marks(text, known))


def names(text: str) -> frozenset[str]:
    """Names in `text`, in lower case: capitals after a sentence's first word, and first words used like a name."""
    lower = {word for word in _TOKEN.findall(text) if word[0].islower()}
    found: set[str] = set()
    for sentence in sentences(text):
        for index, token in enumerate(_TOKEN.finditer(sentence)):
            if _is_name(token[0]) and (
                index or (token[0].lower() not in lower and _NAMES_FOLLOW.match(sentence, token.end()))
            ):
                found.add(_possessive(token[0].lower()))
    return frozenset(found)


def number_key(token: str) -> str:
    """`1,450`, `1'450` and `1450` alike; `09:40` as `9:40`."""
    plain = re.sub(r"(?<=\d)[,'’](?=\d{3}(?!\d))", "", token)
    return re.sub(r"^0+(?=\d)", "", plain)


def _marks(text: str, known: frozenset[str]) -> Iterator[Mark]:
    tokens = list(_TOKEN.finditer(text))
    kinds = ["month" if _month(token[0]) else "" for token in tokens]
    in_name = False
    for index, token in enumerate(tokens):
        word, after = token[0], text[token.end() :]
        near_month = "month" in kinds[max(0, index - 1) : index + 3]
        was_name, in_name = in_name, False
        if any(char.isdigit() for char in word):
            yield _number(word, text[: token.start()], after, near_month)
        elif kinds[index]:
            yield Mark("month", _MONTHS[word.lower()], word, 0.5)
        elif word.lower() in _WEEKDAYS:
            yield Mark("weekday", _WEEKDAYS[word.lower()], word, 1.5)
        elif _is_name(word) and (index or _possessive(word.lower()) in known):
            yield Mark("name", _possessive(word.lower()), word, 0.75 if was_name else 1.5)
            in_name = after[:1] == " "


def _number(word: str, before: str, after: str, near_month: bool) -> Mark:
    ordinal = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)", word, re.I)
    if ordinal or (near_month and re.fullmatch(r"\d{1,2}", word)):
        return Mark("day", number_key(ordinal[1] if ordinal else word), word, 1.5)
    if re.fullmatch(r"\d{1,2}[:.h]\d{2}", word) and (":" in word or "h" in word or _CLOCK_AFTER.match(after)):
        return Mark("time", number_key(word.replace("h", ":").replace(".", ":")), word, 2.0)
    if re.fullmatch(r"\d{1,2}(?:[ap]m)?", word, re.I) and (_CLOCK_AFTER.match(after) or word[-1] in "mM"):
        return Mark("time", word.lower(), word, 2.0)
    if re.search(r"[^\W\d_]", word):
        return Mark("code", word.lower(), word, 2.5)
    if re.fullmatch(r"(?:19|20)\d\d", word):
        return Mark("year", word, word, 1.5)
    if _MONEY_BEFORE.search(before) or _MONEY_AFTER.match(after):
        return Mark("money", number_key(word), word, 2.0)
    return Mark("number", number_key(word), word, 2.0 if len(word) > 2 else 1.0)


def _is_name(word: str) -> bool:
    return word[0].isupper() and word.lower() not in STOP and (len(word) > 1 or not word.isascii())


def _month(word: str) -> bool:
    return word[0].isupper() and word.lower() in _MONTHS


def _possessive(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)


def _stem(word: str) -> str:
    if word in STOP:
        return ""
    word = _possessive(word)
    word = _ALIASES.get(word, word)
    if word.isdigit() or len(word) < 4:
        return word
    return (re.sub(r"(?:ings?|ed|es|s|e|y|ies)$", "", word) or word)[:7]
