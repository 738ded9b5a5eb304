"""Findings that stay as they are: baselines, comments that are added for them, and comments that nothing needs."""
