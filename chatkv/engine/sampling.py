"""Logits to one token: penalties, temperature, top-k, top-p, min-p, seed. Never a token from broken numbers."""

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
    """Picks tokens for one answer. Owns a generator, so that a seed gives the same answer on the same context."""

    def __init__(self, settings: Sampling, device: torch.device | str = "cpu") -> None:
        self.settings = settings
        self._generator = torch.Generator(device=device)
        if settings.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(settings.seed)

    def pick(self, logits: Tensor, context: Sequence[int]) -> int:
        """The next token from `logits` [vocab] given the ids before it.

        Raises `EngineError` if the logits hold NaN or +inf, or allow no token at all.
        """
        scores = logits.float()
        best = scores.max()
        if not bool(torch.isfinite(best)) or bool(scores.isnan().any()):
            raise EngineError(
                "The model computed logits that are not numbers.",
                'Try `load.dtype = "float32"`; if it stays, the model files may be damaged.',
            )
        s = self.settings
        if s.repetition_penalty != 1.0:
            scores = _penalized(scores, context, s.repetition_penalty)
        if s.temperature == 0.0:
            return int(scores.argmax())
        probabilities = _truncated(scores / s.temperature, s)
        return int(torch.multinomial(probabilities, 1, generator=self._generator))


def _penalized(scores: Tensor, context: Sequence[int], penalty: float) -> Tensor:
    """Divide positive and multiply negative scores of tokens already seen (Keskar et al., CTRL, 2019)."""
    seen = torch.tensor(sorted(set(context)), device=scores.device, dtype=torch.long)
    old = scores[seen]
    return scores.scatter(0, seen, torch.where(old > 0, old / penalty, old * penalty))


def _truncated(scores: Tensor, s: Sampling) -> Tensor:
    """Probabilities after top-k, top-p (Holtzman et al., 2020) and min-p (Nguyen et al., 2024); not normalized."""
    ordered, index = torch.sort(scores, descending=True)
    if s.top_k:
        ordered, index = ordered[: s.top_k], index[: s.top_k]
    probabilities = torch.softmax(ordered, dim=-1)
    if s.top_p < 1.0:
        before = probabilities.cumsum(-1) - probabilities
        probabilities = torch.where(before < s.top_p, probabilities, 0.0)
    if s.min_p > 0.0:
        probabilities = torch.where(probabilities >= s.min_p * probabilities[0], probabilities, 0.0)
    return torch.zeros_like(scores).scatter(0, index, probabilities)
