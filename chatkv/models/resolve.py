"""From what a person writes as `model` to files that are there. Decides only which kind of model it is.

What exists as a path is that path; what is spelled like one is never asked of the hub.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from chatkv.errors import ModelError
from chatkv.models.check import check_folder, check_gguf
from chatkv.models.files import ModelFiles
from chatkv.models.hub import HubModel, locate_hub_model
from chatkv.models.progress import OnProgress, ignore_progress
from chatkv.models.starter import STARTER, ensure_starter

_HUB_ID = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?::(.+\.gguf))?", re.IGNORECASE)
_PATH_START = re.compile(r"[.~/\\]|[A-Za-z]:[\\/]")
_KINDS = "Write 'starter', a folder ('./my-model'), a '*.gguf' file or a hub id ('org/name')."


def locate_model(
    spec: str,
    folder: Path,
    *,
    revision: str = "",
    trust_remote_code: bool = False,
    refresh: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> ModelFiles:
    """Find the model that `spec` names, fetching what is not on this machine yet.

    `spec`: `starter`, a folder, a `*.gguf` file, `org/name` or `org/name:file.gguf`. `folder`: where chatkv
    keeps models it made itself; hub models lie in Hugging Face's own cache. `revision`: branch, tag or commit
    of a hub model. `refresh`: ask the hub for changes even if the model is here. Raises `ModelError`.
    """
    spec = spec.strip()
    if spec == "starter":
        path = ensure_starter(folder, on_progress)
        return ModelFiles(STARTER.name, path, STARTER.revision)
    local = _existing(spec)
    if local is not None:
        return _local_model(local, trust_remote_code)
    model = _hub_model(spec, revision, trust_remote_code)
    return locate_hub_model(model, refresh=refresh, on_progress=on_progress)


def looks_like_path(spec: str) -> bool:
    """Whether `spec` is spelled like a path, so that it must exist on this machine."""
    hub_id = _HUB_ID.fullmatch(spec)
    gguf_file = spec.lower().endswith(".gguf") and not (hub_id and hub_id[2])
    return bool(_PATH_START.match(spec)) or "\\" in spec or spec.endswith("/") or gguf_file


def _existing(spec: str) -> Path | None:
    if not spec:
        raise ModelError("No model is named.", _KINDS)
    try:
        path = Path(spec).expanduser()
        if path.exists():
            return path.absolute()
    except (OSError, RuntimeError, ValueError) as error:  # an unknown ~user, a NUL, a name too long
        raise ModelError(f"`{spec}` cannot be a path: {error}.", _KINDS) from error
    if looks_like_path(spec):
        raise ModelError(f"`{spec}` does not exist.", _nearest(path))
    return None


def _local_model(path: Path, trust_remote_code: bool) -> ModelFiles:
    if path.is_dir():
        check_folder(path, trust_remote_code=trust_remote_code)
        return ModelFiles(path.resolve().name, path)
    if path.suffix.lower() == ".gguf":
        check_gguf(path)
        return ModelFiles(path.stem, path.parent, gguf=path.name)
    raise ModelError(
        f"`{path}` is neither a folder nor a '*.gguf' file.", f"Name its folder: `{path.parent}`."
    )


def _hub_model(spec: str, revision: str, trust_remote_code: bool) -> HubModel:
    hub_id = _HUB_ID.fullmatch(spec)
    if hub_id:
        return HubModel(hub_id[1], revision, hub_id[2], trust_remote_code)
    if "://" in spec:
        raise ModelError(f"`{spec}` is an address, not a model.", "Write only its 'org/name'.")
    if difflib.get_close_matches(spec.lower(), ["starter"]):
        raise ModelError(f"There is no model `{spec}`.", "Did you mean 'starter'?")
    raise ModelError(f"`{spec}` is neither a folder here nor a hub id.", _KINDS)


def _nearest(path: Path) -> str:
    parent = path.parent
    if not parent.is_dir():
        return f"`{parent}` does not exist either. {_KINDS}"
    try:
        names = [entry.name for entry in parent.iterdir()]
    except OSError:
        names = []
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"Did you mean `{parent / near[0]}`?" if near else f"Look into `{parent.absolute()}`, or: {_KINDS}"
