"""Which models are on this machine: the starter model and those in Hugging Face's cache. Asks no network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from chatkv.errors import ModelError
from chatkv.models.check import check_folder, check_gguf
from chatkv.models.resolve import looks_like_path
from chatkv.models.starter import STARTER, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from huggingface_hub import CachedRepoInfo, CachedRevisionInfo


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A complete model. `name` is what to write as `model`; `nbytes` what it takes on disk."""

    name: str
    path: Path
    nbytes: int
    kind: Literal["starter", "hub", "gguf", "folder"]


def installed_models(folder: Path, hub_cache: Path | None = None) -> list[InstalledModel]:
    """All complete models, the starter model first.

    `folder`: where chatkv keeps the starter model; `hub_cache`: Hugging Face's cache, None = its usual place.
    """
    found = []
    starter = folder / STARTER.folder_name
    if is_whole(starter):
        nbytes = sum(path.stat().st_size for path in starter.iterdir())
        found.append(InstalledModel("starter", starter, nbytes, "starter"))
    return found + sorted(_hub_models(hub_cache), key=lambda model: model.name.lower())


def find_model(spec: str, folder: Path, hub_cache: Path | None = None) -> InstalledModel | None:
    """The model that `spec` names, if nothing has to be fetched from the hub for it; else None.

    A path that exists is here, whatever it holds. So is the starter model; `nbytes` is 0 until it has been fetched.
    Arguments as in `installed_models`.
    """
    if spec == "starter":
        starter = folder / STARTER.folder_name
        return InstalledModel(spec, starter, _nbytes(starter) if is_whole(starter) else 0, "starter")
    try:
        path = Path(spec).expanduser()
        if spec and path.exists():
            return InstalledModel(spec, path, _nbytes(path), "folder" if path.is_dir() else "gguf")
    except (OSError, RuntimeError, ValueError):  # an unknown ~user, a NUL, a name too long
        return None
    return None if not spec or looks_like_path(spec) else _cached_model(spec, hub_cache)


def lasting(spec: str) -> str:
    """`spec` so that it means the same model wherever chatkv is started: a path that exists becomes absolute."""
    try:
        path = Path(spec).expanduser()
        return str(path.absolute()) if spec not in ("", "starter") and path.exists() else spec
    except (OSError, RuntimeError, ValueError):
        return spec


def find_problem(spec: str) -> str:
    """Why no model can be meant by `spec`, as far as that shows at once; empty where it may be one."""
    if spec == "starter":
        return ""
    try:
        if Path(spec).expanduser().exists():
            return ""
    except (OSError, RuntimeError, ValueError) as error:
        return f"`{spec}` cannot be a path: {error}."
    if looks_like_path(spec):
        return f"`{spec}` does not exist."
    return "" if "/" in spec else f"`{spec}` is neither a folder here nor a hub id ('org/name')."


def presumed_spec(name: str) -> str:
    """What a model of this display name is probably loaded by; empty where the name does not tell."""
    if name == STARTER.name:
        return "starter"
    return name if name.count("/") == 1 and not looks_like_path(name) else ""


def _nbytes(path: Path) -> int:
    """What a file, or a folder without those in it, takes on disk."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(entry.stat().st_size for entry in path.iterdir() if entry.is_file())


def _cached_model(spec: str, hub_cache: Path | None) -> InstalledModel | None:
    from huggingface_hub import try_to_load_from_cache

    repo, _, file = spec.partition(":")
    try:
        found = try_to_load_from_cache(repo, file or "config.json", cache_dir=hub_cache)
        if not isinstance(found, str):
            return None
        path = Path(found)
        if file:
            check_gguf(path)
            return InstalledModel(spec, path, path.stat().st_size, "gguf")
        check_folder(path.parent, trust_remote_code=True)  # whether it may run is asked when it is loaded
    except (ModelError, OSError, ValueError):
        return None
    return InstalledModel(spec, path.parent, _nbytes(path.parent), "hub")


def _hub_models(hub_cache: Path | None) -> Iterator[InstalledModel]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        cache = scan_cache_dir(hub_cache)
    except CacheNotFound:
        return
    for repo in cache.repos:
        if repo.repo_type == "model":
            yield from _models_of(repo)


def _models_of(repo: CachedRepoInfo) -> Iterator[InstalledModel]:
    for revision in sorted(repo.revisions, key=lambda item: item.last_modified, reverse=True):
        models = [*_folder_model(repo, revision), *_gguf_models(repo, revision)]
        if models:
            yield from models
            return


def _folder_model(repo: CachedRepoInfo, revision: CachedRevisionInfo) -> Iterator[InstalledModel]:
    try:
        check_folder(revision.snapshot_path)
    except ModelError:
        return
    yield InstalledModel(repo.repo_id, revision.snapshot_path, revision.size_on_disk, "hub")


def _gguf_models(repo: CachedRepoInfo, revision: CachedRevisionInfo) -> Iterator[InstalledModel]:
    for file in revision.files:
        name = file.file_path.relative_to(revision.snapshot_path).as_posix()
        if not name.lower().endswith(".gguf"):
            continue
        try:
            check_gguf(file.file_path)
        except ModelError:
            continue
        yield InstalledModel(f"{repo.repo_id}:{name}", file.file_path, file.size_on_disk, "gguf")
