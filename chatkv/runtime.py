"""What a turn needs of a loaded model, in one place: engine, prefiller, chat format, sampling, limits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from chatkv.config import Config, MemoryConfig
from chatkv.engine import device as devices
from chatkv.engine.embeddings import embeddings
from chatkv.engine.loader import LoadedModel
from chatkv.engine.local import LocalEngine
from chatkv.engine.prefill import Prefiller
from chatkv.engine.sampling import Sampling, resolve_sampling
from chatkv.kv.sizing import tokens_within
from chatkv.memory.budget import budget_bytes
from chatkv.memory.recall import Meaning
from chatkv.memory.room import Room
from chatkv.models import lasting
from chatkv.protocol import Kv, KvSegment
from chatkv.tokens import ChatFormat, Codec, Segment

_SINKS = 4


@dataclass(slots=True)
class Standing:
    """What the open conversation makes of the KV, for its gauges."""

    room: Room | None = None
    heat: dict[int, float] = field(default_factory=dict)
    """By turn: the share of attention that recent questions paid to it."""
    pinned: frozenset[int] = frozenset()
    """Numbers of the pinned turns."""

    def warm(self, segments: Sequence[Segment], mass: Sequence[float], asking: int) -> None:
        """Turn `asking` looked at the positions of `segments` with `mass`; older looks count half each time.

        The first few positions draw attention whatever they say (Xiao et al. 2023), so they do not count.
        """
        paid: dict[int, float] = {}
        start = 0
        for segment in segments:
            end = start + segment.n_tokens
            if segment.turn not in (0, asking):
                seen = sum(mass[max(start, _SINKS) : end])
                paid[segment.turn] = paid.get(segment.turn, 0.0) + seen
            start = end
        total = sum(paid.values())
        if total > 0:
            turns = paid.keys() | self.heat.keys()
            self.heat = {t: (self.heat.get(t, 0.0) + paid.get(t, 0.0) / total) / 2 for t in turns}


@dataclass(frozen=True, slots=True)
class Runtime:
    """One model with one KV cache, ready for turns. `quiet` is `chat` without thinking, for the summary request."""

    engine: LocalEngine
    prefiller: Prefiller
    chat: ChatFormat
    quiet: ChatFormat
    codec: Codec
    sampling: Sampling
    stop: tuple[str, ...]
    end_ids: frozenset[int]
    max_new_tokens: int
    budget_bytes: int
    memory: MemoryConfig
    spec: str
    """What the model is loaded by: a name, or an absolute path."""
    kv_on_disk: str
    """How much KV may be kept on disk: a size, a share, `auto` or `0`."""
    kv_int8: bool
    """Whether it is kept in int8 where that does no harm."""
    drafts: bool
    """Whether a message is read while it is being written."""
    meaning: Callable[[], Meaning | None]
    """What words mean to the model; worked out when it is first asked for."""
    standing: Standing

    def dated(self, moment_s: float) -> Runtime:
        """This runtime for a conversation that began at `moment_s` (Unix time): templates may print that day.

        So the prompt of a session is the same on whatever day it is resumed.
        """
        today = datetime.fromtimestamp(moment_s)
        chat, quiet = self.chat.dated(today), self.quiet.dated(today)
        return self if chat is self.chat else replace(self, chat=chat, quiet=quiet)

    def kv_event(self) -> Kv:
        """The state of the KV, read from the tensors."""
        engine, room = self.engine, self.standing.room
        held = devices.held_memory(engine.loaded.device)
        weights, warm = engine.loaded.weights_bytes, engine.parking.nbytes
        known = weights + engine.cache.reserved_bytes + warm
        return Kv(
            tokens=len(engine.ledger),
            used_bytes=engine.cache.used_bytes,
            reserved_bytes=engine.cache.reserved_bytes + warm,
            warm_bytes=warm,
            warm_sessions=len(engine.parking),
            budget_bytes=self.budget_bytes,
            context_tokens=engine.loaded.context_tokens,
            segments=tuple(map(self._segment, engine.ledger.segments)),
            limit_tokens=engine.limit_tokens,
            soft_tokens=room.soft if room else 0,
            hard_tokens=room.hard if room else 0,
            target_tokens=room.target if room else 0,
            second_bytes=engine.cache.second_bytes,
            weights_bytes=weights,
            scratch_bytes=max(0, held.allocated - known) if held.allocated else 0,
            slack_bytes=max(0, held.reserved - held.allocated),
            rss_bytes=held.rss,
        )

    def _segment(self, segment: Segment) -> KvSegment:
        tier = "E3" if segment.kind == "summary" else segment.tier
        turn, standing = segment.turn, self.standing
        return KvSegment(
            segment.kind, turn, segment.n_tokens, tier, standing.heat.get(turn, 0.0), turn in standing.pinned
        )


def build_runtime(loaded: LoadedModel, config: Config, previous: Runtime | None = None) -> Runtime:
    """Runtime for `loaded` under `config`; the engine of a `previous` one, and so its KV, lives on."""
    engine = previous.engine if previous else None
    context = min(loaded.context_tokens, config.chat.context or loaded.context_tokens)
    held = engine.cache.reserved_bytes + engine.parking.nbytes if engine else 0
    budget = budget_bytes(
        config.memory.budget,
        device=loaded.device,
        free_bytes=devices.free_bytes(loaded.device) + held,
        context_bytes=context * loaded.bytes_per_token + loaded.fixed_bytes,
    )
    limit = min(context, tokens_within(budget, loaded.bytes_per_token, loaded.fixed_bytes))
    engine = engine or LocalEngine(loaded)
    engine.limit(limit)
    engine.budget_bytes = budget
    codec = previous.codec if previous else Codec.from_tokenizer(loaded.tokenizer)
    chat = ChatFormat(loaded.tokenizer, codec, thinking=config.chat.thinking)
    quiet = ChatFormat(loaded.tokenizer, codec, thinking=False) if config.chat.thinking else chat
    recommended = loaded.model.generation_config
    return Runtime(
        engine=engine,
        prefiller=Prefiller(engine, devices.pick_chunk(config.prefill.chunk, loaded.device)),
        chat=chat,
        quiet=quiet,
        codec=codec,
        sampling=resolve_sampling(config.sampling, recommended),
        stop=config.sampling.stop,
        end_ids=chat.end_ids | _end_ids(recommended),
        max_new_tokens=config.sampling.max_new_tokens,
        budget_bytes=budget,
        memory=config.memory,
        spec=lasting(config.model),
        kv_on_disk=config.store.kv,
        kv_int8=config.store.kv_int8,
        drafts=config.prefill.draft,
        meaning=previous.meaning if previous else functools.cache(lambda: _meaning(loaded, codec)),
        standing=previous.standing if previous else Standing(),
    )


def _meaning(loaded: LoadedModel, codec: Codec) -> Meaning | None:
    table = embeddings(loaded)
    return Meaning(*table, codec.encode_plain) if table else None


def _end_ids(recommended: object) -> frozenset[int]:
    ids = getattr(recommended, "eos_token_id", None)
    return frozenset() if ids is None else frozenset([ids] if isinstance(ids, int) else ids)
