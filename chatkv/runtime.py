"""What a turn needs of a loaded model, in one place: engine, prefiller, chat format, sampling, limits."""

from __future__ import annotations

from dataclasses import dataclass

from chatkv.config import Config
from chatkv.engine import device as devices
from chatkv.engine.loader import LoadedModel
from chatkv.engine.local import LocalEngine
from chatkv.engine.prefill import Prefiller
from chatkv.engine.sampling import Sampling, resolve_sampling
from chatkv.kv.sizing import tokens_within
from chatkv.memory.budget import budget_bytes
from chatkv.protocol import Kv, KvSegment
from chatkv.tokens import ChatFormat, Codec


@dataclass(frozen=True, slots=True)
class Runtime:
    """One model with one KV cache, ready for turns."""

    engine: LocalEngine
    prefiller: Prefiller
    chat: ChatFormat
    codec: Codec
    sampling: Sampling
    stop: tuple[str, ...]
    end_ids: frozenset[int]
    max_new_tokens: int
    budget_bytes: int

    def kv_event(self) -> Kv:
        """The state of the KV, read from the tensors."""
        engine = self.engine
        return Kv(
            tokens=len(engine.ledger),
            used_bytes=engine.cache.used_bytes,
            reserved_bytes=engine.cache.reserved_bytes,
            budget_bytes=self.budget_bytes,
            context_tokens=engine.loaded.context_tokens,
            segments=tuple(KvSegment(s.kind, s.turn, s.n_tokens, s.tier) for s in engine.ledger.segments),
        )


def build_runtime(loaded: LoadedModel, config: Config, previous: Runtime | None = None) -> Runtime:
    """Runtime for `loaded` under `config`; the engine of a `previous` one, and so its KV, lives on."""
    engine = previous.engine if previous else None
    context = min(loaded.context_tokens, config.chat.context or loaded.context_tokens)
    held = engine.cache.reserved_bytes if engine else 0
    budget = budget_bytes(
        config.memory.budget,
        device=loaded.device,
        free_bytes=devices.free_bytes(loaded.device) + held,
        context_bytes=context * loaded.bytes_per_token + loaded.fixed_bytes,
    )
    limit = min(context, tokens_within(budget, loaded.bytes_per_token, loaded.fixed_bytes))
    engine = engine or LocalEngine(loaded)
    engine.limit(limit)
    codec = previous.codec if previous else Codec.from_tokenizer(loaded.tokenizer)
    chat = ChatFormat(loaded.tokenizer, codec, thinking=config.chat.thinking)
    recommended = loaded.model.generation_config
    return Runtime(
        engine=engine,
        prefiller=Prefiller(engine, devices.pick_chunk(config.prefill.chunk, loaded.device)),
        chat=chat,
        codec=codec,
        sampling=resolve_sampling(config.sampling, recommended),
        stop=config.sampling.stop,
        end_ids=chat.end_ids | _end_ids(recommended),
        max_new_tokens=config.sampling.max_new_tokens,
        budget_bytes=budget,
    )


def _end_ids(recommended: object) -> frozenset[int]:
    ids = getattr(recommended, "eos_token_id", None)
    return frozenset() if ids is None else frozenset([ids] if isinstance(ids, int) else ids)
