"""A model's token embeddings for who needs no tensors. Knows nothing of what they are good for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from chatkv.engine.loader import LoadedModel

Rows = Callable[[Sequence[int]], NDArray[np.float32]]


def embeddings(loaded: LoadedModel) -> tuple[Rows, int] | None:
    """A function from token ids to their embeddings [n, dim], and how many ids there are; None if there is no table."""
    table = loaded.model.get_input_embeddings()
    if table is None:
        return None

    @torch.inference_mode()
    def rows(ids: Sequence[int]) -> NDArray[np.float32]:
        found = table(torch.tensor(list(ids), device=loaded.model.device))
        return np.asarray(found.float().cpu().numpy(), np.float32)

    return rows, int(table.weight.shape[0])
