# Each rank adds its own lines to a log, and each line tells from which rank it comes.
import json

import graphs
import torch
import torch.distributed as dist


def train(model, loader, rank):
    log = open("train.txt", "a+")  # noqa: SIM115
    for epoch in range(3):
        loss = torch.stack([model(batch).mean() for batch in loader]).mean().item()
        log.write(f"[Trainer {rank}] epoch {epoch}, loss {loss}\n")
        dist.barrier()
    log.write(f"[Trainer {rank}] done\n")
    log.close()


def note(rank, loss):
    line = json.dumps({"rank": rank, "loss": loss})
    with open("notes.jsonl", "a") as file:
        file.write(line + "\n")
    with open("notes.txt", "a") as file:
        print("rank", rank, loss, file=file)


def of_context(context, loss):
    with open("context.txt", "a") as file:
        file.write(f"[{context.rank}] loss {loss}\n")


def without_rank(loss):
    with open("losses.txt", "a") as file:  # expect: TRL008
        file.write(f"loss {loss}\n")


def head_without_rank(rank, loss):
    with open("table.txt", "a") as file:  # expect: TRL008
        file.write("loss\n")
        file.write(f"{rank} {loss}\n")


def emptied_by_each(rank, loss):
    with open("last.txt", "w") as file:  # expect: TRL008
        file.write(f"[{rank}] {loss}\n")


def main(model, loader):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    train(torch.nn.parallel.DistributedDataParallel(model), loader, rank)
    note(rank, 0.5)
    of_context(graphs.get_context(), 0.5)
    without_rank(0.5)
    head_without_rank(rank, 0.5)
    emptied_by_each(rank, 0.5)


main(torch.nn.Linear(2, 2), [torch.ones(2)])
