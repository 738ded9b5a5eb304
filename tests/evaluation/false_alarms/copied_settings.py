# Settings that say which part is this rank's are copied, shown as text, or read by key.
import dataclasses
import json
from pathlib import Path

import torch
from accelerate import PartialState


@dataclasses.dataclass(frozen=True)
class Part:
    index: int
    count: int

    def path(self):
        return Path(f"part-{self.index}-of-{self.count}.pt")


class Table:
    def __init__(self, index, count):
        self.entries = {"index": index, "count": count}

    def __getitem__(self, name):
        return self.entries[name]


def main(rows):
    state = PartialState()
    part = Part(state.process_index, state.num_processes)
    table = Table(state.process_index, state.num_processes)
    torch.save(rows, dataclasses.replace(part).path())
    torch.save(rows, f"{part}.pt")
    torch.save(rows, str(part) + ".pt")
    torch.save(rows, dataclasses.asdict(part)["index"])
    torch.save(rows, f"{json.dumps(dataclasses.asdict(part))}.pt")
    torch.save(rows, f"{table['index']}.pt")
    torch.save(rows, f"{table['count']}.pt")  # expect: TRL008
    torch.save(rows, f"{part.count}.pt")  # expect: TRL008
    torch.save(rows, f"{dataclasses.replace(part, count=1).count}.pt")  # expect: TRL008


if __name__ == "__main__":
    main(torch.zeros(1))
