"""A few well-known models that one may want to talk to, with about what they take. A place to start, no catalogue.

Figures are rounded from what their publishers' files say, for bfloat16; none of them asks for a sign-in.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatkv.models.shape import Shape

_KIB = 1 << 10
_GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class KnownModel:
    """`spec` is its hub id; `about` says in a few words what it is for."""

    spec: str
    about: str
    shape: Shape


def _known(spec: str, gigabytes: float, kv_kib: int, context: int, about: str) -> KnownModel:
    return KnownModel(spec, about, Shape(int(gigabytes * _GB), kv_kib * _KIB, context))


KNOWN = (
    _known("HuggingFaceTB/SmolLM2-360M-Instruct", 0.7, 40, 8_192, "English, simple tasks, any laptop"),
    _known("Qwen/Qwen3-0.6B", 1.5, 112, 40_960, "many languages, thinks, any laptop"),
    _known("Qwen/Qwen3-1.7B", 4.1, 112, 40_960, "many languages, thinks"),
    _known("HuggingFaceTB/SmolLM3-3B", 6.2, 72, 65_536, "six languages, long contexts, little KV"),
    _known("Qwen/Qwen3-4B-Instruct-2507", 8.1, 144, 262_144, "many languages, good for most talk"),
    _known("Qwen/Qwen3-8B", 16.4, 144, 40_960, "many languages, thinks, good at code"),
    _known("Qwen/Qwen3-14B", 29.6, 160, 40_960, "many languages, thinks, better at both"),
    _known("Qwen/Qwen3-32B", 65.6, 256, 40_960, "many languages, thinks, for large GPUs"),
)
"""The smallest first."""

_ROOM_TOKENS = 4096


_SLOW_NBYTES = 9 * _GB
"""Weights that a processor still reads a few times a second: all of them, for each token."""


def suggested(free_nbytes: int, n: int = 3, *, slow: bool = False) -> list[KnownModel]:
    """The `n` largest that fit in `free_nbytes` with room for a talk of some length, the largest first. `slow`: of
    those that are bearable on a processor."""
    fit = [model for model in KNOWN if model.shape.tokens_in(free_nbytes) >= _ROOM_TOKENS]
    return [model for model in fit if not slow or model.shape.weights_nbytes <= _SLOW_NBYTES][::-1][:n]
