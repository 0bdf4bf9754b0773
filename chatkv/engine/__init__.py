"""Ids in, tokens out: the model, its attention, prefill, decode and sampling over one live KV cache."""

import os

# Threads that spin for work steal the processor from whoever has it: with another busy program around, decoding
# took more than twice as long. A short spin costs little on an idle machine. Read once, when torch loads.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
