"""Tests of chatkv.tokens, with a zoo of small tokenizers and chat templates of their own."""
