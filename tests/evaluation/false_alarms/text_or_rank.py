# All ranks choose the same of a text and a number of the rank; only a test for a number, or the rank's choice, differs.
import torch
import torch.distributed as dist


def by_number(rank, world_size, on_cpu):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    if on_cpu:
        place = "cpu"
    else:
        print("on GPUs")
        place = rank
    if place == "cpu":
        dist.barrier()
    elif place != "meta":
        dist.all_reduce(torch.ones(1))


def among(rank, world_size, on_cpu):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    place = "cpu" if on_cpu else rank
    if place in ("cpu", "mps"):
        dist.barrier()


def by_device(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    device = f"cuda:{rank}" if torch.cuda.is_available() else "cpu"
    if device != "cpu":
        dist.barrier()
    if device.startswith("cuda") or "mps" in device:
        dist.all_reduce(torch.ones(1))


def of_three(rank, world_size, kind):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    if kind == "cpu":
        device = "cpu"
    elif kind == "mps":
        device = "mps"
    else:
        device = f"cuda:{rank}"
    if device == "mps":
        dist.barrier()


def of_first(rank, world_size, on_cpu):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    place = "cpu" if on_cpu else rank
    if place == 0:
        dist.barrier()  # expect: TRL006


def of_first_device(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    device = f"cuda:{rank}" if torch.cuda.is_available() else "cpu"
    if device == "cuda:0":
        dist.barrier()  # expect: TRL006


def with_digit(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    device = f"cuda:{rank}" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda:1"):
        dist.barrier()  # expect: TRL006


def chosen_by_rank(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    if rank == 0:
        place = "cpu"
    else:
        print("on GPUs")
        place = rank
    if place == "cpu":
        dist.barrier()  # expect: TRL006


def changed_later(rank, world_size, on_cpu):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    place = "cpu" if on_cpu else rank
    if rank > 1:
        place = "cpu"
    if place == "cpu":
        dist.barrier()  # expect: TRL006


def device_changed_later(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    device = f"cuda:{rank}" if torch.cuda.is_available() else "cpu"
    if rank > 1:
        device = "cpu"
    if device == "cpu":
        dist.barrier()  # expect: TRL006
