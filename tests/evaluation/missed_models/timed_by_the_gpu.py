# The time between two events of the GPU is each rank's own, as that of its clock.
import torch
import torch.distributed as dist
from mine import step

dist.init_process_group("nccl")


def until_late(limit):
    start, now = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    while True:
        step()
        now.record()
        torch.cuda.synchronize()
        if start.elapsed_time(now) > limit:
            break  # expect: TRL006
        dist.barrier()


def until_late_on_any(limit):
    start, now = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    while True:
        step()
        now.record()
        torch.cuda.synchronize()
        late = torch.tensor(start.elapsed_time(now) > limit).cuda()
        dist.all_reduce(late, op=dist.ReduceOp.MAX)
        if late:
            break
        dist.barrier()
    if dist.get_rank() == 0:
        print(f"{start.elapsed_time(now):.1f} ms")


until_late(1e6)
until_late_on_any(1e6)
