"""Streaming decode where a token's text depends on its neighbours: decode a short window, emit the growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokenizers import Tokenizer


class Window:
    """Decodes ids one by one through the tokenizer's own decoder."""

    def __init__(self, backend: Tokenizer, hidden: Collection[int]) -> None:
        self._backend = backend
        self._hidden = hidden
        self._settled: list[int] = []
        self._open: list[int] = []

    def feed(self, token_id: int | None) -> bytes:
        """Bytes that `token_id` adds; half a character waits for its rest. None: nothing more will come."""
        if token_id is not None:
            if token_id in self._hidden:
                return b""
            self._open.append(token_id)
        before = self._decode(self._settled)
        text = self._decode(self._settled + self._open)
        if len(text) <= len(before) or (token_id is not None and text.endswith("\ufffd")):
            return b""
        self._settled, self._open = self._open, []
        return text[len(before) :].encode()

    def _decode(self, ids: list[int]) -> str:
        text: str = self._backend.decode(ids, skip_special_tokens=False)
        return text
