"""The conversation as widgets: transcript, turns, answers."""
