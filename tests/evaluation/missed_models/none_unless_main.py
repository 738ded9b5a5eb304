# What a function returns on the main process only, after `if not is_main_process(): return None`, and what is only made
# there if it is missing.
import os

import torch
import torch.distributed as dist
from mine import build, load, scores

dist.init_process_group("nccl")


def is_main_process():
    return not dist.is_initialized() or dist.get_rank() == 0


def evaluate(values):
    total = torch.tensor(values).cuda()
    dist.all_reduce(total)
    if not is_main_process():
        return None
    return {"mean": total.mean().item()}


def evaluate_on_all(values, distributed=True):
    total = torch.tensor(values).cuda()
    dist.all_reduce(total)
    if not distributed:
        return None
    return {"mean": total.mean().item()}


def show():
    result = evaluate(scores())
    text = f"mean {result['mean']:.3f}"  # expect: TRL017
    if is_main_process():
        print(text)


def show_on_main():
    result = evaluate(scores())
    if is_main_process():
        print(f"mean {result['mean']:.3f}")


def show_if_any():
    result = evaluate(scores())
    if result is not None:
        print(f"mean {result['mean']:.3f}")


def show_on_all():
    result = evaluate_on_all(scores())
    text = f"mean {result['mean']:.3f}"
    if is_main_process():
        print(text)


def prepare(folder):
    if dist.get_rank() == 0 and not os.path.exists(os.path.join(folder, "DONE")):
        rows = build()
        rows.save_to_disk(folder)
    dist.barrier()
    return rows  # expect: TRL017


def prepare_and_load(folder):
    if dist.get_rank() == 0 and not os.path.exists(os.path.join(folder, "DONE")):
        rows = build()
        rows.save_to_disk(folder)
    dist.barrier()
    rows = load(folder)
    return rows


def prepare_where_missing(folder):
    if not os.path.exists(os.path.join(folder, f"{dist.get_rank()}.bin")) or dist.get_rank() == 0:
        rows = build()
    dist.barrier()
    return rows


show()
show_on_main()
show_if_any()
show_on_all()
prepare("rows")
prepare_and_load("rows")
prepare_where_missing("rows")
