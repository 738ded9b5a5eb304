"""What a file says of its process groups."""

from __future__ import annotations


class Backends:
    """moves_gpu: the file starts a process group with a backend for GPUs. takes_cpu: it starts one that may take
    tensors on the CPU, is told to stay there, or has tensors made elsewhere by default.
    """

    __slots__ = ("moves_gpu", "takes_cpu")

    def __init__(self) -> None:
        self.moves_gpu = False
        self.takes_cpu = False
