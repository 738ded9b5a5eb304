"""A file that itself takes all names of the package: neither is asked for ever."""

from names_of_inner_packages.tools import *


def opened(path):
    return path


def asked(place):
    return get_place(place)
