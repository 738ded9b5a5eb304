# Backward passes under `no_sync()` after which something else reduces the gradients, or another one runs.
from contextlib import nullcontext

import torch
import torch.distributed as dist
from engine import average, build, mean_of_all, run_last
from torch.nn.parallel import DistributedDataParallel as DDP


def last_turn_leaves_early(loader, model, optimizer):
    for parts in loader:
        for index, part in enumerate(parts):
            if index == len(parts) - 1:
                model(part).sum().backward()
                continue
            with model.no_sync():
                model(part).sum().backward()
        optimizer.step()


def last_one_elsewhere(loader, model, optimizer):
    for parts in loader:
        with model.no_sync():
            for part in parts[:-1]:
                model(part).sum().backward()
        run_last(model, parts[-1])
        optimizer.step()


def averaged_elsewhere(loader, model, optimizer):
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        average(model.parameters())
        optimizer.step()
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        for weight in model.parameters():
            weight.grad = mean_of_all(weight.grad)
        optimizer.step()
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        dist.all_reduce_coalesced([each.grad for each in model.parameters()])
        optimizer.step()


def in_a_closure(loader, model, optimizer):
    for x in loader:

        def closure(x=x):
            loss = model(x).sum()
            loss.backward()
            return loss

        with model.no_sync():
            model(x).sum().backward()
        optimizer.step(closure=closure)


def of_another_model(loader, config):
    generator, discriminator, optim_g, _ = build(config)
    for x in loader:
        with discriminator.no_sync():
            discriminator(generator(x)).mean().backward()
        optim_g.step()


class Trainer:
    def __init__(self, nets, make_optimizer):
        self.discriminator = DDP(nets[0])
        self.generator = DDP(nets[1])
        self.optim_g = make_optimizer(self.generator)

    def step(self, x):
        with self.discriminator.no_sync():
            self.discriminator(self.generator(x)).mean().backward()
        self.optim_g.step()

    def step_of_unknown(self, x):
        with self.discriminator.no_sync():
            self.discriminator(self.made(x)).mean().backward()
        self.optimizer.step()

    def made(self, x):
        return self.generator(x)


def main(loader, net, nets, config, make_optimizer):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    last_turn_leaves_early(loader, model, optimizer)
    last_one_elsewhere(loader, model, optimizer)
    averaged_elsewhere(loader, model, optimizer)
    in_a_closure(loader, model, optimizer)
    of_another_model(loader, config)
    trainer = Trainer(nets, make_optimizer)
    for x in loader:
        trainer.step(x)
        trainer.step_of_unknown(x)


def bound_by_itself(loader, model, optimizer, limit):
    more = True
    for index, x in enumerate(loader):
        more = more and index < limit and not (more and x.isnan().any())
        with model.no_sync() if more else nullcontext():
            model(x).sum().backward()
        if not more:
            optimizer.step()


def entered_as_before(loader, model, optimizer, context, again):
    for x in loader:
        context = context if again else nullcontext()
        with context:
            model(x).sum().backward()
        optimizer.step()
