"""The one error tree. Every error a person can meet says what happened and what to do about it."""

from __future__ import annotations


class ChatkvError(Exception):
    """Base of every error that chatkv raises on purpose.

    `message` says what happened; `hint` says what to do, and may be empty. `exit_code` is what the command
    line ends with when nobody caught the error.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class ConfigError(ChatkvError):
    """A configuration file, environment variable or flag that cannot be used: the file and key are named."""

    exit_code = 2


class UsageError(ChatkvError):
    """A command that makes no sense as given (no such session, nothing to regenerate, an empty message)."""

    exit_code = 2


class ModelError(ChatkvError):
    """A model that cannot be found, fetched, verified, converted or loaded."""

    exit_code = 3


class StoreError(ChatkvError):
    """The database cannot be opened, read or written (locked, read-only, full disk, newer schema)."""

    exit_code = 4


class DamagedBlockError(StoreError):
    """A block of KV on disk is not what was written; what it held is computed again."""


class EngineError(ChatkvError):
    """The model could not compute: out of memory, logits that are not numbers, a layer that refused."""

    exit_code = 5


class ContextFullError(EngineError):
    """A prompt that does not fit the context or the KV budget; refused before anything was computed.

    `choices`: what could be done with it instead, as in the protocol's `error` event.
    """

    exit_code = 6

    def __init__(self, message: str, hint: str = "", *, choices: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.choices = choices


class WorkerError(ChatkvError):
    """The worker process died or does not answer."""

    exit_code = 7
