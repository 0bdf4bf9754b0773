"""What the screen knows of the conversation. Plain Python: events and wishes in, updates out; no widgets."""
