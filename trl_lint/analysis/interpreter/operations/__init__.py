"""Operators and pure functions: the facts of the result follow from those of the operands."""
