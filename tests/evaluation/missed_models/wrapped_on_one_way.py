# A model that is wrapped if a setting says so: reads fail there, unless code tests for it first.
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = {}

    def forward(self, x):
        return x


def main(args):
    model = Net()
    if args.distributed:
        model = DDP(model)
    print(model.config)  # expect: TRL002
    if args.other:
        print(model.config)  # expect: TRL002
    if args.distributed:
        print(model.module.config)
        print(model.config)  # expect: TRL002
    else:
        print(model.config)
    print(model.config)  # expect: TRL002
    x = model.module.config if args.distributed else model.config
    if hasattr(model, "module"):
        print(model.module.config)
    else:
        print(model.config)
    if isinstance(model, DDP):
        print(model.config)  # expect: TRL002
    else:
        print(model.config)
    if type(model) == DDP:
        print(model.config)  # expect: TRL002
    else:
        print(model.config)
    bare = model.module if hasattr(model, "module") else model
    print(bare.config)
    if hasattr(model, "config"):
        print(model.config)
    c = args.distributed and model.module.config
    c = args.distributed or model.config
    if args.local_rank == 3 and not args.distributed:
        print(model.config)
    f(model, args.distributed)
    if isinstance(model, DDP):
        model = model.module
    print(model.config)


def f(model, flag):
    print(model.config)  # expect: TRL002
    if flag:
        print(model.module.config)
    else:
        print(model.config)


def derived(args):
    ddp = args.world > 1
    model = Net()
    if ddp:
        model = DDP(model)
    if args.world > 1:
        return model.module.config
    return model.config


def early(args):
    accelerator = Accelerator()
    model = Net()
    if args.distributed:
        model = accelerator.prepare(model)
    if not args.distributed:
        return model.config
    return model.config  # expect: TRL002


class T:
    def __init__(self, args):
        self.args = args
        self.model = Net()
        if args.distributed:
            self.model = DDP(self.model)

    def a(self):
        return self.model.config  # expect: TRL002

    def b(self):
        if self.args.distributed:
            return self.model.module.config
        return self.model.config

    def train(self, x):
        inner = self.model.module
        loss = inner(x).loss  # expect: TRL009
        loss.backward()


def ifexp(args):
    model = Net()
    model = DDP(model) if args.ddp else model
    model.config  # expect: TRL002

    def closure():
        return model.config  # expect: TRL002

    def closure2():
        if args.ddp:
            return model.module.config
        return model.config

    closure()
    closure2()


def three(args):
    model = Net()
    if args.a:
        model = DDP(model)
    elif args.b:
        model = nn.DataParallel(model)
    model.config  # expect: TRL002
    if args.b:
        model.config


def grads(args, x):
    accelerator = Accelerator()
    model = Net()
    if args.ddp:
        model = DDP(model)
    inner = accelerator.unwrap_model(model)
    print(inner.config)
    loss = inner(x).loss  # expect: TRL009
    loss.backward()


def generic(args, x):
    model = Net()
    if args.fsdp:
        model = FSDP(model)
    elif args.ddp:
        model = DDP(model)
    print(model.config)  # expect: TRL002


def tries(args, x):
    model = Net()
    if args.ddp:
        model = DDP(model)
    try:
        model.config
    except AttributeError:
        pass
    getattr(model, "module", model).config
    getattr(model, "config", None)


def layer(distributed):
    model = nn.Linear(1, 2)
    if distributed:
        model = DDP(model)
    print(model.config)  # expect: TRL002


def one_of_two(args, image, text):
    left = right = None
    if args.image:
        left = AutoModel.from_pretrained(image)
    else:
        right = AutoModel.from_pretrained(text)
    results = Accelerator().prepare(left if left is not None else right)
    if left is not None:
        left = results
    elif right is not None:
        right = results
    if left is not None:
        left.train()
    if args.gradient_checkpointing:
        print(args)
    if args.image:
        print(left.config)  # expect: TRL002


def main_with_more_tests(args):
    model = Net()
    if args.distributed:
        model = DDP(model)
    if args.distributed and args.saves:
        print(model.config)  # expect: TRL002
    if args.saves and not args.distributed:
        print(model.config)
    if args.saves or args.distributed:
        print(model.config)
    if not (args.saves or args.distributed):
        print(model.config)
    print(model.config if args.saves and args.distributed else None)  # expect: TRL002


def prepared_with_more_tests(args, accelerator: Accelerator):
    side = None
    if args.side:
        side = AutoModel.from_pretrained("side")
    model = AutoModel.from_pretrained("tiny")
    if args.side:
        model, side = accelerator.prepare(model, side)
    else:
        model = accelerator.prepare(model)
    if args.side and side is not None and accelerator.is_main_process:
        print(side.config)  # expect: TRL002
        print(accelerator.unwrap_model(side).config)
