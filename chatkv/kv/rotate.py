"""Moving keys to other positions: rotary embedding turns a key by position x frequency, so a shift is one more turn.

Source: Su et al., "RoFormer" (2021), eq. 34; the layouts are those of transformers' `rotate_half` (first half
against second) and of GPT-J (neighbours). Knows nothing of models: how a layer turns is found out by `found`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

_TOLERANCE = 0.05
"""Relative error of shifted keys; a wrong turn is off by about 1, bfloat16 rounding by up to 0.02."""


@dataclass(frozen=True, slots=True)
class Turning:
    """How the keys of one layer depend on position. `inv_freq` [pairs] None: not at all.

    The turned dimensions begin at `first`; `neighbours`: pairs are (2i, 2i+1), else (i, i + pairs).
    """

    inv_freq: Tensor | None = None
    first: int = 0
    neighbours: bool = False

    def shifted(self, keys: Tensor, by: int) -> Tensor:
        """`keys` [..., n, dim] as they would be `by` positions later (earlier if negative), in a new tensor.

        Computed in float32 and rounded once.
        """
        out = keys.clone()
        if self.inv_freq is None or by == 0:
            return out
        pairs = len(self.inv_freq)
        angle = self.inv_freq.double() * by
        cos, sin = angle.cos().to(keys.device, torch.float32), angle.sin().to(keys.device, torch.float32)
        turned, into = (tensor[..., self.first : self.first + 2 * pairs] for tensor in (keys, out))
        one, two = self._halves(turned)
        one, two = one.float(), two.float()
        into_one, into_two = self._halves(into)
        into_one.copy_((one * cos).addcmul_(two, sin, value=-1))
        into_two.copy_((two * cos).addcmul_(one, sin))
        return out

    def _halves(self, turned: Tensor) -> tuple[Tensor, Tensor]:
        if self.neighbours:
            return turned[..., 0::2], turned[..., 1::2]
        half = turned.shape[-1] // 2
        return turned[..., :half], turned[..., half:]


def found(here: Tensor, there: Tensor, by: int, frequencies: Iterable[Tensor]) -> Turning | None:
    """The turning that leads from keys `here` [..., n, dim] to those of the same text `by` positions later, `there`.

    None if no combination of the model's own `frequencies` [pairs] and the known layouts does.
    """
    dim = here.shape[-1]
    candidates = [Turning()]
    for inv_freq in frequencies:
        rest = dim - 2 * len(inv_freq)
        places = sorted({0, rest}) if rest >= 0 else []
        candidates += [Turning(inv_freq, *way) for way in itertools.product(places, (False, True))]
    errors = [_error(turning.shifted(here, by), there) for turning in candidates]
    best = min(range(len(errors)), key=errors.__getitem__)
    return candidates[best] if errors[best] <= _TOLERANCE else None


def _error(one: Tensor, other: Tensor) -> float:
    """How far `one` is from `other`, relative to it."""
    return float((one.float() - other.float()).norm() / other.float().norm().clamp_min(1e-12))
