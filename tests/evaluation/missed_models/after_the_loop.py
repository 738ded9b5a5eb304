"""What follows a loop that runs until a name of its body says so is run; what follows one that nothing ends is not."""

import torch
import torch.distributed as dist


def train(model, loader, settings):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(model)
    done = False
    step = 0
    while not done:
        for batch in loader:
            model(batch).mean().backward()
            step += 1
            done = step >= settings.steps
            if done:
                break
    torch.save(model.module.state_dict(), "last.pt")  # expect: TRL008
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "first.pt")


def serve(model, jobs):
    dist.init_process_group("nccl")
    going = True
    while going:
        dist.broadcast_object_list([jobs.get()], src=0)
    torch.save(model.state_dict(), "served.pt")


train(torch.nn.Linear(2, 2), [], None)
serve(torch.nn.Linear(2, 2), None)
