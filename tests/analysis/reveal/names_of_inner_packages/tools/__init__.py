"""All names of these files are names of the package."""

from .files import *
from .places import *
