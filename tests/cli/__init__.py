"""Tests of the command line, in processes of its own."""
