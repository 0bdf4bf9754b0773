"""Which models are on this machine: the starter model and those in Hugging Face's cache. Asks no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from chatkv.errors import ModelError
from chatkv.models.check import check_folder, check_gguf
from chatkv.models.starter import STARTER, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from huggingface_hub import CachedRepoInfo, CachedRevisionInfo


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A complete model. `name` is what to write as `model`; `nbytes` what it takes on disk."""

    name: str
    path: Path
    nbytes: int
    kind: Literal["starter", "hub", "gguf"]


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
