"""Model files to a model in memory: device and dtype, attention that was checked on this model, progress."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as hf_logging

from chatkv.config import LoadConfig
from chatkv.engine import attention
from chatkv.engine import device as devices
from chatkv.engine.widen import widen_linears
from chatkv.errors import ChatkvError, ModelError
from chatkv.kv.cache import LiveCache
from chatkv.models import ModelFiles, OnProgress, Progress

_PROBE_TOKENS = (5, 2)
_TOLERANCE = {torch.float32: 1e-3, torch.float16: 0.1}
_COARSE_TOLERANCE = 0.25
"""Relative error of all logits; wrong attention is off by about 1, bfloat16 rounding by up to 0.1."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to compute. `notices` are remarks for the user, in plain words."""

    model: Any
    tokenizer: PreTrainedTokenizerBase
    name: str
    device: str
    dtype: torch.dtype
    attention: str
    context_tokens: int
    bytes_per_token: int
    fixed_bytes: int
    weights_bytes: int
    load_s: float
    notices: tuple[str, ...]


def load_model(files: ModelFiles, config: LoadConfig, on_progress: OnProgress) -> LoadedModel:
    """Load weights and tokenizer of `files`. Raises `ModelError` with what to do."""
    started = time.perf_counter()
    machine = devices.this_machine()
    device = devices.pick_device(config.device, machine)
    dtype = devices.pick_dtype(config.dtype, device, machine)
    widen = devices.needs_widening(device, dtype, machine)
    attention.register(widen=widen)
    devices.set_threads(config.threads, machine)
    source: dict[str, Any] = {"trust_remote_code": config.trust_remote_code}
    if files.gguf:
        source["gguf_file"] = files.gguf
    on_progress(Progress("loading tokenizer", 0, 0, ""))
    with _clear_errors(files.name), _progress_to(on_progress):
        tokenizer = AutoTokenizer.from_pretrained(files.path, **source)
        on_progress(Progress("loading weights", 0, 0, ""))
        model = _load_weights(files, config, source, device, dtype)
        model.eval().requires_grad_(False)
        if widen:
            widen_linears(model)
        return loaded_from(
            model, tokenizer, name=files.name, device=device, load_s=time.perf_counter() - started
        )


def loaded_from(
    model: Any, tokenizer: PreTrainedTokenizerBase, *, name: str, device: str, load_s: float = 0.0
) -> LoadedModel:
    """Check and measure a model that is in memory. Raises `ModelError` if its KV cannot be reused honestly."""
    implementation, probe = _checked(model)
    notices = []
    if implementation != attention.NAME:
        notices.append(
            f"This model computes attention in its own way; using transformers' `{implementation}`."
        )
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        name=name,
        device=device,
        dtype=model.dtype,
        attention=implementation,
        context_tokens=_context_tokens(model.config, tokenizer),
        bytes_per_token=probe.bytes_per_token,
        fixed_bytes=probe.fixed_bytes,
        weights_bytes=_weights_bytes(model),
        load_s=load_s,
        notices=tuple(notices),
    )


def feed_arguments(model: Any) -> tuple[str, bool]:
    """(name of the cache argument, whether `logits_to_keep` is known) of a model's forward."""
    parameters = inspect.signature(model.forward).parameters
    return ("cache" if "cache" in parameters else "past_key_values"), "logits_to_keep" in parameters


def _load_weights(
    files: ModelFiles, config: LoadConfig, source: dict[str, Any], device: str, dtype: torch.dtype
) -> Any:
    arguments: dict[str, Any] = {**source, "dtype": dtype, "device_map": {"": device}}
    weights = devices.pick_weights(config.weights, device)
    if weights != "auto":
        arguments["quantization_config"] = BitsAndBytesConfig(
            load_in_8bit=weights == "int8",
            load_in_4bit=weights == "nf4",
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=dtype,
        )
    try:
        return AutoModelForCausalLM.from_pretrained(
            files.path, attn_implementation=attention.NAME, **arguments
        )
    except ValueError as error:
        if "attn_implementation" not in str(error) and "attention" not in str(error).lower():
            raise
    return AutoModelForCausalLM.from_pretrained(files.path, **arguments)


@dataclass(frozen=True, slots=True)
class _Probe:
    """Logits of the last token after a continued prompt, and what its KV took."""

    logits: torch.Tensor
    bytes_per_token: int
    fixed_bytes: int


@torch.inference_mode()
def _checked(model: Any) -> tuple[str, _Probe]:
    """chatkv's attention if it gives the model's own logits on a continued prompt; else the first that does."""
    # Spread over the vocabulary: the first ids are control tokens, on which coarse dtypes say nothing of use.
    spread = torch.arange(sum(_PROBE_TOKENS), device=model.device) * 7919 + 1009
    ids = spread[None] % model.config.get_text_config().vocab_size
    chosen = model.config._attn_implementation
    model.set_attn_implementation("eager")
    expected = model(input_ids=ids, use_cache=False).logits[0, -1].float()
    allowed = _TOLERANCE.get(model.dtype, _COARSE_TOLERANCE) * float((expected - expected.mean()).norm())
    for implementation in dict.fromkeys((chosen, "sdpa", "eager")):
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError, TypeError):
            model.set_attn_implementation(implementation)
            probe = _continued_prompt(model, ids)
            if float((probe.logits - expected).norm()) <= allowed:
                return str(implementation), probe
    raise ModelError(
        "This model gives other logits on a reused KV cache than without one.",
        "chatkv cannot keep its KV cache honestly; please choose another model.",
    )


def _continued_prompt(model: Any, ids: torch.Tensor) -> _Probe:
    cache, start, sizes = LiveCache(model.config), 0, []
    logits = torch.empty(0)
    cache_argument, _ = feed_arguments(model)
    for size in _PROBE_TOKENS:
        positions = torch.arange(start, start + size, device=ids.device)[None]
        chunk = ids[:, start : start + size]
        out = model(input_ids=chunk, position_ids=positions, use_cache=True, **{cache_argument: cache})
        logits, start = out.logits[0, -1].float(), start + size
        sizes.append(cache.used_bytes)
    per_token = (sizes[1] - sizes[0]) // _PROBE_TOKENS[1]
    return _Probe(logits, per_token, max(0, sizes[0] - per_token * _PROBE_TOKENS[0]))


def _weights_bytes(model: Any) -> int:
    """Bytes of all parameters and buffers, storages that are shared counted once."""
    tensors = itertools.chain(model.parameters(), model.buffers())
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(storages.values())


def _context_tokens(config: Any, tokenizer: PreTrainedTokenizerBase) -> int:
    """Positions the model was made for; a tokenizer's limit counts only where the model names none."""
    text = config.get_text_config(decoder=True)
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        value = getattr(text, name, None)
        if isinstance(value, int) and value > 0:
            return value
    limit = tokenizer.model_max_length
    return int(limit) if limit < 1 << 30 else 1 << 20


@contextlib.contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """What transformers raises, as one of ours."""
    failure: Exception
    try:
        yield
        return
    except ChatkvError:
        raise
    except (OSError, ValueError, ImportError, KeyError, RuntimeError, torch.OutOfMemoryError) as error:
        failure = error
    if devices.is_out_of_memory(failure):
        hint = (
            "Choose a smaller model, or smaller weights (`load.weights`); `chatkv doctor` shows what is free."
        )
        raise ModelError(f"{name} does not fit into memory.", hint)
    first_line = str(failure).strip().splitlines()[0] if str(failure).strip() else type(failure).__name__
    hint = 'See `chatkv doctor`; `model = "starter"` always works.'
    if "trust_remote_code" in str(failure):
        hint = (
            "Its code comes with the model: set `load.trust_remote_code = true` only if you trust its author."
        )
    raise ModelError(f"Cannot load {name}: {first_line}", hint) from failure


@contextlib.contextmanager
def _progress_to(on_progress: OnProgress) -> Iterator[None]:
    """Send transformers' progress bars to `on_progress` instead of the terminal."""

    def hooked(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and kwargs.get("desc") == "Loading weights":
            return _reported(args[0], len(args[0]), on_progress)
        return factory(*args, **{**kwargs, "disable": True})

    previous = hf_logging.set_tqdm_hook(hooked)
    level = hf_logging.get_verbosity()
    hf_logging.set_verbosity_error()
    try:
        yield
    finally:
        hf_logging.set_tqdm_hook(previous)
        hf_logging.set_verbosity(level)


def _reported(items: Any, total: int, on_progress: OnProgress) -> Iterator[Any]:
    step = max(1, total // 50)
    for done, item in enumerate(items, start=1):
        yield item
        if done % step == 0 or done == total:
            on_progress(Progress("loading weights", done, total, "tensors"))


def model_config(files: ModelFiles, *, trust_remote_code: bool = False) -> Any:
    """The model's configuration alone, without weights."""
    source: dict[str, Any] = {"gguf_file": files.gguf} if files.gguf else {}
    with _clear_errors(files.name):
        return AutoConfig.from_pretrained(files.path, trust_remote_code=trust_remote_code, **source)
