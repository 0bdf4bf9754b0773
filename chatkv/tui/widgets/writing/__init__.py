"""The composer and what belongs to it."""
