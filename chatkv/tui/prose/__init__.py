"""Markdown: split while it streams, drawn as Rich renderables, searched, its code found."""
