# What calls a helper in which all ranks do nothing but wait is run by all of them; a helper that works may run alone.
import torch
import torch.distributed as dist


def is_distributed():
    return dist.is_available() and dist.is_initialized()


def synchronize():
    if not is_distributed() or dist.get_world_size() == 1:
        return
    dist.barrier()


def synchronize_members(group):
    dist.barrier(group)


def reduced(value):
    if is_distributed():
        dist.all_reduce(value)
    return value


def loaded(path):
    if is_distributed():
        dist.barrier()
    return torch.load(path)


class Keeper:
    def __init__(self, model, every):
        self.model = model
        self.every = every
        self.epoch = 0

    def step(self):
        self.epoch += 1
        torch.save(self.model.state_dict(), "last.pt")  # expect: TRL008
        self.send()

    def send(self):
        if self.every is None:
            return
        synchronize()


class GuardedKeeper(Keeper):
    def step(self):
        self.epoch += 1
        if dist.get_rank() == 0:
            torch.save(self.model.state_dict(), "last.pt")
        synchronize()


def export(model):
    torch.save(model.state_dict(), "exported.pt")  # expect: TRL008
    synchronize()


def export_in_group(model, group):
    torch.save(model.state_dict(), "exported.pt")
    synchronize_members(group)


def report(model, loss):
    torch.save(model.state_dict(), "reported.pt")
    return reduced(loss)


def convert(path):
    state = loaded(path)
    torch.save(state["model"], "converted.pt")
