"""Statements, in program order: branches, loops, `try`, `with`, and what ends a process."""
