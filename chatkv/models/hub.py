"""A model of the Hugging Face hub, in Hugging Face's own cache on this machine.

Chooses the files and downloads them with progress: weights last, so that whole weights mean a whole model.
What is whole here is used without asking the network.
"""

from __future__ import annotations

import fnmatch
import glob
from dataclasses import dataclass
from pathlib import Path

from chatkv.errors import ChatkvError, ModelError
from chatkv.models.check import INDEX, SINGLE, check_folder, check_gguf, pickled, shard_names
from chatkv.models.files import ModelFiles
from chatkv.models.hub_errors import explain
from chatkv.models.progress import Meter, OnProgress, Progress

_SMALL = ("*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "additional_chat_templates/*.jinja")


@dataclass(frozen=True, slots=True)
class HubModel:
    """What is wanted of the hub. `revision` empty = the default branch; `gguf` = that one file alone."""

    repo: str
    revision: str = ""
    gguf: str | None = None
    trust_remote_code: bool = False

    @property
    def name(self) -> str:
        return f"{self.repo}:{self.gguf}" if self.gguf else self.repo


@dataclass(frozen=True, slots=True)
class _Listing:
    """What the hub has: the commit that the revision means now, and the bytes of each file."""

    commit: str
    sizes: dict[str, int]


def locate_hub_model(model: HubModel, *, refresh: bool, on_progress: OnProgress) -> ModelFiles:
    """The model's files, downloaded unless they are complete in the cache (`refresh`: look for newer ones).

    Raises `ModelError`: unknown, private or gated, pickled weights only, no network, disk full.
    """
    try:
        found = None if refresh else _complete(model)
        if found is None:
            on_progress(Progress(f"asking the hub for {model.repo}"))
            _download(model, on_progress)
            found = _cached(model)
        return found
    except ChatkvError:
        raise
    except Exception as error:
        # The hub's client, its HTTP library and its transfer library each raise kinds of their own.
        raise explain(model.repo, model.revision, error) from error


def _complete(model: HubModel) -> ModelFiles | None:
    try:
        return _cached(model)
    except ModelError:
        return None  # what is missing or damaged gets fetched


def _cached(model: HubModel) -> ModelFiles:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model.repo, model.gguf or "config.json", revision=model.revision or None)
    if not isinstance(found, str):
        raise ModelError(f"`{model.name}` is not in the cache.")
    path = Path(found)
    if model.gguf:
        check_gguf(path)
    else:
        check_folder(path.parent, trust_remote_code=model.trust_remote_code)
    return ModelFiles(model.name, path.parent, _commit(path), path.name if model.gguf else None)


def _commit(path: Path) -> str:
    parts = path.parts
    return parts[len(parts) - parts[::-1].index("snapshots")]


def _download(model: HubModel, on_progress: OnProgress) -> None:
    listing = _list_files(model)
    if model.gguf:
        _fetch(model, [model.gguf], listing, on_progress)
        return
    _refuse_unusable(model, listing.sizes)
    small = [name for name in listing.sizes if _is_small(name, model.trust_remote_code)]
    folder = _fetch(model, small, listing, on_progress)
    weights = shard_names(folder / INDEX) if INDEX in listing.sizes else [SINGLE]
    _fetch(model, weights, listing, on_progress)


def _list_files(model: HubModel) -> _Listing:
    from huggingface_hub import HfApi

    info = HfApi().model_info(model.repo, revision=model.revision or None, files_metadata=True)
    return _Listing(info.sha or "", {file.rfilename: file.size or 0 for file in info.siblings or ()})


def _is_small(name: str, trust_remote_code: bool) -> bool:
    if name.endswith(".py"):
        return trust_remote_code
    return any(fnmatch.fnmatch(name, pattern) and name.count("/") == pattern.count("/") for pattern in _SMALL)


def _refuse_unusable(model: HubModel, sizes: dict[str, int]) -> None:
    if "config.json" in sizes and (INDEX in sizes or SINGLE in sizes):
        return
    ggufs = [name for name in sizes if name.endswith(".gguf")]
    if ggufs:
        raise ModelError(
            f"`{model.repo}` holds GGUF files.", f"Name one of them, such as `{model.repo}:{ggufs[0]}`."
        )
    if any(name.endswith((".bin", ".pt", ".pth")) for name in sizes):
        raise pickled(f"`{model.repo}`")
    raise ModelError(
        f"`{model.repo}` holds no model that transformers can load: config.json or *.safetensors is missing.",
        "Choose another model.",
    )


def _fetch(model: HubModel, names: list[str], listing: _Listing, on_progress: OnProgress) -> Path:
    from huggingface_hub import snapshot_download

    from chatkv.models.hub_bar import bar_class

    absent = [name for name in names if name not in listing.sizes]
    if absent:
        raise ModelError(f"`{model.repo}` has no file `{absent[0]}`.", _files_of(model, listing.sizes))
    todo = [name for name in names if not _is_cached(model.repo, name, listing)]
    nbytes = sum(listing.sizes[name] for name in todo)
    meter = Meter(on_progress, f"downloading {model.name}", nbytes, "B")
    patterns = [glob.escape(name) for name in names]
    revision = model.revision or None
    folder = snapshot_download(
        model.repo, revision=revision, allow_patterns=patterns, tqdm_class=bar_class(meter)
    )
    meter.finish()
    return Path(folder)


def _is_cached(repo: str, name: str, listing: _Listing) -> bool:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo, name, revision=listing.commit)
    if not isinstance(found, str):
        return False
    link = Path(found)
    if link.stat().st_size < listing.sizes[name]:
        # The client never looks at the size again: a file cut short later would stay so for ever.
        link.resolve().unlink()
        link.unlink(missing_ok=True)
        return False
    return True


def _files_of(model: HubModel, sizes: dict[str, int]) -> str:
    wanted = [name for name in sizes if name.endswith(".gguf" if model.gguf else ".safetensors")]
    return f"It has: {', '.join(wanted[:8])}." if wanted else "Choose another model."
