"""The memory sidebar as widgets."""
