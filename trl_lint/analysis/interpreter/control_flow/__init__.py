"""Statements in program order: branches, loops, `try`, `with`, and the end of a process."""
