"""What makes KV reusable, as one name: another model, dtype, rope or attention has another fingerprint.

Nothing of the machine is in it: the same maths in another order of rounding is the same KV (exactness E1).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch
import transformers

from chatkv.engine.loader import LoadedModel

_SAMPLES = 1024
_NAMES_ONLY = ("_name_or_path", "transformers_version", "architectures", "use_cache", "dtype", "torch_dtype")


@torch.inference_mode()
def fingerprint(loaded: LoadedModel) -> str:
    """SHA-256 over config, dtype, attention and 1,024 evenly spaced values of each weight tensor, in hex.

    Weights are sampled, not read whole: a file of gigabytes would take seconds, and training changes every tensor.
    """
    config: dict[str, Any] = loaded.model.config.get_text_config(decoder=True).to_dict()
    said = {key: value for key, value in config.items() if key not in _NAMES_ONLY}
    release = ".".join(transformers.__version__.split(".")[:2])
    kind = (str(loaded.dtype), loaded.attention, release)
    digest = hashlib.sha256(json.dumps([kind, said], sort_keys=True, default=str).encode())
    for name, tensor in sorted(loaded.model.state_dict().items()):
        flat = tensor.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // _SAMPLES)]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(sample.contiguous().cpu().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
