# A model that is wrapped on one branch, and an unknown one on the others.
import os

from accelerate import Accelerator
from diffusers.models.modeling_utils import ModelMixin
from elsewhere import is_bare, is_parallel, load, load_control, load_quantized, make_optimizer, unwrap
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    names, config = ("a", "b"), {"width": 2}

    def forward(self, x):
        return x


class Blocks(ModelMixin):
    def forward(self, x):
        return x


def unknown_before(args):
    model = load(args.path)
    if args.cuda:
        model = DDP(model)
    print(model.names)  # expect: TRL002
    if is_parallel(model):
        print(model.module.names)
    else:
        print(model.names)


def unknown_beside(args):
    if args.cuda:
        model = DDP(load(args.path))
    else:
        model = load_quantized(args.path)
    print(model.names)  # expect: TRL002
    print(unwrap(model).names)


def one_of_two(args):
    accelerator = Accelerator()
    net = Net()
    if args.control:
        control = load_control(net)
    else:
        control = None
    chosen = control if args.control else net
    results = accelerator.prepare(chosen, make_optimizer())
    if args.control:
        control = results[0]
        print(net.config)
    else:
        net = results[0]
        print(net.config)  # expect: TRL002
    print(net.config)  # expect: TRL002


def classes_of_a_library(args):
    accelerator = Accelerator()
    if args.small:
        model = Blocks()
    else:
        model = Net()
    model = accelerator.prepare(model)
    print(model.config)  # expect: TRL002


def there_or_not(args):
    accelerator = Accelerator()
    model = Net()
    if args.train_it:
        model = accelerator.prepare(model)
    print(model.config if model else "none")  # expect: TRL002
    print(model.config if model is not None else "none")  # expect: TRL002
    print(model.config if is_bare(model) else "none")


def in_turn(args):
    accelerator = Accelerator()
    first, second = None, None
    if args.big:
        first = Net()
    else:
        second = Net()
    if args.control:
        pass
    elif first is not None:
        first = accelerator.prepare(first)
    elif second is not None:
        second = accelerator.prepare(second)
    if args.control:
        print(second.config)
    elif args.loud:
        print(second.config)  # expect: TRL002
    else:
        print(second.config)  # expect: TRL002
    if first is not None:
        print(second.config)
    for _ in args.rounds:
        if args.use_ema and args.path is None:
            continue
        print(second.config)  # expect: TRL002


def settings_of_the_machine(args):
    model = Net()
    if os.environ.get("WRAP"):
        model = DDP(model)
    if os.environ.get("LOUD"):
        print(model.config)  # expect: TRL002
    if int(os.environ.get("WRAP", "0")):
        print(model.module.config)
    else:
        print(model.config)


def asked_in_other_words(args):
    accelerator = Accelerator()
    without = os.environ.get("WITHOUT")
    model = Net()
    if not without:
        model = accelerator.prepare(model)
    if without:
        print(model.config)
    if not os.environ.get("WITHOUT"):
        print(model.config)  # expect: TRL002
    else:
        print(model.config)


def by_rank(args):
    rank = int(os.environ.get("RANK", -1))
    model = Net()
    if args.cuda and rank != -1:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    if args.cuda and rank != -1:
        model = DDP(model)
    if rank in (-1, 0) and args.last:
        print(model.config)  # expect: TRL002
    if rank != -1 and args.cuda:
        print(model.module.config)
    if args.cuda:
        print(model.module.config)
    else:
        print(model.config)
