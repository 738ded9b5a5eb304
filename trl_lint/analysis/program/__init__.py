"""The linted program before anything is run: files, syntax, classes and functions."""
