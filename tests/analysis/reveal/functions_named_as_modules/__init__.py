"""A package that takes a function out of a module of the same name, which hides the module."""

from .fit import fit
from .plot import draw

__all__ = ["draw", "fit"]
