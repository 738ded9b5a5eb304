# Optimizers that step right after a backward pass under `no_sync()`: its gradients are not reduced.
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn.functional as F
from accelerate import Accelerator
from lightning.fabric import Fabric
from torch.nn.parallel import DistributedDataParallel as DDP


def in_each_batch(loader):
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        with model.no_sync():  # expect: TRL009
            loss = model(x).sum()
            loss.backward()
        optimizer.step()
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        model(x * 2).sum().backward()
        optimizer.step()


def in_some_batches(loader, every):
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, x in enumerate(loader):
        more = (number + 1) % every != 0
        with nullcontext() if more else model.no_sync():  # expect: TRL009
            model(x).sum().backward()
        if (number + 1) % every == 0:
            optimizer.step()
    for number, x in enumerate(loader):
        more = (number + 1) % every != 0
        with model.no_sync() if more else nullcontext():
            model(x).sum().backward()
        if (number + 1) % every == 0:
            optimizer.step()
    for number, x in enumerate(loader):
        if (number + 1) % every != 0:
            with model.no_sync():
                model(x).sum().backward()
        else:
            model(x).sum().backward()
            optimizer.step()
    for number, x in enumerate(loader):
        if (number + 1) % every != 0:
            with model.no_sync():
                model(x).sum().backward()
            continue
        model(x).sum().backward()
        optimizer.step()


def in_the_last_part(loader, count):
    model = DDP(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        for index in range(count):
            last = index == count - 1
            with model.no_sync() if last else nullcontext():  # expect: TRL009
                model(batch[index]).sum().backward()
        optimizer.step()
    for batch in loader:
        for index in range(count):
            last = index == count  # true in no turn
            with nullcontext() if last else model.no_sync():  # expect: TRL009
                model(batch[index]).sum().backward()
        optimizer.step()
    for batch in loader:
        for index, part in enumerate(batch):
            with model.no_sync() if index < len(batch) - 1 else nullcontext():
                model(part).sum().backward()
        optimizer.step()
    for batch in loader:
        for index in range(count - 1):
            with model.no_sync():
                model(batch[index]).sum().backward()
        model(batch[count - 1]).sum().backward()
        optimizer.step()


def one_of_two(loader):
    accelerator = Accelerator()
    generator, discriminator = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_d = torch.optim.Adam(discriminator.parameters())
    generator, discriminator, opt_g, opt_d = accelerator.prepare(generator, discriminator, opt_g, opt_d)
    for x in loader:
        fake = generator(x)
        with accelerator.no_sync(discriminator):  # expect: TRL009
            accelerator.backward(F.softplus(discriminator(fake.detach())).mean())
        opt_d.step()
        with accelerator.no_sync(discriminator):
            accelerator.backward(F.softplus(-discriminator(fake)).mean())  # its gradients are those of the generator
        opt_g.step()


def step(fabric, model, optimizer, x):
    loss = model(x).sum()
    fabric.backward(loss)
    optimizer.step()


def of_fabric(loader, every):
    fabric = Fabric(strategy="ddp")
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = fabric.setup(model, optimizer)
    for x in loader:
        with fabric.no_backward_sync(model):  # expect: TRL009
            step(fabric, model, optimizer, x)
    for number, x in enumerate(loader):
        is_accumulating = number % every != 0
        with fabric.no_backward_sync(model, enabled=is_accumulating):
            fabric.backward(model(x).sum())
        if not is_accumulating:
            optimizer.step()
    for number, x in enumerate(loader):
        is_accumulating = number % every != 0
        with fabric.no_backward_sync(model, enabled=not is_accumulating):  # expect: TRL009
            fabric.backward(model(x).sum())
        if not is_accumulating:
            optimizer.step()


def of_a_state(loader, every):
    """What is read from a dict says nothing of what an optimizer steps; clipping reduces nothing."""
    fabric = Fabric(strategy="ddp")
    model = fabric.setup(torch.nn.Linear(2, 2))
    state = {"model": model, "optimizer": fabric.setup_optimizers(torch.optim.SGD(model.parameters(), lr=0.1))}
    model, optimizer = state["model"], state["optimizer"]
    for number, x in enumerate(loader):
        is_accumulating = number % every != 0
        with fabric.no_backward_sync(model, enabled=not is_accumulating):  # expect: TRL009
            fabric.backward(model(x).sum())
        if not is_accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
    for number, x in enumerate(loader):
        is_accumulating = number % every != 0
        with fabric.no_backward_sync(model, enabled=is_accumulating):
            fabric.backward(model(x).sum())
        if not is_accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()


def step_of_unknown(model, optimizer, x):
    with model.no_sync():  # expect: TRL009
        model(x).sum().backward()
    optimizer.step()


def step_of_either(generator, discriminator, optimizer, x):
    with discriminator.no_sync():
        discriminator(generator(x)).sum().backward()
    optimizer.step()


def of_something_else(model, x):
    """What is trained are the prompts of this rank's rows."""
    with model.no_sync():
        prompt = torch.zeros_like(x).requires_grad_(True)
        optimizer = torch.optim.SGD([prompt], lr=0.1)
        for _ in range(10):
            model(x + prompt).sum().backward()
            optimizer.step()


def main(loader, model, optimizer, generator, discriminator):
    dist.init_process_group("nccl")
    in_each_batch(loader)
    in_some_batches(loader, 4)
    in_the_last_part(loader, 4)
    for x in loader:
        step_of_unknown(DDP(model), optimizer, x)
        of_something_else(DDP(model), x)
        step_of_either(DDP(generator), DDP(discriminator), optimizer, x)
