# An object that one rank alone has made writes no file twice, wherever it is kept; nor does one that is told not to.
import torch
import torch.distributed as dist


class Saver:
    def __init__(self, net):
        self.net = net

    def tick(self):
        torch.save(self.net, "net.pt")


class Rows:
    def tick(self):
        torch.save([], "rows.pt")


class Kept(Rows):
    pass


class SaverOfAll:
    def __init__(self, net):
        self.net = net

    def tick(self):
        torch.save(self.net, "all.pt")  # expect: TRL008


class SaverOfEach(Rows):
    def __init__(self, net, path):
        self.net, self.path = net, path

    def tick(self):
        torch.save(self.net, "each.pt")  # expect: TRL008


class Report:
    def __init__(self, is_on):
        self.is_on = is_on

    def tick(self):
        if self.is_on:
            torch.save({}, "report.pt")


class Services:
    def __init__(self, saver=None, more=()):
        self.saver = saver
        self.active = [saver] if saver is not None else []
        self.more = list(more)

    def tick(self):
        if self.saver is not None:
            self.saver.tick()
        for each in self.active + self.more:
            each.tick()


def services(net):
    if dist.get_rank() != 0:
        return Services()
    return Services(Saver(net), [Kept()])


def report():
    if dist.get_rank() == 0:
        return Report(True)
    return Report(False)


def main():
    dist.init_process_group("nccl")
    net = torch.nn.Linear(2, 2)
    services(net).tick()
    report().tick()
    if dist.get_rank() == 0:
        saver = SaverOfAll(net)
        saver.tick()
    everyones = Services(SaverOfAll(net))
    everyones.tick()
    own = SaverOfEach(net, "first") if dist.get_rank() == 0 else SaverOfEach(net, "other")
    dist.barrier()
    Services(more=[own]).tick()


main()
