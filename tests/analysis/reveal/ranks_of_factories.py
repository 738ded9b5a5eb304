"""A field of a record is the rank where the function that makes its default returns it, unless another is given."""

import os
from dataclasses import dataclass, field

from pydantic import BaseModel, Field


def rank_of_job():
    return int(os.getenv("RANK", 0))


def processes():
    return int(os.getenv("WORLD_SIZE", 1))


class Settings(BaseModel):
    rank_of_this: int = Field(default_factory=rank_of_job, exclude=True)
    many: int = Field(default_factory=processes)
    steps: int = 100
    number: int = Field(default=3)

    def check(self):
        reveal_rank(self.rank_of_this)  # revealed: local(rank)
        reveal_rank(self.many)  # revealed: unknown
        reveal_rank(self.steps)  # revealed: unknown
        reveal_rank(self.number)  # revealed: unknown


class LongerSettings(Settings):
    def start(self):
        reveal_rank(self.rank_of_this)  # revealed: local(rank)


@dataclass
class Job:
    index: int = field(default_factory=lambda: int(os.environ["RANK"]))
    given: int = field(default_factory=rank_of_job)
    names: list[str] = field(default_factory=list)

    def run(self):
        reveal_rank(self.index)  # revealed: local(rank)
        reveal_rank(self.given)  # revealed: same


def read(settings: Settings, longer: LongerSettings):
    reveal_rank(settings.rank_of_this)  # revealed: local(rank)
    reveal_rank(longer.rank_of_this)  # revealed: local(rank)


Job(given=0).run()
