"""A file whose names are imported with all others."""

import os


def get_place(place):
    return int(os.environ["RANK"]), place
