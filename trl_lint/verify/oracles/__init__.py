"""Oracles: what must hold of a right run, whatever the script is. None of them knows a rule.

Each is a function of one or two runs that gives a `Verdict`.
"""
