"""Widened layers compute what float32 computes from the same bfloat16 weights, for any number of rows."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from chatkv.engine.attention import attend, attend_wide
from chatkv.engine.widen import NARROW_ROWS, WideLinear, widen_linears


@pytest.mark.parametrize("rows", [1, NARROW_ROWS, NARROW_ROWS + 1, 64])
@pytest.mark.parametrize("bias", [True, False])
def test_equals_float32_up_to_one_rounding(rows: int, bias: bool) -> None:
    model = nn.Sequential(nn.Linear(48, 32, bias=bias)).to(torch.bfloat16)
    widen_linears(model)
    assert isinstance(model[0], WideLinear)
    x = torch.randn(1, rows, 48, dtype=torch.bfloat16)
    exact = x.float() @ model[0].weight.float().T + (model[0].bias.float() if bias else 0)
    out = model(x)
    assert out.dtype is torch.bfloat16
    torch.testing.assert_close(out.float(), exact, atol=2e-2, rtol=1e-2)


def test_other_layers_are_left_alone() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Embedding(4, 4, dtype=torch.bfloat16))
    widen_linears(model)
    assert [type(module) for module in model] == [nn.Linear, nn.Embedding]


@pytest.mark.parametrize("n_new", [1, 20])
def test_wide_attention_keeps_dtype_and_value(n_new: int) -> None:
    query, key = torch.randn(1, 4, n_new, 8).bfloat16(), torch.randn(1, 2, 50, 8).bfloat16()
    wide, _ = attend_wide(nn.Module(), query, key, key, None)
    exact, _ = attend(nn.Module(), query.float(), key.float(), key.float(), None)
    assert wide.dtype is torch.bfloat16
    torch.testing.assert_close(wide.float(), exact, atol=2e-2, rtol=2e-2)
