"""Findings that remain: baselines, comments added to silence them, and comments that silence nothing."""
