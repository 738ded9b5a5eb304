"""One output format in each module."""
