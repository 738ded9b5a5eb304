"""One rule in each module."""
