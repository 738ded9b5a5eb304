"""Calls between functions and files: summaries, contexts, names, entry points."""
