# A loop over what only the main process has filled has no turn on the other ranks.
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def validate(step):
    return {"rmse": 0.5, "step": step}


def train(steps, both):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    if rank == 0:
        writer = SummaryWriter("log")
    for step in range(steps):
        results, lines, of_all = {}, [], {}
        found = validate(step)
        if rank == 0:
            results.update(found)
        if both:
            again = validate(step)
            if rank == 0:
                results["both"] = again["rmse"]
        for name in results:
            writer.add_scalar(name, results[name], step)
        for name, value in results.items():
            writer.add_scalar(f"again/{name}", value, step)
        if rank == 0:
            lines.append("done")
        for line in lines:
            writer.add_text("line", line)
        of_all.update(found)
        if rank == 0:
            of_all["main"] = 1.0
        for name in of_all:
            writer.add_scalar(name, of_all[name], step)  # expect: TRL017


train(10, True)
