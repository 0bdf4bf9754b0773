"""How much memory there is for a model and its KV on this machine, with what the loaded one would give back.

Asks the system, and NVIDIA's own tool where the model is on such a GPU: the app does not load torch.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from dataclasses import dataclass

from chatkv.protocol import Kv
from chatkv.tui.memory.gauges import Gauges

_MIB = 1 << 20
_KEPT_FREE = 0.1
"""Share that the system and other programs need."""
_ASK_S = 3


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that a model could take, and where."""

    nbytes: int
    where: str
    slow: bool = False
    """The processor computes, for which large models are no pleasure, even where they fit."""

    @property
    def known(self) -> bool:
        """Whether there is a figure at all."""
        return self.nbytes > 0


NO_ROOM = Room(0, "")
"""Not known."""


async def room_for_a_model(gauges: Gauges) -> Room:
    """What is free now, and what the loaded model holds. Asked beside the screen: it may take a while."""
    device = gauges.ready.device if gauges.ready else ""
    if not device or device.startswith("cuda"):
        index = device.partition(":")[2]
        free = await asyncio.to_thread(_free_on_gpu, int(index) if index.isdecimal() else 0)
        if free or device:
            return Room(_usable(free, gauges.kv) if free else 0, "GPU memory")
    import psutil  # type: ignore[import-untyped, unused-ignore]  # not needed for the first paint

    shared = device == "mps"
    where = "memory shared with the GPU" if shared else "memory"
    return Room(_usable(psutil.virtual_memory().available, gauges.kv), where, slow=not shared)


def _usable(free: int, kv: Kv | None) -> int:
    held = kv.weights_bytes + kv.reserved_bytes if kv else 0
    return int(free * (1 - _KEPT_FREE)) + held


def _free_on_gpu(index: int) -> int:
    """Free bytes of NVIDIA's GPU with this number; 0 where that cannot be known."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return 0
    visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    name = visible[index] if index < len(visible) else str(index)
    command = [tool, f"--id={name}", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_S, check=True, stdin=subprocess.DEVNULL
        )
        return int(done.stdout.split()[0]) * _MIB
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return 0
