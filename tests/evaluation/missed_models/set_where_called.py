import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


class Trainer:
    def __init__(self, rank):
        self.rank = rank
        self.table = None
        if rank == 0:
            self.start_writer()
            self.start_table()
            self.describe()

    def start_writer(self):
        self.writer = SummaryWriter("runs")
        self.writer.add_text("state", "starts")

    def start_table(self):
        self.table = open("table")

    def describe(self):
        self.writer.add_text("state", "described")

    def train(self):
        for step in range(3):
            self.writer.add_scalar("step", step)  # expect: TRL017
            self.table.write("step")  # expect: TRL017


class Asks:
    def __init__(self, rank):
        self.rank = rank
        self.plan = None
        if rank == 0:
            self.start_log()
            self.make_plan()

    def start_log(self):
        self.log = open("log")

    def make_plan(self):
        self.plan = open("plan")

    def train(self):
        if hasattr(self, "log"):
            self.log.write("starts")
        if self.plan is not None:
            self.plan.write("starts")
        if self.rank == 0:
            self.log.write("trains")


class CalledByAll:
    def __init__(self, rank):
        self.rank = rank
        if rank == 0:
            self.begin()

    def begin(self):
        self.notes = open("notes")

    def train(self):
        self.begin()
        self.notes.write("trains")


class SetByHeirs:
    def __init__(self, rank):
        self.rank = rank
        if rank == 0:
            self.open_list()

    def open_list(self):
        self.listed = open("list")

    def train(self):
        self.listed.write("trains")


class Heir(SetByHeirs):
    def __init__(self, rank):
        super().__init__(rank)
        self.listed = open("other")


class SetInPair:
    def __init__(self, rank):
        self.rank = rank
        self.paired, self.other = print, None
        if rank == 0:
            self.set_pair()

    def set_pair(self):
        self.paired = repr

    def train(self):
        self.paired("trains")


class HasDefault:
    shown = print

    def __init__(self, rank):
        self.rank = rank
        if rank == 0:
            self.show_more()

    def show_more(self):
        self.shown = repr

    def train(self):
        self.shown("trains")


class Saves:
    def __init__(self, rank):
        self.rank = rank

    def keep(self, step):
        self.best = f"best-{step}"

    def train(self):
        for step in range(3):
            if self.rank == 0 and step % 2:
                self.keep(step)

    def test(self):
        self.tested = open(self.best).read()  # expect: TRL017


class SavesOnAll:
    def __init__(self, rank):
        self.rank = rank

    def keep(self, step):
        self.last = f"last-{step}"

    def train(self):
        self.keep(3)

    def test(self):
        self.tested = open(self.last).read()


class Shows:
    def __init__(self, rank):
        self.rank = rank

    def draw(self):
        self.drawn = "drawn"

    def train(self):
        if self.rank == 0:
            self.draw()
        self.end()

    def end(self):
        self.tested = open(self.drawn).read()


class ShowsOnAll(Shows):
    def draw(self):
        super().draw()

    def train(self):
        self.draw()
        super().train()


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    for each in (Trainer(rank), Asks(rank), CalledByAll(rank), Heir(rank), HasDefault(rank), SetInPair(rank)):
        each.train()
    trainer = Trainer(rank)
    trainer.train()
    Asks(rank).train()
    CalledByAll(rank).train()
    Heir(rank).train()
    HasDefault(rank).train()
    SetInPair(rank).train()
    saves, on_all = Saves(rank), SavesOnAll(rank)
    saves.train()
    saves.test()
    on_all.train()
    on_all.test()
    ShowsOnAll(rank).train()


if __name__ == "__main__":
    main()
