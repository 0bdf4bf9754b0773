"""Whether a message asks for what was said, or sets a task, states something or chats. Wording only, English first.

What cannot be told from its wording counts as asking if it is a question, or only words to look up. Knows nothing
of rows, scores or room.
"""

from __future__ import annotations

import re

from chatkv.memory.recall.words import terms_of
from chatkv.memory.summary.cues import asks
from chatkv.memory.summary.text import names, sentences

_ENGLISH = re.compile(
    r"\b(?:the|an|of|and|to|for|with|from|that|this|it|i|we|you|my|our|your|me|us|what|which|who|whom|whose|when|where|why"
    r"|how|is|are|were|does|did|do|has|have|had|can|could|should|would|must|please)\b",
    re.I,
)
_MIN_ENGLISH = 2
# A message with a statement of this many terms brings along what it asks about, unless it asks for "my" or "our".
_STATES = 3
_LOOKED_UP = 4
_LOOKS_BACK = re.compile(
    r"\b(?:remind|remember|recall|told you|did (?:i|we|you)|(?:have|had) (?:i|we|you)|back to|last time|so far"
    r"|(?:i|we|you)(?:'ve| have| had)? (?:just |already |once )?(?:said|told|mentioned|agreed|decided|talked|spoke"
    r"|discussed|promised|wanted|chose|wrote|suggested|recommended)|(?:this|our) (?:conversation|chat|talk))\b",
    re.I,
)
_FORGOT = re.compile(r"\b(?:i(?:'ve)? forgot|(?:don't|can't|cannot|do not) (?:remember|recall))\b", re.I)
_ADVICE = re.compile(
    r"\b(?:should|could|can|may|might|would|shall) (?:i|we|one|you|people|be|go|it|that|a|an)\b|\bwould you\b"
    r"|\bhow (?:do|to|would|can|could|should) (?:i|we|you|one|people)\b"
    r"|\bdo (?:i|we) (?:need|say|do|tell|begin|start)\b"
    r"|\bwhat (?:else|happens|if)\b|\bdifference\b|\bmeans?\b|\bis (?:it|that|this|there) (?:a |an )?(?:\w+ly )?"
    r"(?:good|better|polite|worth|fair|usual|normal|reasonable|possible|okay|ok|right|enough|true|way)\b|\bas a rule\b"
    r"|^(?:please |now )?(?:write|make|draft|translate|rewrite|explain|suggest|plan|add|help|choose|turn|put|fix"
    r"|convert|describe|create|compare)\b",
    re.I,
)
_OWN = re.compile(
    r"\b(?:i|we|my|our|mine|ours|me|us|here|the|he|she|his|her|they|their|was|were|did|had)\b"
    r"|^(?:who|whose|when|where)\b|\d",
    re.I,
)
# The reason of something is general knowledge unless somebody is in it.
_WHY = re.compile(r"^(?:and |but |so )*why\b", re.I)
_SOMEBODY = re.compile(r"\b(?:i|we|my|our|mine|ours|me|us|he|she|his|her|they|their)\b", re.I)
_TELLS = re.compile(r"^(?:please |now |and |so )*(?:tell|show|list|repeat|name|sum)\b", re.I)
_MINE = re.compile(r"\b(?:my|our|mine|ours)\b", re.I)
_POLITE = re.compile(r"^(?:(?:can|could|would|will) you |please )+(?:tell|show|give) me (?:again )?", re.I)
_QUESTION = re.compile(r"[?？][\"'”’)]*$|^(?:what|which|who|whose|when|where|how)\b", re.I)


def asks_back(message: str) -> bool:
    """Whether `message` asks for what was said."""
    said = [_POLITE.sub("", sentence) for sentence in sentences(message)]
    if any((asks(one) and _LOOKS_BACK.search(one)) or _FORGOT.search(one) for one in said):
        return True
    states = any(_is_english(one) and not asks(one) and len(terms_of(one)) >= _STATES for one in said)
    return any(_asks_for_facts(one, _MINE if states else _OWN) for one in said)


def _asks_for_facts(sentence: str, about: re.Pattern[str]) -> bool:
    if _ADVICE.search(sentence):
        return False
    if _TELLS.match(sentence):
        return _MINE.search(sentence) is not None
    if not _is_english(sentence):
        is_words = sentence[-1:] not in ".!…。！" and len(terms_of(sentence)) <= _LOOKED_UP
        return is_words or _QUESTION.search(sentence) is not None
    names_somebody = about is _OWN and bool(names(sentence))
    about = _SOMEBODY if about is _OWN and _WHY.search(sentence) else about
    return _QUESTION.search(sentence) is not None and (names_somebody or about.search(sentence) is not None)


def _is_english(sentence: str) -> bool:
    return len({word.lower() for word in _ENGLISH.findall(sentence)}) >= _MIN_ENGLISH
