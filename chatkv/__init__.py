"""Terminal chat for local Hugging Face models on a live KV cache."""

__version__ = "0.4.2"
