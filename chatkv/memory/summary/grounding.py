"""Is what a model wrote a summary, and which of it was really said?

A small model loops, echoes, plays on both roles and invents. Sentences with a name or number that stands in no
source, or with mostly new words, are left out. Knows nothing of what the text is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chatkv.memory.summary.text import STOP, Mark, marks, names, number_key, sentences, stems

_TAGS = re.compile(
    r"<\|[^|\n]{0,40}\|?>|<\|?/?(?:im_start|im_end|s|bos|eos|start_of_turn|end_of_turn)\|?>|\[/?INST\]|\ufffd{2}"
)
_ROLE = re.compile(r"^\W*(user|human|assistant|ai|bot|system)\W{0,3}:", re.I | re.M)
_CHATTER = re.compile(
    r"^(?:sure\b|of course|certainly|here(?:'s| is| are)|i'm sorry|i am sorry|i apologi[sz]e|as an ai|i hope"
    r"|let me know|i can(?:'t|not)? |i'm (?:so )?(?:glad|happy|here)|i am (?:glad|happy)|i'll |i will |i'd |feel free"
    r"|is there|thank you|thanks|you're welcome|note:|this summary|the summary|in summary,? this|remember to"
    r"|the conversation (?:was|has|is|ended|began|started)|don't forget|please )",
    re.I,
)
_EMPTY = re.compile(
    r"^[\w /&']{0,40}:?\s*(?:none|n/?a|nothing|unknown|not \w+|no \w+ \w+)\.?$"
    r"|\[[^\]]*\]|_{3,}|\.{4,}|^\w+(?: \w+)?,$",
    re.I,
)
_TOKENS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_NUMBERS = re.compile(r"\d+(?:[.,:'’]\d+)*")
_DIGITS = "zero one two three four five six seven eight nine ten eleven twelve"
_LONG = 160
_ECHO = 0.6
_NOUN_CAPITALS, _FEW_WORDS = 0.18, 40  # German writes every noun with a capital
_REPORT = stems(
    "user assistant asked wanted wants prefer prefers like likes said says mentioned conversation plan planning"
    " discussed need needed decided decision decisions preference preferences fact facts name names number numbers"
    " date dates open threads thread question questions topic topics summary person people currently include"
    " including provided"
)


@dataclass(frozen=True, slots=True)
class Sources:
    """All that was said, in the forms it is looked up by.

    `capitals`: whether a capital marks a name in it. `answers`: word triples of the model's own answers.
    """

    names: frozenset[str]
    numbers: frozenset[str]
    stems: frozenset[str]
    words: frozenset[str]
    capitals: bool
    answers: frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Judged:
    """The lines that may stay, the share of the words they hold, and why none may if none may."""

    lines: tuple[str, ...] = ()
    share: float = 0.0
    reason: str = ""


def sources(texts: Iterable[str], answers: Iterable[str] = ()) -> Sources:
    """Prepare what a summary may draw on: what the user and earlier summaries say, and the model's answers."""
    answers = tuple(answers)
    text = "\n".join((*texts, *answers))
    words = re.findall(r"(?<=[a-zß-ÿ,] )[^\W\d_]+", text)
    capitals = sum(word[0].isupper() and word.lower() not in STOP for word in words)
    numbers = {number_key(number) for number in _NUMBERS.findall(text)}
    lower = frozenset(word.lower() for word in re.findall(r"[^\W_]+", text))
    numbers |= {str(value) for value, word in enumerate(_DIGITS.split()) if word in lower}
    parts = {part for number in numbers for part in re.findall(r"\d+", number)}
    marked = capitals < _NOUN_CAPITALS * len(words) or len(words) < _FEW_WORDS
    return Sources(
        names(text), frozenset(numbers | parts), stems(text), lower, marked, _triples("\n".join(answers))
    )


def judged(raw: str, said: Sources, instruction: str) -> Judged:
    """Which lines of `raw` are a summary of `said`. `instruction`: the request, so that an echo is known."""
    if reason := _unfit(raw, instruction):
        return Judged(reason=reason)
    seen: set[str] = set()
    lines: list[str] = []
    dropped: list[str] = []
    for line in _whole(raw).splitlines():
        parts = sentences(_bare(line))
        good = [part for part in parts if part.casefold() not in seen and _good(part, said, instruction)]
        seen.update(part.casefold() for part in parts)
        dropped += [part for part in parts if part not in good]
        if good:
            lines.append(" ".join(good))
    lines = _under_heads(lines)
    kept, lost = (sum(len(_TOKENS.findall(line)) for line in group) for group in (lines, dropped))
    if not lines:
        return Judged(reason="nothing in it was said in the conversation")
    return Judged(tuple(lines), kept / max(1, kept + lost))


def grounded(sentence: str, said: Sources) -> bool:
    """Whether every name and number of `sentence`, and most of its words, stand in what was said."""
    if any(not _number_said(number, said) for number in _NUMBERS.findall(sentence)):
        return False
    body = sentence.partition(": ")[2] or sentence
    if any(not _mark_said(mark, said) for mark in marks(body, names(sentence) | said.names)):
        return False
    own = stems(body) - _REPORT
    return bool(own) and len(own & said.stems) * 2 >= len(own)


def _mark_said(mark: Mark, said: Sources) -> bool:
    """Whether a name or date stands in what was said, perhaps inflected; true of what is neither."""
    if mark.kind not in ("name", "month", "weekday") or (mark.kind == "name" and not said.capitals):
        return True
    parts = re.findall(r"[^\W_]+", mark.surface.lower())
    return (
        mark.key in said.words
        or all(part in said.words for part in parts)
        or bool(stems(mark.surface) & said.stems)
    )


def _number_said(number: str, said: Sources) -> bool:
    """A date with full stops may have been said in other words; other numbers stand or do not."""
    if number.count(".") > 1:
        return all(number_key(part) in said.numbers for part in number.split("."))
    return number_key(number) in said.numbers


def _good(part: str, said: Sources, instruction: str) -> bool:
    if _CHATTER.match(part) or _EMPTY.search(part) or part.endswith(("?", "？")):
        return False
    if _head(part):
        return True
    return (
        _echo(part, _triples(instruction)) < _ECHO
        and _echo(part, said.answers) < _ECHO
        and grounded(part, said)
    )


def _unfit(raw: str, instruction: str) -> str:
    words = [word.lower() for word in _TOKENS.findall(raw)]
    if not words:
        return "it is empty"
    if (
        _TAGS.search(raw)
        or len({role.lower() for role in _ROLE.findall(raw)}) > 1
        or len(_ROLE.findall(raw)) > 3
    ):
        return "it holds role tags"
    if "```" in raw:
        return "it is code"
    fit = sum(char.isalnum() or char.isspace() or char in ".,;:-'’()" for char in raw)
    if fit < 0.8 * len(raw):
        return "it is garbage"
    if _loops(raw, words):
        return "it repeats itself"
    return "it echoes the request" if _echo(raw, _triples(instruction)) > 0.5 else ""


def _loops(raw: str, words: Sequence[str]) -> bool:
    lines = [line.strip().lower() for line in raw.splitlines() if line.strip()]
    triples = list(zip(words, words[1:], words[2:], strict=False))
    few_lines = len(lines) >= 4 and len(set(lines)) < 0.6 * len(lines)
    return few_lines or (len(triples) >= 20 and len(set(triples)) < 0.6 * len(triples))


def _echo(text: str, of: frozenset[tuple[str, ...]]) -> float:
    """Share of the word triples of `text` that stand in another text. Continuing an answer is no summary of it."""
    own = _triples(text)
    return len(own & of) / max(1, len(own))


def _triples(text: str) -> frozenset[tuple[str, ...]]:
    words = [word.lower() for word in _TOKENS.findall(text)]
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _whole(raw: str) -> str:
    """`raw` without a last sentence that was cut off in the middle."""
    text = raw.rstrip()
    end = max((found.end() for found in re.finditer(r"(?<!\d)[.!?。！？]", text)), default=0)
    rest = text[end:]
    return (
        text[:end]
        if end and "\n" not in rest and len(rest.split()) > 1 and rest[-1] not in ".!?。！？"
        else text
    )


def _bare(line: str) -> str:
    """`line` without Markdown and numbering."""
    text = re.sub(r"^\s*(?:[-*•>#]+|\(?\d{1,2}[.)])\s+", "", line)
    return " ".join(re.sub(r"\*\*|__|`|^#+\s*|^\W*summary\W*:?\s*$", "", text, flags=re.I).split())


def _head(line: str) -> bool:
    return line.endswith((":", "：")) and len(line.split()) <= 6


def _under_heads(lines: Sequence[str]) -> list[str]:
    """Lines with the heading they stood under; a heading with nothing under it goes."""
    folded: list[str] = []
    head = ""
    for line in lines:
        if _head(line):
            head = line
        elif head and folded and folded[-1].startswith(head) and len(folded[-1]) + len(line) < _LONG:
            folded[-1] += f"; {line}"
        else:
            folded.append(f"{head} {line}".strip())
    return folded
