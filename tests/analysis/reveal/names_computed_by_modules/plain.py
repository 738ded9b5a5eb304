"""A module that computes nothing."""

PARSERS = {"RANK": int}
