# Backward passes under `no_sync()` after which what is called in turn reduces the gradients, or runs another one.
import torch
import torch.distributed as dist
from engine import DistributedFusedAdam, exchange, finalize
from torch.nn.parallel import DistributedDataParallel as DDP


def joined(params):
    flat = torch.cat([each.grad.view(-1) for each in params])
    dist.all_reduce(flat)
    place = 0
    for each in params:
        each.grad.copy_(flat[place : place + each.numel()].view_as(each))
        place += each.numel()


def finished(model):
    reduce_all([each for each in model.parameters()])


def reduce_all(params):
    joined(params)


def by_a_function_of_a_function(loader, model, optimizer):
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        finished(model)
        optimizer.step()


def in_a_list(loader, model, optimizer):
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        finalize([model])
        optimizer.step()


def by_their_names(loader, model, optimizer):
    params = [each for each in model.parameters() if each.requires_grad]
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        exchange(params)
        optimizer.step()


def by_the_optimizer(loader, net):
    model = DDP(net)
    optimizer = DistributedFusedAdam(model.parameters())
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        optimizer.step()


def put_back(loader, model, optimizer):
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    for x in loader:
        for _ in range(3):
            with model.no_sync():
                model(x).sum().backward()
            optimizer.step()
        model.load_state_dict(weights)


class Worker:
    def __init__(self, net, link):
        self.model = DDP(net)
        self.link = link
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.params = list(self.model.parameters())

    def step(self, x):
        with self.model.no_sync():
            self.model(x).sum().backward()
        self.exchange()
        self.optimizer.step()

    def exchange(self):
        self.link.push(self.params)

    def step_of_parts(self, parts):
        with self.model.no_sync():
            for x in parts[:-1]:
                self.model(x).sum().backward()
        self.run(parts[-1])
        self.optimizer.step()

    def run(self, x):
        self.go_back(self.model(x).sum())

    def go_back(self, loss):
        loss.backward()


def main(loader, net, link):
    dist.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    by_a_function_of_a_function(loader, model, optimizer)
    in_a_list(loader, model, optimizer)
    by_their_names(loader, model, optimizer)
    by_the_optimizer(loader, net)
    put_back(loader, model, optimizer)
    worker = Worker(net, link)
    for x in loader:
        worker.step(x)
        worker.step_of_parts(x)
