"""Operators and functions that only compute: the facts of the result follow from those of the operands."""
