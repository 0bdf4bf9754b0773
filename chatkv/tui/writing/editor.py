"""A text in the person's own editor, and back. Knows no widgets: who calls it has let go of the terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from chatkv.errors import UsageError

_USUAL = ("nano", "vim", "vi", "emacs", "notepad")


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The program that `$VISUAL` or `$EDITOR` names, else one that is here. Raises `UsageError`."""
    wanted = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        words = shlex.split(wanted, posix=os.name == "posix")
    except ValueError as error:
        raise UsageError(
            f"The editor {wanted!r} cannot be read: {error}.", "Set $VISUAL or $EDITOR."
        ) from error
    words = words or [name for name in _USUAL if shutil.which(name)][:1]
    if not words:
        raise UsageError("There is no editor here.", "Set $VISUAL or $EDITOR to the one you use.")
    if shutil.which(words[0]) is None:
        raise UsageError(f"There is no editor {words[0]!r}.", "Set $VISUAL or $EDITOR to one that is here.")
    return words


def edited(text: str, command: list[str]) -> str:
    """What `text` became in the editor, exact but for a last line end that the editor put there of its own.

    Raises `UsageError` where the editor fails or leaves what is no text. The file is private, and gone afterwards.
    """
    handle, name = tempfile.mkstemp(prefix="chatkv-", suffix=".md")
    file = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))
        code = subprocess.run([*command, name], check=False).returncode
        if code:
            raise UsageError(f"{command[0]} ended with exit code {code}; the message stays as it was.")
        after = file.read_bytes().decode("utf-8", "surrogatepass")
    except OSError as error:
        raise UsageError(f"The editor did not work: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError("What the editor left is not UTF-8 text; the message stays as it was.") from error
    finally:
        file.unlink(missing_ok=True)
    return after if text.endswith("\n") else after.removesuffix("\n")
