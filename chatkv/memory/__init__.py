"""What stays in the KV: the budget it must keep to."""
