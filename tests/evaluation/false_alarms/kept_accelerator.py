# An Accelerator that is kept on an object is not None there, unless some object gets none, or loses it.
import os
import pickle

from accelerate import Accelerator


class Rows:
    def __init__(self, path, accelerator=None):
        self.path = path
        self.accelerator = accelerator

    def prepare(self):
        if self.accelerator is not None:
            with self.accelerator.main_process_first():
                make_rows(self.path)
        else:
            make_rows(self.path)


class Taken:
    def __init__(self, path, accelerator=None):
        self.path = path
        self.accelerator = accelerator

    def release(self):
        self.accelerator = None

    def prepare(self):
        if self.accelerator is not None:
            with self.accelerator.main_process_first():
                make_taken(self.path)
        else:
            make_taken(self.path)


class Optional:
    def __init__(self, path, accelerator=None):
        self.path = path
        self.accelerator = accelerator

    def prepare(self):
        if self.accelerator is not None:
            with self.accelerator.main_process_first():
                make_optional(self.path)
        else:
            make_optional(self.path)


def make_rows(path):
    with open(path, "wb") as file:
        pickle.dump([1], file)


def make_taken(path):
    with open(path, "wb") as file:  # expect: TRL008
        pickle.dump([2], file)


def make_optional(path):
    with open(path, "wb") as file:  # expect: TRL008
        pickle.dump([3], file)


def stage(path, force=False, accelerator=None):
    if force or not os.path.exists(path):
        Rows(path, accelerator=accelerator).prepare()


def main():
    accelerator = Accelerator()
    stage("rows.pkl", accelerator=accelerator)
    taken = Taken("taken.pkl", accelerator)
    taken.release()
    taken.prepare()
    Optional("given.pkl", accelerator).prepare()
    Optional("alone.pkl").prepare()


if __name__ == "__main__":
    main()
