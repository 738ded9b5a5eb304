"""What a helper is passed is not None, where its caller has made an object of a library for it."""

import torch
import torch.distributed as dist


def save(model, scaler):
    if scaler is not None:
        if dist.get_rank() == 0:
            torch.save([model.state_dict(), scaler.state_dict()], "x")
    else:
        dist.barrier()


def finish(model, scaler):
    if scaler is None:
        dist.barrier()
    elif dist.get_rank() == 0:
        torch.save([model.state_dict(), scaler.state_dict()], "x")


def trained(model, scaler, steps):
    for _ in range(steps):
        scaler.update()
    if dist.get_rank() == 0:
        save(model, scaler)


def main(args):
    dist.init_process_group("nccl")
    model = torch.nn.Linear(2, 2)
    scaler = torch.cuda.amp.GradScaler()
    if dist.get_rank() == 0:
        save(model, scaler)
    trained(model, scaler, args.steps)
    if dist.get_rank() == 0:
        save(model, None)  # expect: TRL006
    maybe = torch.cuda.amp.GradScaler() if args.half else None
    if dist.get_rank() == 0:
        finish(model, maybe)  # expect: TRL006


main(None)
