"""Measurements of the product itself, on its own code paths. Everything printed was counted or timed in the run."""
