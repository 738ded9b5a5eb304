# A metric whose result is asked for again sends nothing, until something is added to it.
import torch.distributed as dist
from monai.metrics import DiceMetric
from torchmetrics import Accuracy


def asked_again(batches, rank):
    accuracy = Accuracy("binary")
    for batch in batches:
        accuracy.update(batch, batch)
    with open("log.txt") as log:
        result = accuracy.compute()
    if rank == 0:
        print(log, result, accuracy.compute())


def added_in_between(batches, others, rank):
    accuracy = Accuracy("binary")
    dice = DiceMetric()
    for batch in batches:
        accuracy.update(batch, batch)
        dice(batch, batch)
    print(accuracy.compute(), dice.aggregate())
    for batch in others:
        accuracy.update(batch, batch)
        dice(batch, batch)
    if rank == 0:
        print(accuracy.compute())  # expect: TRL006
    if rank == 0:
        print(dice.aggregate())  # expect: TRL006


def asked_on_another_path(batches, rank, is_short):
    dice = DiceMetric()
    for batch in batches:
        dice(batch, batch)
    if is_short:
        return dice.aggregate()
    if rank == 0:
        print(dice.aggregate())  # expect: TRL006
    return None


def main(is_short):
    dist.init_process_group("nccl")
    with open("rows.txt") as rows, open("others.txt") as others:
        asked_again(list(rows), dist.get_rank())
        added_in_between(list(rows), list(others), dist.get_rank())
        asked_on_another_path(list(rows), dist.get_rank(), is_short)


main(len(open("rows.txt").read()) > 3)  # noqa: SIM115
