"""Files with the number of an object in their names: it is another one in each process. The object's name is not."""

import os

import torch
import torch.distributed as dist


class Cache:
    def __init__(self, folder, name):
        self.folder = folder
        self.name = name

    def store(self, key, state):
        torch.save(state, os.path.join(self.folder, f"state_{key}_{id(self)}.pt"))
        torch.save(state, f"{self.folder}/state_{id(state):x}.pt")
        torch.save(state, self.folder + "/" + str(id(state)))
        torch.save(state, os.path.join(self.folder, f"state_{key}_{self.name}.pt"))  # expect: TRL008


def main():
    dist.init_process_group("nccl")
    model = torch.nn.Linear(4, 2)
    known = {id(each) for each in model.parameters()}
    if id(model.weight) in known:
        torch.save(model.state_dict(), "cache/all.pt")  # expect: TRL008
    Cache("cache", "first").store("model", model.state_dict())


if __name__ == "__main__":
    main()
