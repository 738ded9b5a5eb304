"""Calls: of code in sight, of builtins, of libraries by their rows, of methods, models and collectives."""
