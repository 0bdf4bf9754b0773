"""The live cache: the ledger of tokens (plain Python) and the layers of tensors that must agree with it."""
