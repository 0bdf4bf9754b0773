"""Ids in, tokens out: the model, its attention, prefill, decode and sampling over one live KV cache."""

import os

# Threads that spin for work steal the processor from whoever has it: with another busy program around, decoding
# was several times slower. A short spin costs nothing measurable on an idle machine. Read once, when torch loads.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
