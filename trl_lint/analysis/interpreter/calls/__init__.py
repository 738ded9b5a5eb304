"""Calls: of project code, builtins, library code by its rows, methods, models and collectives."""
