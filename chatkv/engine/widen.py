"""bfloat16 weights on CPUs without bfloat16 arithmetic: few rows as they are, many rows in float32.

One row is bound by memory traffic, which bfloat16 halves; many rows are bound by arithmetic, which float32 does
several times faster there. Sums are in float32 either way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

NARROW_ROWS = 8
"""Up to here, multiplying in bfloat16 is faster than converting the weights (measured on AVX2)."""


class WideLinear(nn.Linear):
    """`nn.Linear` that converts weights and input to float32 for more than `NARROW_ROWS` rows."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., rows, in] → [..., rows, out], in the input's dtype."""
        if input.shape[-2] <= NARROW_ROWS:
            return F.linear(input, self.weight, self.bias)
        bias = None if self.bias is None else self.bias.float()
        return F.linear(input.float(), self.weight.float(), bias).to(input.dtype)


def widen_linears(model: Any) -> None:
    """Make every plain linear layer of `model` a wide one, in place."""
    for module in model.modules():
        if type(module) is nn.Linear and module.weight.dtype is torch.bfloat16:
            module.__class__ = WideLinear
