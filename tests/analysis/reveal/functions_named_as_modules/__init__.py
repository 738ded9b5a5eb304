"""A package that imports a function from a module of the same name, which hides the module."""

from .fit import fit
from .plot import draw

__all__ = ["draw", "fit"]
