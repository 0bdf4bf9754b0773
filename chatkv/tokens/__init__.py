"""Text ↔ token ids: exact encoding, chat templates, streaming decode. Knows nothing of torch or SQLite."""

from chatkv.tokens.codec import Codec
from chatkv.tokens.format import ChatFormat
from chatkv.tokens.segments import Kind, Message, Rendered, Segment
from chatkv.tokens.stream import Piece, TextStream

__all__ = ["ChatFormat", "Codec", "Kind", "Message", "Piece", "Rendered", "Segment", "TextStream"]
