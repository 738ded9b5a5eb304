"""Code of a class before it wraps its model uses the bare one."""

from dataclasses import dataclass
from typing import Any

from accelerate import Accelerator


@dataclass
class Parts:
    net: Any = None


class Job:
    def __init__(self):
        self.accelerator = Accelerator()
        self.parts: Parts = self.load()

    def load(self) -> Parts:
        raise NotImplementedError

    def look(self):
        self.config = self.parts.net.config

    def prepare(self):
        self.parts.net = self.accelerator.prepare(self.parts.net)

    def train(self):
        print(self.parts.net.config)  # expect: TRL002

    def again(self):
        print(self.parts.net.config)  # expect: TRL002

    def fit(self):
        self.look()
        self.again()
        self.prepare()
        self.train()
        self.again()


def main(kinds, name):
    job = kinds[name]()
    job.fit()


if __name__ == "__main__":
    main({}, "")
