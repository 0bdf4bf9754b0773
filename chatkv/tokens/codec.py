"""Text ↔ token ids of one model. What a person writes can never become a control token.

Knows nothing of messages or templates.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from tokenizers import Tokenizer

from chatkv.errors import ModelError
from chatkv.tokens.bpe import build_fast
from chatkv.tokens.plain import After, PlainEncoder
from chatkv.tokens.vocab import Control, Vocab, read_vocab
from chatkv.tokens.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from transformers import PreTrainedTokenizerBase


class Codec:
    """Exact encoding, decoding and counting.

    `special` maps the text of every control token to its id: all added tokens, but for runs of spaces.
    `how` names the route that plain text takes: tiktoken where it was proved equal, else tokenizers.
    """

    def __init__(self, backend: Tokenizer) -> None:
        self._backend = backend
        self._vocab: Vocab = read_vocab(backend)
        controls = dict(self._vocab.controls)
        self._plain = PlainEncoder(backend, controls)
        self._fast = build_fast(backend, self._vocab, self._plain)
        self._control_ids = frozenset(c.id for c in controls.values()) - _unknown_ids(backend)
        longest_first = sorted(controls, key=len, reverse=True)
        self._control_pattern = (
            re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if controls else None
        )
        self.how: Literal["tiktoken", "tokenizers"] = "tiktoken" if self._fast else "tokenizers"
        self.special: Mapping[str, int] = {text: control.id for text, control in controls.items()}
        self.controls: Mapping[int, Control] = {control.id: control for control in controls.values()}

    @classmethod
    def from_tokenizer(cls, tokenizer: PreTrainedTokenizerBase) -> Codec:
        """The codec of a loaded tokenizer. Raises `ModelError` for one without a `tokenizers` backend."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise ModelError(
                f"The tokenizer of this model ({type(tokenizer).__name__}) has no tokenizer.json.",
                "Choose a model that ships one, or convert its tokenizer with transformers.",
            )
        return cls(backend)

    def encode_plain(self, text: str, *, after: After = "start") -> list[int]:
        """Ids of text that a person or model wrote; never a control token. Lone surrogates become U+FFFD.

        `after` says what stands before it: some tokenizers put a space before the first word of a text.
        """
        text = scrub(text)
        ids = self._fast.encode(text) if self._fast else self._plain.encode(text, after)
        return ids if self._control_ids.isdisjoint(ids) else self._around_controls(text, after)

    def encode_glue(self, text: str) -> list[int]:
        """Ids of text that a template wrote: control tokens are recognized."""
        ids: list[int] = []
        after: After = "start"
        for item in self.lex(text):
            ids += [item] if isinstance(item, int) else self.encode_plain(item, after=after)
            after = "control" if isinstance(item, int) else "text"
        return ids

    def lex(self, text: str) -> list[int | str]:
        """`text` cut at control tokens: their ids, and the plain text between them."""
        if self._control_pattern is None:
            return [text] if text else []
        found = self._control_pattern.split(text)
        items: list[int | str] = [self.special[part] if n % 2 else part for n, part in enumerate(found)]
        return self._eat_spaces([item for item in items if item != ""])

    def count(self, text: str) -> int:
        """Number of tokens that `text` takes."""
        return len(self.encode_plain(text))

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`; hidden control tokens are left out, invalid UTF-8 becomes U+FFFD."""
        feed = self.byte_feed()
        data = b"".join(map(feed, ids)) + feed(None)
        text = data.decode(errors="replace")
        return text.removeprefix(" ") if self.drops_first_space else text

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of `ids`, control tokens included: what a log or an error message should show."""
        return b"".join(self._vocab.bytes_of.get(i, b"") for i in ids)

    def nbytes_of(self, token_id: int) -> int:
        """Length of one token in bytes of text."""
        return len(self._vocab.bytes_of.get(token_id, b""))

    @property
    def drops_first_space(self) -> bool:
        """Whether the space before the first word of a decoded text is the tokenizer's invention."""
        return self._vocab.drops_first_space and self._vocab.exact

    def byte_feed(self, shown: frozenset[int] = frozenset()) -> Callable[[int | None], bytes]:
        """A function that takes ids one by one and returns the bytes that each adds; None ends the text.

        Hidden control tokens add nothing unless they are in `shown`.
        """
        hidden = {i for i, control in self.controls.items() if control.hidden} - shown
        if not self._vocab.exact:
            return Window(self._backend, hidden).feed
        table = self._vocab.bytes_of
        return lambda i: b"" if i is None or i in hidden else table.get(i, b"")

    def _around_controls(self, text: str, after: After) -> list[int]:
        """Encode with every control token's text cut after its first letter: no look-up can find it."""
        assert self._control_pattern is not None
        pieces: list[str] = [""]
        for n, part in enumerate(self._control_pattern.split(text)):
            pieces[-1] += part[:1] if n % 2 else part
            if n % 2:
                pieces.append(part[1:])
        ids: list[int] = []
        for piece in filter(None, pieces):
            ids += self._plain.encode(piece, "text" if ids else after)
        return [i for i in ids if i not in self._control_ids]

    def _eat_spaces(self, items: list[int | str]) -> list[int | str]:
        # Some control tokens swallow the spaces beside them when a whole prompt is tokenized.
        for n, item in enumerate(items):
            if isinstance(item, str):
                before, behind = items[n - 1] if n else None, items[n + 1] if n + 1 < len(items) else None
                if isinstance(before, int) and self.controls[before].rstrip:
                    item = item.lstrip()
                if isinstance(behind, int) and self.controls[behind].lstrip:
                    item = item.rstrip()
                items[n] = item
        return [item for item in items if item != ""]


def scrub(text: str) -> str:
    """`text` as valid Unicode: surrogate pairs are joined, lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _unknown_ids(backend: Tokenizer) -> frozenset[int]:
    """What a model without byte fallback gives for letters that it does not know: harmless in plain text."""
    return frozenset(token.id for token in backend.model.tokenize("\U0010fffd"))
