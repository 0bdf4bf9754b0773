"""What kind of thing a sentence says, told from its wording, and the same sentence without its padding.

Word lists for English and, thinly, for a few other languages. Knows nothing of other sentences.
"""

from __future__ import annotations

import re

_PERSON = (
    r"\b(?:i|we|my|our|mine|ours|me|us|i'm|i've|we're|we've|ich|wir|mein\w*|unser\w*|je|j'\w+|nous|mon|mes|notre|nos"
    r"|yo|nosotr[oa]s|mis?|nuestr\w+|eu|meus?|minhas?|io|mi[oae]i?|nostr[oaie])\b|[我私僕俺咱]"
)
_NOBODY = r"(?!Sounds|Looks|Feels|Seems|Things|Something|Just)"
_WHO = rf"(?:i|we|she|he|they|who|(?-i:{_NOBODY}[A-Z]\w+))"
PREFERENCE = re.compile(
    rf"\b(?:{_WHO}\s+(?:\w+ly\s+|also\s+|do\s+|never\s+|always\s+|don't\s+|doesn't\s+|do not\s+"
    r"|does not\s+|can't\s+|cannot\s+)*(?:like|love|hate|prefer|enjoy|dislike|adore|detest|avoid|want|need|eat|drink"
    r"|stand|bear)s?\b|rather\b|favou?rite|allerg\w+|intoleran\w+|vegetarian|vegan|fan of|afraid of|fond of|can't stand"
    r"|gluten|ich mag|mögen|lieblings\w*|je préfère|j'aime|me gusta|prefier\w+|gosto)|喜欢|喜歡|讨厌|討厭|过敏|過敏"
    r"|好き|嫌い|アレルギー|좋아|싫어",
    re.I,
)
DECISION = re.compile(
    r"\b(?:decided?|settled?|chose|chosen|booked|agreed|we'll take|going with|go with|we wear|signed|ordered|bought"
    r"|deadline|due (?:on|by)|by then|have to|must|promised|planning|plan to"
    r"|beschlossen|entschieden|gebucht|décidé|réservé|decidido|reservado)\b|决定|決定|決め|予約|결정",
    re.I,
)
IDENTITY = re.compile(
    r"\b(?:(?:my|our)\s+(?:[\w'’-]+\s+){1,4}?(?:is|are|was|will be|comes?|starts?)|(?:is|are|was|am) called"
    r"|called (?-i:[A-Z])|named|name is|name's|i am an?|i'm an?|i work|i live|i drive|i own|i sing|i play|lives? in"
    r"|works? (?:at|as|for)|born|birthday|anniversary|turns \w+ on|married|password|address|phone|heißt|heiße|wohne"
    r"|s'appelle|m'appelle|se llama|me llamo)\b|叫|名前|住|생일|이름",
    re.I,
)
_SELF = re.compile(
    r"\b(?:my name is|my name's|call me|i'm (?-i:[A-Z]\w+)|i am (?-i:[A-Z]\w+)|ich heiße|je m'appelle|me llamo)\b"
    r"|我叫|と申します",
    re.I,
)
_CLAUSE_TEXT = r"((?:[^.,;:!?]|(?<=\d)[.,:](?=\d))+)"
_CONDITION = re.compile(r"allerg|intoleran|vegetarian|vegan|过敏|過敏|アレルギー", re.I)
_CALLED_LAST = re.compile(r"(?:^(?:\w+\s+)?|,\s*)([A-ZÀ-Þ]\w+)[!.?…]*$")
_CALLED_FIRST = re.compile(r"^(?:\w+,?\s+)?([A-ZÀ-Þ]\w+), (?!(?:my|our|the|an?|who|his|her|your)\b)")
DENIAL = re.compile(
    r"(?:\b(?:instead of|rather than|no longer|forget(?: about)?|scratch|cancel(?:led)?|gone off|used to be|stopped"
    rf"|quit|gave up|given up|(?:changed|moved|switched) from)|,(?: and)? (?:not|nicht|pas))\s+{_CLAUSE_TEXT}"
    r"|\b(?:can't|cannot|don't|doesn't|won't|isn't|not)\s+([^.,;:!?]*?)\s+any ?(?:more|longer)\b"
    r"|不是([^，。,]+)|([^、。，]+)(?:ではなく|じゃなくて)",
    re.I,
)
CORRECTION = re.compile(
    r"\b(?:actually|corrections?|correct(?:ed|ing)|i was wrong|wrong|mistaken?|mixed|misspoke|misread|i meant|instead"
    r"|after all|(?:has|have|was|were|been) (?:changed|moved|postponed|extended|cancelled|sold|replaced)|rescheduled"
    r"|moved (?:to|me|house)|i've moved|i (?:changed|sold)|we (?:changed|sold)|changed (?:my|our) mind|switched"
    r"|change of plans?|small change|turns out|no longer|scratch that|from now on|new one|my new|our new|update"
    r"|eigentlich|doch nicht|korrektur|stattdessen|en fait|finalement|plutôt|en realidad|al final)\b"
    r"|^(?:no|nein|non)[,:]|更正|其实|其實|改成|実は|訂正|사실",
    re.I,
)
CHANGE = re.compile(
    r"\b(?:now|these days|nowadays|by now|jetzt|maintenant|ahora)\b|现在|現在|今は|지금", re.I
)
_QUESTION = re.compile(r"[?？][\"'”’)]*$")
_REQUEST = re.compile(
    r"^(?:(?:so|and|now|then|please|first|also|next|just|only|good|okay|ok|thanks|again|sorry)[,:]? )*"
    r"(?:write|make|give|list|explain|suggest|tell|show|plan|add|describe|draft|translate|help|sum|summari[sz]e|choose"
    r"|remind|turn|put|divide|shorten|shorter|compare|find|name|create|rewrite|convert|calculate|let's|let us|go on"
    r"|continue|repeat|check|fix|don't|do not|how|what|which|why|when|where|who|can|could|would|should|is|are|does"
    r"|do)\b",
    re.I,
)
_THIRD = re.compile(r"\b(?:he|she|they|his|her|their|it)\b", re.I)
_FILLER = re.compile(
    r"^(?:(?:hi|hello|hey|thanks|thank you|okay|ok|great|good|nice|cool|perfect|well|so|and|but|oh|ah|also|btw"
    r"|by the way|anyway|just so you know|for the record|fyi|(?:please )?note(?: that)?|remember(?: that)?"
    r"|keep in mind(?: that)?|you should know(?: that)?|i should (?:say|mention)(?: that)?|i think(?: that)?"
    r"|i forgot to (?:say|mention|tell you)(?: that)?|one more thing|another thing|as i said|first|finally|there|yes"
    r"|in case \w+ \w+|news \w+ \w+ \w+|first something about me|small change)"
    r"(?:[,:!.–—-]+\s*|\s+(?=(?:that|the|my|our|i|we|i'm|i've|we're|there)\b)))+",
    re.I,
)
_INNER = re.compile(
    r",? (?:by the way|you know|of course|to be honest|honestly|obviously|please)(?=[,.!?]|$)"
    r"|\b(?:really|very|just|basically|simply|finally) ",
    re.I,
)
_CLAUSE = re.compile(
    r"(?:,| [–—-]|;) (?:so|but|because|although|though|which|since i|and (?:i|we|he|she|it|they|that|everybody))\b"
    r"| (?:because|although|but|so (?:i|we|that)|and (?:i|we|he|she|it|they|that|everybody))\b"
    r"|, (?!and\b|or\b|who\b|not\b)(?=\w+ \w+ )(?![^,]* (?:and|or) )(?=[^,]*$)",
    re.I,
)
_ARTICLE = re.compile(
    r"(?<![\w'’-])(?:the|an?) (?!(?:day|week|month|year|quarter|hour|minute|night|piece|person|head|few|little|lot)\b)"
    r"(?=\w)",
    re.I,
)
_AGAIN = re.compile(r"((?:,|,? and) )(?:he|she|they|i|we) (?=\w)", re.I)
_COPULA = re.compile(r"(?:,|:) (?:according to \w+ \w+ )?it(?: is|'s) (?=\S)", re.I)
_SHORT = {
    "is called": "is",
    "is named": "is",
    "have to": "must",
    "has to": "must",
    "i have been": "I'm",
    "i am": "I'm",
}
_WORDY = re.compile(rf"\b(?:{'|'.join(_SHORT)})\b", re.I)
_HOLDS = re.compile(r"\d|\s(?!I\b)[A-ZÀ-Þ]\w+")


CORRECTS = 1.5
"""What a statement is worth for correcting another."""


def value(sentence: str) -> float:
    """How much the wording alone makes a sentence a statement to keep; 0 for small talk."""
    worth = 0.0
    if PREFERENCE.search(sentence):
        worth += 2.0
    if DECISION.search(sentence):
        worth += 1.0
    if _SELF.search(sentence):
        worth += 1.5
    if IDENTITY.search(sentence):
        worth += 1.5
    if personal(sentence):
        worth += 0.5
    return worth


def personal(sentence: str) -> bool:
    """Whether it speaks of the user's own people and things."""
    return re.search(_PERSON, sentence, re.I) is not None


def stands_alone(sentence: str) -> bool:
    """Whether a word or two of it say enough, as in "I'm vegan"."""
    return _SELF.search(sentence) is not None or _CONDITION.search(sentence) is not None


def vocatives(sentence: str) -> frozenset[str]:
    """The names somebody is called by at either end of `sentence` ("Thanks, Jon!")."""
    found = (_CALLED_FIRST.search(sentence), _CALLED_LAST.search(sentence))
    return frozenset(match[1] for match in found if match)


def about_someone(sentence: str) -> bool:
    """Whether it speaks of anybody at all."""
    return personal(sentence) or _THIRD.search(sentence) is not None


def corrects(sentence: str) -> bool:
    """Whether it takes back something said before."""
    return CORRECTION.search(sentence) is not None or DENIAL.search(sentence) is not None


def changes(sentence: str) -> bool:
    """Whether it may take back something said before: it speaks of how things are now."""
    return corrects(sentence) or CHANGE.search(sentence) is not None


def denied(sentence: str) -> str:
    """The words it takes back (`not X`, `instead of X`, `from X to`); empty if there are none."""
    return " ; ".join(part for found in DENIAL.finditer(sentence) for part in found.groups() if part)


def asks(sentence: str) -> bool:
    """Whether it is a question or a request rather than a statement."""
    return bool(_QUESTION.search(sentence) or _REQUEST.match(sentence))


def shorten(sentence: str) -> str:
    """`sentence` without greeting, filler, and last clauses that hold no name, no number and none of the cues."""
    text = _FILLER.sub("", " ".join(_INNER.sub("", sentence).split()))
    while cut := _empty_end(text):
        text = text[:cut].rstrip(" ,;:–—-") + "."
    return text[:1].upper() + text[1:] if sentence[:1].isupper() else text


def terse(sentence: str) -> str:
    """`sentence` without English articles and repeated subjects: a telegram, for where room is short."""
    text = _WORDY.sub(lambda found: _SHORT[found[0].lower()], sentence)
    return _ARTICLE.sub("", _COPULA.sub(": ", _AGAIN.sub(r"\1", text)))


def _empty_end(text: str) -> int:
    """Where a last clause begins that says nothing to keep; 0 if there is none."""
    start = max((found.start() for found in _CLAUSE.finditer(text)), default=0)
    tail = text[start:]
    full = _HOLDS.search(tail) or PREFERENCE.search(tail) or IDENTITY.search(tail) or corrects(tail)
    return 0 if full or start < 8 else start
