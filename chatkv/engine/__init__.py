"""Ids in, tokens out: the model, its attention, prefill, decode and sampling over one live KV cache."""
