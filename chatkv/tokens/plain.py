"""Plain text → ids with the model's own tokenizer, its control tokens and its template removed.

The slow and always faithful route. Knows nothing of messages.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from tokenizers import AddedToken, Tokenizer

from chatkv.tokens.vocab import Control, copy_parts, flat, parts_json

After = Literal["start", "control", "text"]
"""What stands before a piece: nothing, a control token, or other text whose ids are already fixed."""


class PlainEncoder:
    """A copy of a tokenizer without control tokens, post-processor and truncation; the vocabulary is shared.

    Tokenizers of the SentencePiece kind put a space before the first word. A second copy without that habit
    serves pieces that continue a text.
    """

    def __init__(self, backend: Tokenizer, controls: dict[str, Control]) -> None:
        added = backend.get_added_tokens_decoder()
        blanks = {i: token for i, token in added.items() if token.content not in controls}
        self._opening = _bare_copy(backend, parts_json(backend), blanks)
        self._joined = _bare_copy(backend, _without_prefix(parts_json(backend)), blanks)
        self._renumber = {
            found: i
            for i, token in blanks.items()
            if (found := self._opening.token_to_id(token.content)) != i
        }
        self._opens_after_control = self._prefixes_after_control(backend, controls)

    def encode(self, text: str, after: After = "start") -> list[int]:
        """Ids of `text`. A control token can come out only where the model's own word list holds its text."""
        opening = after == "start" or (after == "control" and self._opens_after_control)
        ids: list[int] = (
            (self._opening if opening else self._joined).encode(text, add_special_tokens=False).ids
        )
        return [self._renumber.get(i, i) for i in ids] if self._renumber else ids

    def _prefixes_after_control(self, backend: Tokenizer, controls: dict[str, Control]) -> bool:
        quiet = [control for control in controls.values() if control.hidden and not control.rstrip]
        if not quiet:
            return False
        whole = backend.encode(quiet[0].text + "a b", add_special_tokens=False).ids
        return bool(whole[-len(self.encode("a b")) :] == self.encode("a b"))


def _bare_copy(backend: Tokenizer, parts: dict[str, Any], blanks: dict[int, AddedToken]) -> Tokenizer:
    copy = Tokenizer(backend.model)
    copy_parts(Tokenizer.from_str(json.dumps(parts)), copy)
    copy.add_tokens([blanks[i] for i in sorted(blanks)])
    return copy


def _without_prefix(parts: dict[str, Any]) -> dict[str, Any]:
    """`parts` with every step that invents a leading space switched off."""
    if parts["normalizer"] is not None:
        steps = [step for step in flat(parts["normalizer"]) if step["type"] != "Prepend"]
        parts["normalizer"] = {"type": "Sequence", "normalizers": steps}
    for step in flat(parts["pre_tokenizer"]):
        if step["type"] == "Metaspace":
            step["prepend_scheme"] = "never"
        if step["type"] == "ByteLevel":
            step["add_prefix_space"] = False
    return parts
