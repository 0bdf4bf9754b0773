"""Recall on long conversations with known evidence: what share of it the product's own recall brings back.

The file holds one conversation a line: `{"conversation": str, "turns": [{"id", "speaker", "time", "text"}],
"questions": [{"question", "evidence": [id]}]}`. Each is kept in a store of its own, as a chat is: the first
speaker is the user, each message opens with its speaker's name, the time is when the message was written.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatkv.config import Config
from chatkv.engine.embeddings import embeddings
from chatkv.engine.loader import load_model
from chatkv.errors import UsageError
from chatkv.memory.recall import Archive, Meaning, Passage, from_messages
from chatkv.models import locate_model
from chatkv.paths import Paths
from chatkv.store import MessageRecord, Role, Store
from chatkv.tokens import Codec

_FIRST_MADE_UP = 1_000_000
_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation."""

    id: str
    speaker: str
    time: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the messages that answer it."""

    question: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is archived, and what is asked about it."""

    name: str
    said: tuple[Said, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    hits: int
    evidence: int
    tokens: int
    seconds: float


def read_conversations(file: Path) -> list[Conversation]:
    """Read the file. Raises `UsageError` that names the line and what is wrong with it."""
    found: list[Conversation] = []
    number = 0
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    found.append(_conversation(json.loads(line), str(number)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{file}, line {number}: not a conversation with questions: {type(error).__name__}: {error}.",
            'Write {"conversation": "…", "turns": [{"id", "speaker", "time", "text"}], "questions": '
            '[{"question", "evidence": ["id"]}]}, one a line.',
        ) from error
    if not any(conversation.questions for conversation in found):
        raise UsageError(f"{file} holds no questions.")
    return found


def run_recall(
    config: Config, paths: Paths, conversations: Sequence[Conversation], *, budget: int, messages: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield one object a conversation, then the totals.

    Each archive gets `messages` messages at least: made-up ones, of words from all conversations, come first.
    """
    count, meaning = _recalling(config, paths)
    answers: list[_Answer] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, conversation in enumerate(conversations):
            kept = _kept(Path(folder) / f"{number}.db", conversation)
            passages = [*_made_up(conversations, messages - len(kept)), *from_messages(kept)]
            archive, started = Archive(meaning), time.perf_counter()
            archive.update(passages)
            update_s = time.perf_counter() - started
            texts = {said.id: record.text for said, record in zip(conversation.said, kept, strict=True)}
            here = [_ask(archive, texts, question, budget, count) for question in conversation.questions]
            answers += here
            size = {"messages": len(passages), "update_s": round(update_s, 3)}
            yield {"conversation": conversation.name, **size, **_figures(here)}
    yield _figures(answers)


def _recalling(config: Config, paths: Paths) -> tuple[Callable[[str], int], Meaning | None]:
    """How the configured model counts, and what words mean to it."""
    load = config.load
    files = locate_model(
        config.model, paths.models, revision=load.revision, trust_remote_code=load.trust_remote_code
    )
    loaded = load_model(files, load, lambda _: None)
    codec, table = Codec.from_tokenizer(loaded.tokenizer), embeddings(loaded)
    return codec.count, Meaning(*table, codec.encode_plain) if table else None


def _conversation(table: dict[str, Any], name: str) -> Conversation:
    said = tuple(
        Said(turn["id"], turn["speaker"], turn.get("time", ""), turn["text"]) for turn in table["turns"]
    )
    ids = {one.id for one in said}
    questions = []
    for row in table["questions"]:
        evidence = tuple(dict.fromkeys(row["evidence"]))
        if not ids.issuperset(evidence):
            raise ValueError(f"no turn has the id {min(set(evidence) - ids)!r}")
        if evidence:
            questions.append(Question(str(row["question"]), evidence))
    return Conversation(str(table.get("conversation", name)), said, tuple(questions))


def _kept(file: Path, conversation: Conversation) -> list[MessageRecord]:
    """The conversation as a branch of a new store."""
    now = 0.0
    with Store.open(file, clock=lambda: now) as store:
        session = store.create_session("", conversation.name)
        leaf, turn = None, 0
        for said in conversation.said:
            moment = _moment(said.time)
            now = now if moment is None else moment
            is_user = said.speaker == conversation.said[0].speaker
            turn += is_user or not turn
            written = f"[{said.time}] " if said.time and moment is None else ""
            text = f"{written}{said.speaker}: {said.text}"
            role: Role = "user" if is_user else "assistant"
            leaf = store.add_message(session.id, leaf, role, text, turn=turn).id
        return store.path(leaf)


def _moment(written: str) -> float | None:
    try:
        return dt.datetime.strptime(written, _TIME).timestamp()
    except ValueError:
        return None


def _made_up(conversations: Sequence[Conversation], n: int) -> Iterator[Passage]:
    """`n` messages of random words, as frequent and in messages as long as in `conversations`."""
    draw = random.Random(n)
    lengths = [len(said.text.split()) for conversation in conversations for said in conversation.said]
    words = [
        word for conversation in conversations for said in conversation.said for word in said.text.split()
    ]
    for number in range(n):
        role = ("user", "assistant")[number % 2]
        text = " ".join(draw.choices(words, k=draw.choice(lengths)))
        moment = 3600.0 * 24 * (1 + number // 20)
        yield Passage(_FIRST_MADE_UP + number, 1 + number // 2, role, text, created_at=moment)


def _ask(
    archive: Archive, texts: dict[str, str], question: Question, budget: int, count: Callable[[str], int]
) -> _Answer:
    started = time.perf_counter()
    found = archive.search(question.question, exclude=(), budget=budget, count=count)
    seconds = time.perf_counter() - started
    hits = sum(texts[turn].strip() in found.text for turn in question.evidence)
    return _Answer(hits, len(question.evidence), found.tokens, seconds)


def _figures(answers: Sequence[_Answer]) -> dict[str, Any]:
    if not answers:
        return {"questions": 0}
    n = len(answers)
    seconds = sorted(answer.seconds for answer in answers)
    return {
        "questions": n,
        "recall": round(sum(answer.hits / answer.evidence for answer in answers) / n, 4),
        "recall_micro": round(sum(a.hits for a in answers) / sum(a.evidence for a in answers), 4),
        "all_evidence": round(sum(answer.hits == answer.evidence for answer in answers) / n, 4),
        "p50_ms": round(1000 * seconds[n // 2], 2),
        "p95_ms": round(1000 * seconds[min(n - 1, n * 95 // 100)], 2),
        "tokens_mean": round(sum(answer.tokens for answer in answers) / n, 1),
        "tokens_max": max(answer.tokens for answer in answers),
    }
