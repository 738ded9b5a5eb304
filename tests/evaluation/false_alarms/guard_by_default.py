# An object receives its rank from the code that creates it: without one it writes nothing, and nothing else is known.
import os

from accelerate import Accelerator


class Keeps:
    def __init__(self, path, is_main_process=False):
        self.path = path
        self.is_main_process = is_main_process

    def keep(self):
        if self.is_main_process:
            os.remove("x")
        os.remove("y")  # expect: TRL008


def main(args):
    accelerator = Accelerator()
    Keeps(args.path).keep()
    accelerator.wait_for_everyone()
