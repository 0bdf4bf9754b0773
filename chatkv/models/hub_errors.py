"""What went wrong at the hub, in words: what happened and what to do about it."""

from __future__ import annotations

import errno
import os

from chatkv.errors import ModelError

_ELSE = "or choose a model on this machine ('starter', a folder, a '*.gguf' file)."


def explain(repo: str, revision: str, error: Exception) -> ModelError:
    """The `ModelError` for whatever the hub's client raised while it looked for or fetched `repo`."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return ModelError(
            f"`{repo}` is gated: its authors ask you to accept their terms first.", _log_in(repo)
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return ModelError(
            f"The hub has no model `{repo}`, or it is private.",
            f"Check the spelling. For a private one run `hf auth login` (or set HF_TOKEN); {_ELSE}",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelError(
            f"`{repo}` has no revision `{revision or 'main'}`.", "Check `load.revision`; empty = the default."
        )
    if isinstance(error, errors.HFValidationError):
        return ModelError(f"`{repo}` cannot be a hub id: {_line(error)}", "Write 'org/name'.")
    if isinstance(error, errors.OfflineModeIsEnabled) or _offline():
        return ModelError(
            f"`{repo}` is not complete on this machine, and HF_HUB_OFFLINE keeps it from being fetched.",
            f"Unset HF_HUB_OFFLINE (and TRANSFORMERS_OFFLINE), {_ELSE}",
        )
    if isinstance(error, errors.HfHubHTTPError):
        return _refused(repo, error.response.status_code, error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ModelError(
            f"`{repo}` does not fit on the disk.", "Free some, or set HF_HOME to a larger place."
        )
    return _unreachable(repo, error)


def _refused(repo: str, status: int, error: Exception) -> ModelError:
    if status in (401, 403):
        return ModelError(f"The hub refuses access to `{repo}` (status {status}).", _log_in(repo))
    return ModelError(
        f"The hub answered with status {status} when asked for `{repo}`: {_line(error)}",
        f"Try again in a while (what was downloaded is kept), {_ELSE}",
    )


def _unreachable(repo: str, error: Exception) -> ModelError:
    return ModelError(
        f"`{repo}` could not be fetched from {_endpoint()}: {type(error).__name__}: {_line(error)}",
        f"Check the network and try again (what was downloaded is kept), {_ELSE}",
    )


def _log_in(repo: str) -> str:
    return f"Open {_endpoint()}/{repo}, accept the terms, and run `hf auth login` (or set HF_TOKEN); {_ELSE}"


def _endpoint() -> str:
    from huggingface_hub import constants

    return constants.ENDPOINT


def _offline() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _line(error: Exception) -> str:
    return str(error).strip().partition(os.linesep)[0].partition("\n")[0] or "no reason given."
