"""The interpreter of statements, expressions and calls."""
