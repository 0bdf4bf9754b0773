"""A proof of KV that was not computed here: its last token, read again, must come out as it stands.

What a layer writes for a token depends on all tokens before it and all layers below, so one token tells.
"""

from __future__ import annotations

import torch

from chatkv.engine.local import LocalEngine

_TOLERANCE = {torch.float32: 1e-3}
_COARSE_TOLERANCE = 0.1
"""Relative error of a layer's keys or values; those of another text or model are off by about 1."""


def agrees(engine: LocalEngine) -> bool:
    """Whether the model, given the KV before it, computes for the last token what the KV holds, up to rounding.

    One token is computed; it is as exact afterwards as what stands before it. Always true where positions cannot be
    overwritten.
    """
    end = len(engine.ledger)
    if end < 2 or not engine.cache.can_move:
        return True
    held, inexact = engine.cache.at(end - 1), engine.ledger.first_of("E2")
    engine.refresh(end - 1, end)
    allowed = _TOLERANCE.get(engine.loaded.dtype, _COARSE_TOLERANCE)
    if inexact is not None:
        allowed = max(allowed, _COARSE_TOLERANCE)
        engine.ledger.retier(end - 1, end, "E2" if inexact < end - 1 else "E1")
    return all(
        float((new.float() - old.float()).norm()) <= allowed * float(old.float().norm()) + 1e-6
        for old, new in zip(held, engine.cache.at(end - 1), strict=True)
    )
