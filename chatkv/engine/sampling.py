"""Logits to one token: penalty, temperature, top-k, top-p, min-p, seed. Never a token from broken numbers.

Knows nothing of models, text or when to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from chatkv.config import SamplingConfig
from chatkv.errors import EngineError

_GENERAL: dict[str, Any] = {
    "temperature": 0.7,
    "top_k": 0,
    "top_p": 0.95,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
}
_FIRST_LOOK = 256
"""Tokens sorted at first in search of a nucleus: sorting a whole vocabulary may cost more than the model."""
_COLDEST = 1e-6
"""Below this temperature the best token is all but certain, and dividing by less would not stay finite."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings with nothing left open. `temperature` 0 is greedy; `top_k` 0, `top_p` 1, `min_p` 0 are off."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None


def resolve_sampling(config: SamplingConfig, recommended: Any) -> Sampling:
    """What the user set, else what the model's generation config recommends, else general defaults.

    A generation config with `do_sample` off recommends greedy only for the temperature.
    """
    values = {}
    for name, general in _GENERAL.items():
        chosen = getattr(config, name)
        if chosen is None:
            chosen = getattr(recommended, name, None)
        values[name] = general if chosen is None else chosen
    if config.temperature is None and getattr(recommended, "do_sample", None) is False:
        values["temperature"] = 0.0
    return Sampling(**values, seed=config.seed)


class Sampler:
    """Picks tokens for one answer. Owns a generator: one seed gives the same answer on the same context."""

    def __init__(self, settings: Sampling, device: torch.device | str = "cpu") -> None:
        self.settings = settings
        self._generator = torch.Generator(device=device)
        if settings.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(settings.seed)

    def pick(self, logits: Tensor, context: Sequence[int]) -> int:
        """The next token from `logits` [vocab] given the ids before it; greedy ties go to the lowest id.

        Raises `EngineError` if the logits hold NaN or +inf, or allow no token at all.
        """
        s = self.settings
        scores = logits.float()
        if s.repetition_penalty != 1.0:
            scores = _penalized(scores, context, s.repetition_penalty)
        best = scores.max()  # NaN wins over every number, so one look finds any
        if not bool(torch.isfinite(best)):
            raise EngineError(
                "The model computed logits that are not numbers.",
                'Try `load.dtype = "float32"`; if it stays, the model files may be damaged.',
            )
        if s.temperature == 0.0:
            return int(scores.argmax())
        probabilities, ids = _candidates((scores - best) / max(s.temperature, _COLDEST), s)
        choice = torch.multinomial(_truncated(probabilities, s), 1, generator=self._generator)
        return int(ids[choice])


def _penalized(scores: Tensor, context: Sequence[int], penalty: float) -> Tensor:
    """Divide positive and multiply negative scores of tokens already seen (Keskar et al., CTRL, 2019)."""
    seen = torch.tensor(sorted(set(context)), device=scores.device, dtype=torch.long)
    old = scores[seen]
    return scores.scatter(0, seen, torch.where(old > 0, old / penalty, old * penalty))


def _candidates(scores: Tensor, s: Sampling) -> tuple[Tensor, Tensor]:
    """Probabilities [n] and ids [n] of all tokens that can be left after top-k and top-p.

    Most probable first, unless neither is on.
    """
    n_vocab = scores.shape[0]
    if 0 < s.top_k < n_vocab:
        ordered, ids = scores.topk(s.top_k)
        return ordered.softmax(-1), ids
    probabilities = scores.softmax(-1)
    if s.top_p >= 1.0:
        return probabilities, torch.arange(n_vocab, device=scores.device)
    n = min(_FIRST_LOOK, n_vocab)
    while True:
        ordered, ids = probabilities.topk(n)
        if n == n_vocab or float(ordered.cumsum(-1)[-1]) >= s.top_p:
            return ordered, ids
        n = min(8 * n, n_vocab)


def _truncated(probabilities: Tensor, s: Sampling) -> Tensor:
    """`probabilities` [n], not normalized, without what lies beyond top-p (Holtzman et al., 2020) or min-p
    (Nguyen et al., 2024).
    """
    kept = probabilities
    if s.top_p < 1.0:
        before = probabilities.cumsum(-1) - probabilities
        kept = torch.where(before < s.top_p, kept, 0.0)
    if s.min_p > 0.0:
        kept = torch.where(probabilities >= s.min_p * probabilities.max(), kept, 0.0)
    return kept
