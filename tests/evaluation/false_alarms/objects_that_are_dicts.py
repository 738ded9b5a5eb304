# A class that inherits from a dict of meters: their collectives are reached through its items, keys and values.
import torch
import torch.distributed as dist


class Meter:
    def __init__(self):
        self.total = torch.zeros((), device="cuda")

    def compute(self):
        dist.all_reduce(self.total)
        return self.total.item()


class Own:
    def __init__(self):
        self.total = torch.zeros((), device="cuda")

    def compute(self):
        return self.total.item()


class Meters(dict):
    def __init__(self, names):
        super().__init__({name: Meter() for name in names})

    def by_item(self):
        return {name: meter.compute() for name, meter in self.items()}

    def by_key(self):
        return {name: self[name].compute() for name in self}

    def on_all(self):
        return {name: meter.compute() for name, meter in self.items()}


class Grown(dict):
    def add(self, name):
        self[name] = Meter()

    def computed(self):
        return [meter.compute() for meter in self.values()]


class OwnMeters(dict):
    def __init__(self, names):
        super().__init__({name: Own() for name in names})

    def by_item(self):
        return {name: meter.compute() for name, meter in self.items()}


class Mixed(dict):
    def __init__(self, names):
        super().__init__({name: Meter() for name in names})

    def __getitem__(self, name):
        return Own()

    def by_key(self):
        return [self[name].compute() for name in ("loss", "rate")]


def main():
    dist.init_process_group("nccl")
    meters, own, mixed = Meters(["loss"]), OwnMeters(["loss"]), Mixed(["loss"])
    grown = Grown()
    grown.add("loss")
    shown = meters.on_all()
    if dist.get_rank() == 0:
        print(shown, own.by_item(), mixed.by_key())
    if dist.get_rank() == 0:
        print(meters.by_item())  # expect: TRL006
    if dist.get_rank() == 0:
        print(meters.by_key())  # expect: TRL006
    if dist.get_rank() == 0:
        print(meters["loss"].compute())  # expect: TRL006
    if dist.get_rank() == 0:
        print(grown.computed())  # expect: TRL006


if __name__ == "__main__":
    main()
