"""Text → the terms that it can be found by. Knows nothing of messages, counts or scores.

English gets stems and a short list of words that go together; other languages written with spaces match whole
words; scripts without spaces match pairs of characters.
"""

from __future__ import annotations

import functools
import re
import unicodedata

# Scripts without spaces: Thai to Tibetan, Myanmar, Hangul, Khmer, kana, bopomofo, Yi, and all ideographs.
SPACELESS = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[^\W_{SPACELESS}]+|[{SPACELESS}]+")
_SPACELESS_RUN = re.compile(f"[{SPACELESS}]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_VOWEL = re.compile("[aeiouy]")
_LONGEST_WORD = 64

# Function words, with what an apostrophe leaves behind ("don't" reads as "don" and "t").
_FUNCTION_WORDS = """
    a about again all also am an and any are as at be because been being but by can could d did do does doing
    don done for from had has have having he her here hers him his how i if in into is it its just ll m me might
    mine more most much must my no nor not of off on one only or other our ours out over own please re s shall
    she should so some such t than that the their theirs them then there these they this those through to too
    under until up us ve very was we were what when where which while who whom whose why will with would you your
    yours"""
_STOP = frozenset(re.findall(r"\w+", _FUNCTION_WORDS))

# Irregular forms, and everyday words that people change between; the first of a group stands for all.
_TOGETHER = """
    go went gone going|buy bought|get got gotten|take took taken|make made|give gave given|see saw seen
    come came|find found|feel felt|think thought|tell told|say said|know knew known|begin began begun
    become became|write wrote written|run ran|win won|lose lost|meet met|leave left|keep kept|hold held
    bring brought|teach taught|catch caught|sell sold|send sent|spend spent|build built|break broke broken
    speak spoke spoken|drive drove driven|ride rode ridden|eat ate eaten|drink drank drunk|sing sang sung
    swim swam swum|fly flew flown|grow grew grown|draw drew drawn|wear wore worn|choose chose chosen
    sleep slept|fall fell fallen|hear heard|lead led|pay paid|stand stood|understand understood|steal stole
    learn learnt|mean meant|wake woke|child children kid|man men|woman women|person people|foot feet
    life lives|wife wives|live lived living move moved moving relocate relocated|work working worked job
    mother mom mum|father dad|movie film|picture pic photo|favourite favorite fav|colour color
    phone telephone|car vehicle|birthday born|name call called"""
_HEAD = {word: group.split()[0] for group in re.split(r"[|\n]", _TOGETHER) for word in group.split()[1:]}

# What is cut off the end of an English word, and what takes its place, once four letters would be left.
_SUFFIXES = (
    ("ational", "ate"),
    ("ization", "ize"),
    ("fulness", ""),
    ("iveness", ""),
    ("ation", "ate"),
    *((suffix, "") for suffix in ("ness", "ment", "ance", "ence", "able", "ful", "ion", "ity", "ive")),
    *((suffix, "") for suffix in ("er", "or", "ly", "al")),
)


def terms_of(text: str) -> list[str]:
    """The terms of `text` in its order, without English function words."""
    return [term for term, _ in words_of(text)]


def words_of(text: str) -> list[tuple[str, str]]:
    """The terms of `text` in its order, each with the word, in small letters, that it was made of."""
    found: list[tuple[str, str]] = []
    for token in _TOKEN.findall(_fold(text)):
        if _SPACELESS_RUN.match(token):
            pairs = [token] if len(token) == 1 else [token[n : n + 2] for n in range(len(token) - 1)]
            found += [(pair, pair) for pair in pairs]
        elif term := _term(token[:_LONGEST_WORD]):
            found.append((term, token[:_LONGEST_WORD]))
    return found


def is_spaceless(term: str) -> bool:
    """Whether `term` is a pair of characters rather than a word."""
    return _SPACELESS_RUN.match(term) is not None


def _fold(text: str) -> str:
    """`text` in one case, without the accents of Latin, Greek and Cyrillic letters."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold()))
    return unicodedata.normalize("NFKC", bare)


@functools.lru_cache(maxsize=65536)
def _term(word: str) -> str:
    """The term of a word; "" for a function word."""
    if word in _STOP:
        return ""
    return _stem(_HEAD.get(word, word)) if word.isascii() else word


def _stem(word: str) -> str:
    """An English word without its endings, after the idea of Porter's "An algorithm for suffix stripping"."""
    if len(word) <= 3 or not word.isalpha():
        return word
    word = _without_ending(_HEAD.get(singular := _singular(word), singular))
    for suffix, other in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            word = word.removesuffix(suffix) + other
            break
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word.removesuffix("s")


def _without_ending(word: str) -> str:
    """Without -ing or -ed, as the plain form is spelled."""
    for suffix in ("ing", "ed"):
        start = word.removesuffix(suffix)
        if start != word and len(start) >= 2 and _VOWEL.search(start):
            if start.endswith(("at", "bl", "iz")):
                return start + "e"
            doubled = len(start) > 2 and start[-1] == start[-2] and start[-1] not in "lsz"
            return start[:-1] if doubled else start
    return word
