# Opening a file to append to it writes nothing; only some ranks do, in the functions that it is passed to.
import csv
import os

import torch
import torch.distributed as dist


def train(loader, model, log, args):
    for step, batch in enumerate(loader):
        model(batch).sum().backward()
        if args.local_rank == 0:
            log.write(f"step {step}\n")
            log.flush()


def validate(loader, model, log=None):
    score = sum(float(model(batch).sum()) for batch in loader)
    report(f"score {score}", file=log)
    return score


def report(text, file):
    if dist.get_rank() != 0:
        return
    print(text)
    if file is not None:
        file.write(text)
        print(text, file=file)


def train_alone(loader, model, log):
    for batch in loader:
        log.write(f"{model(batch).sum()}\n")


def table_of(file, rows):
    writer = csv.writer(file)
    writer.writerows(rows)


class Report:
    def __init__(self, path, rank):
        self.file = open(path, "a")  # noqa: SIM115
        self.rank = rank

    def add(self, text):
        if self.rank == 0:
            self.file.write(text)


class Runner:
    def __init__(self, args):
        self.rank = dist.get_rank()
        self.args = args

    def run(self, loader, model):
        log = open(os.path.join(self.args.out, "run.txt"), "a")  # noqa: SIM115
        with open(os.path.join(self.args.out, "rows.txt"), "a") as rows:  # expect: TRL008
            self.add("begun", log)
            self.add_all("begun", rows)

    def add(self, text, log):
        if self.rank == 0:
            log.write(text)

    def add_all(self, text, log):
        if self.rank == 0:
            print(text)
        log.write(text)


def main(args, loader, model):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(model)
    log = open(os.path.join(args.out, "log.txt"), "a")  # noqa: SIM115
    everything = open(os.path.join(args.out, "all.txt"), "a")  # noqa: SIM115  # expect: TRL008
    table = open(os.path.join(args.out, "table.csv"), "a")  # noqa: SIM115  # expect: TRL008
    both = open(os.path.join(args.out, "both.txt"), "a")  # noqa: SIM115  # expect: TRL008
    train(loader, model, log, args)
    score = validate(loader, model, log=log)
    train_alone(loader, model, everything)
    table_of(table, [score])
    validate(loader, model, both)
    both.write("ended")
    Report(os.path.join(args.out, "report.txt"), dist.get_rank()).add("ended")
    Runner(args).run(loader, model)
    log.close()
