# Models without a wrapper beside one that has it, of which a part is wrapped, or that are of one rank or alike.
import torch
import torch.distributed as dist
from engine import reduced
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self, width, classes=None):
        super().__init__()
        self.body = nn.Linear(width, classes or width)

    def forward(self, x):
        return self.body(x)


class Whole(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, x):
        return self.decoder(self.encoder(x))


def whole_of_wrapped(loader, width):
    encoder, decoder = DDP(Net(width)), DDP(Net(width))
    whole = Whole(encoder, decoder)
    opt_e, opt = torch.optim.SGD(encoder.parameters()), torch.optim.SGD(whole.parameters())
    for x in loader:
        encoder(x).mean().backward()
        opt_e.step()
        whole(x).mean().backward()
        opt.step()


def local_classes(loader, width, classes):
    rank, world = dist.get_rank(), dist.get_world_size()
    num_local = classes // world + int(rank < classes % world)
    backbone, head = DDP(Net(width)), Net(width, num_local)
    optimizer, opt = torch.optim.SGD(backbone.parameters()), torch.optim.SGD(head.parameters())
    for x in loader:
        head(backbone(x)).mean().backward()
        optimizer.step()
        opt.step()


def expert_parallel(loader, width):
    backbone, expert = DDP(Net(width)), Net(width)
    optimizer, opt = torch.optim.SGD(backbone.parameters()), torch.optim.SGD(expert.parameters())
    for x in loader:
        h = backbone(x)
        mine = torch.empty_like(h)
        dist.all_to_all_single(mine, h)
        expert(mine).mean().backward()
        optimizer.step()
        opt.step()


def with_a_wrapped_part(loader, width):
    g, d = Net(width), Net(width)
    og, od = torch.optim.SGD(g.parameters()), torch.optim.SGD(d.parameters())
    g = DDP(g)
    d.body = DDP(d.body)
    for x in loader:
        d(g(x).detach()).mean().backward()
        od.step()
        d(g(x)).mean().backward()
        og.step()


def on_one_rank(loader, width, rank):
    g, d = DDP(Net(width)), Net(width)
    og, od = torch.optim.SGD(g.parameters()), torch.optim.SGD(d.parameters())
    for x in loader:
        g(x).mean().backward()
        og.step()
        if rank == 0:
            d(x).mean().backward()
            od.step()


def step_on_one(loader, width, rank):
    g, d = DDP(Net(width)), Net(width)
    og, od = torch.optim.SGD(g.parameters()), torch.optim.SGD(d.parameters())
    for x in loader:
        g(x).mean().backward()
        og.step()
        loss = d(x).mean()
        if dist.get_rank() == 0:
            loss.backward()
            od.step()


def of_averaged_states(loader, width):
    g, d = DDP(Net(width)), Net(width)
    og, od = torch.optim.SGD(g.parameters()), torch.optim.SGD(d.parameters())
    for x in loader:
        g(x).mean().backward()
        og.step()
        d(x).mean().backward()
        od.step()
        state = d.state_dict()
        for k in state:
            dist.all_reduce(state[k])
            state[k] /= dist.get_world_size()
        d.load_state_dict(state)


def of_averaged_vectors(loader, width):
    g, d = DDP(Net(width)), Net(width)
    og, od = torch.optim.SGD(g.parameters()), torch.optim.SGD(d.parameters())
    for x in loader:
        g(x).mean().backward()
        og.step()
        d(x).mean().backward()
        od.step()
        flat = nn.utils.parameters_to_vector(d.parameters())
        dist.all_reduce(flat)
        nn.utils.vector_to_parameters(flat / dist.get_world_size(), d.parameters())


def attached(loader, width):
    g, d = DDP(Net(width)), Net(width)
    og, od = torch.optim.SGD(g.parameters()), torch.optim.SGD(d.parameters())
    set_up(d)
    for x in loader:
        g(x).mean().backward()
        og.step()
        d(x).mean().backward()
        od.step()


def set_up(model):
    for each in model.children():
        hooked(each)


def hooked(part):
    part.register_full_backward_hook(reduced)


def main(loader, width, classes, rank):
    dist.init_process_group("nccl")
    whole_of_wrapped(loader, width)
    local_classes(loader, width, classes)
    expert_parallel(loader, width)
    with_a_wrapped_part(loader, width)
    on_one_rank(loader, width, rank)
    step_on_one(loader, width, rank)
    of_averaged_states(loader, width)
    of_averaged_vectors(loader, width)
    attached(loader, width)
