from accelerate import Accelerator
from mine import batch


class Offsets:
    def __init__(self, size, process):
        self.position = size * process

    def read(self):
        reveal_rank(self.position)  # revealed: same | local(rank)


def on_one_process(settings):
    reveal_rank(settings.size * 0)  # revealed: same
    reveal_rank(settings.size * 2)  # revealed: unknown
    Offsets(settings.size, 0).read()


def on_several(settings):
    Offsets(settings.size, Accelerator().process_index).read()


def of_tensors(loss):
    total = Accelerator().gather(loss)
    reveal_rank(loss * 0)  # revealed: same
    reveal_rank(batch().sum() * 0 + total)  # revealed: same
