"""Recall: what left the context, found again for a question. Text only; no model, no SQL."""

from chatkv.memory.recall.archive import Archive
from chatkv.memory.recall.meaning import Meaning
from chatkv.memory.recall.records import Found, Passage, Stretch
from chatkv.memory.recall.sources import from_documents, from_messages

__all__ = ["Archive", "Found", "Meaning", "Passage", "Stretch", "from_documents", "from_messages"]
