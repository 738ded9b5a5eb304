"""A module that computes its names from a table of variables."""

import os

PARSERS = {"RANK": int, "LOCAL_RANK": int, "WORLD_SIZE": int, "MASTER_ADDR": str}


def __getattr__(name):
    return PARSERS[name](os.environ[name])
