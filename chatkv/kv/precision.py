"""Keys and values in int8 and back: symmetric, one scale for each token and head. Knows neither files nor models.

Dettmers et al. 2022 (https://arxiv.org/abs/2208.07339) call it vector-wise absmax quantization.
"""

from __future__ import annotations

import torch
from torch import Tensor

N_SINKS = 4
"""Positions at the beginning of a conversation that stay as they are: all others look at them (Xiao et al. 2023)."""
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
_LEVELS = 127
_LEAST_SCALE = torch.finfo(torch.float32).tiny
"""Smaller numbers have too few bits to divide by."""


def quantized(states: Tensor) -> tuple[Tensor, Tensor] | None:
    """Values [..., dim] int8 and scales [..., 1] float32 of `states` [..., dim]: off by half a scale at most.

    None where that cannot be: numbers that are not finite or too large, or another dtype than of a floating KV.
    """
    if states.dtype not in _DTYPES:
        return None
    exact = states.float()
    largest = exact.abs().amax(dim=-1, keepdim=True)
    if not bool(torch.isfinite(2 * largest).all()):
        return None
    scales = (largest / _LEVELS).clamp_min(_LEAST_SCALE)
    return (exact / scales).round_().to(torch.int8), scales


def dequantized(values: Tensor, scales: Tensor, dtype: torch.dtype) -> Tensor:
    """States [..., dim] of int8 values and their scales. Raises `ValueError` if these are not what they should be."""
    if values.dtype != torch.int8 or scales.dtype != torch.float32 or dtype not in _DTYPES:
        raise ValueError("not int8")
    if scales.shape != (*values.shape[:-1], 1) or not bool(torch.isfinite(scales).all()):
        raise ValueError("scales that do not fit")
    return (values * scales).to(dtype)
