"""Oracles: properties of a correct run, whatever the script is. None of them knows a rule.

Each is a function of one or two runs that returns a `Verdict`.
"""
