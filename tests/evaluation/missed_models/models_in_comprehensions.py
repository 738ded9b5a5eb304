# Models that a comprehension iterates over: each element is created from its own model.
from accelerate import Accelerator
from elsewhere import load, make_optimizer, wanted
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    config = {"width": 2}

    def forward(self, x):
        return x


def bare_ones(first, second, third=None):
    return (model.module if type(model) == DDP else model for model in [first, second, third] if model is not None)


def train(args, batches):
    accelerator = Accelerator()
    encoder = load(args.path)
    unet, optimizer = accelerator.prepare(load(args.other), make_optimizer())
    encoder, unet = bare_ones(encoder, unet)
    for batch in batches:
        loss = unet(batch, encoder(batch)).mean()  # expect: TRL009
        accelerator.backward(loss)


def train_wrapped(args, batches):
    accelerator = Accelerator()
    encoder = load(args.path)
    wrapped, optimizer = accelerator.prepare(load(args.other), make_optimizer())
    encoder, unet = bare_ones(encoder, wrapped)
    for batch in batches:
        loss = wrapped(batch, encoder(batch)).mean()
        accelerator.backward(loss)
    print(unet.config)


def told_apart():
    accelerator = Accelerator()
    frozen = Net()
    model = accelerator.prepare(Net())
    both = [each.eval() for each in [frozen, model]]
    print(both[0].config)
    print(both[1].config)  # expect: TRL002
    bare = [accelerator.unwrap_model(each) for each in both]
    print(bare[1].config)
    some = [each for each in both if wanted(each)]
    print(some[0].config)
