"""What each setting means, in the words of the default file's comments: said in one place, shown in many."""

from __future__ import annotations

import functools
import re

from chatkv.config.load import default_toml

_HEADER = re.compile(r"\[(\w+)\]")
_SETTING = re.compile(r"(?:# )?(\w+) = .*?\S(?:  +# (.*))?$")
_MORE = re.compile(r"\s{8,}# (.*)")
_ABOVE = re.compile(r"# (?!\w+ = )(.*)")


@functools.cache
def meanings() -> dict[str, str]:
    """Dotted key → what stands beside it in the default file, else what stands above it."""
    found: dict[str, str] = {}
    section, key, above = "", "", ""
    for line in default_toml().splitlines():
        if header := _HEADER.fullmatch(line):
            section, key, above = f"{header[1]}.", "", ""
        elif (more := _MORE.fullmatch(line)) and key:
            found[key] += f" {more[1]}"
        elif setting := _SETTING.fullmatch(line):
            key = section + setting[1]
            found[key], above = setting[2] or above, ""
        elif comment := _ABOVE.fullmatch(line):
            key, above = "", f"{above} {comment[1]}".strip()
        else:
            key, above = "", ""
    return found
