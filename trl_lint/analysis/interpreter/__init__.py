"""The walk over statements, expressions and calls."""
