"""Tests of chatkv.session, on tiny models and on the starter model."""
