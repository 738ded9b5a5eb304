"""Values that the machines of a job share, and values that each has of its own."""

import importlib.util
import multiprocessing
import os
import platform
import shutil
import tempfile

import torch


def main():
    reveal_rank(platform.system() == "Linux")  # revealed: same
    reveal_rank(platform.node())  # revealed: local(rank)
    reveal_rank(platform.uname())  # revealed: unknown
    reveal_rank(shutil.which("git") is None)  # revealed: same
    reveal_rank(importlib.util.find_spec("flash_attn"))  # revealed: same
    reveal_rank(os.cpu_count() // 2)  # revealed: same
    reveal_rank(multiprocessing.cpu_count())  # revealed: same
    reveal_rank(tempfile.gettempdir())  # revealed: same
    reveal_rank(tempfile.mkdtemp())  # revealed: local(rng)
    reveal_rank(torch.backends.cuda.is_built())  # revealed: same
