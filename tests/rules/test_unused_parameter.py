"""TRL031: which layers of a wrapped model nothing uses, and the message."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, shown

from trl_lint.findings import Consequence

SNIPPETS = Snippets("TRL031")
HEAD = """\
import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = nn.Linear(size, size)

    def forward(self, x):
        return self.inner(x)

class Net(nn.Module):
    def __init__(self, size, wide=False):
        super().__init__()
        self.body = nn.Linear(size, size)
"""
FORWARD = """\
    def forward(self, x):
        return self.body(x)
"""
TRAIN = """
def train(args, loader, rank):
    model = Net(8).to(rank)
    model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
"""


def program(made: str, forward: str = FORWARD, train: str = TRAIN) -> str:
    return HEAD + indent(made + "\n", " " * 8) + "\n" + forward + train


def reported(made: str, forward: str = FORWARD, train: str = TRAIN) -> bool:
    return bool(SNIPPETS.findings(program(made, forward, train)))


@pytest.mark.parametrize("made", [
    "self.head = nn.Linear(size, 2)",
    "self.head = torch.nn.Linear(size, 2).to('cuda')",
    "self.head = nn.LayerNorm(size)",
    "self.head = nn.Parameter(torch.zeros(size))",
    "self.head = nn.Sequential(nn.ReLU(), nn.Linear(size, 2))",
    "self.head = nn.Sequential(*[nn.Linear(size, size) for _ in range(3)])",
    "self.head = nn.ModuleList([nn.Linear(size, 2) for _ in range(3)])",
    "self.head = nn.ModuleDict({'a': nn.Linear(size, 2)})",
    "self.head = Block(size)",
    "self.head = nn.Linear(size, 2)\nnn.init.zeros_(self.head.weight)\nself.head.bias.data.fill_(0)",
    "self.head = nn.Linear(size, 2)\nself.head.weight.data = torch.zeros(2, size)",
    "self.head = nn.Linear(size, 2)\nself.head.apply(print)",
    "self.relu = nn.ReLU()\nif wide:\n    self.other = 1\nself.head = nn.Linear(size, 2)",
    "self.head = nn.GroupNorm(2, size, 1e-5)",
    "self.head = nn.Linear(size, 2) if wide else nn.Linear(size, 1)",
])  # fmt: skip
def test_it_waits_for_a_layer_that_nothing_uses(made):
    (found,) = SNIPPETS.findings(program(made))
    line = next(each for each in program(made).splitlines() if "self.head =" in each)
    assert program(made).splitlines()[found.start.line - 1] == line


@pytest.mark.parametrize("made", [
    "self.relu = nn.ReLU()",
    "self.norm = nn.LayerNorm(size, elementwise_affine=False)",
    "self.norm = nn.InstanceNorm1d(size)",
    "self.scale = nn.Parameter(torch.zeros(size), requires_grad=False)",
    "self.register_buffer('scale', torch.zeros(size))",
    "if wide:\n    self.head = nn.Linear(size, 2)",
    "self.head = nn.Linear(size, 2) if wide else None",
    "self.head = nn.Linear(size, 2)\nself.head = nn.Identity()",
    "self.head = nn.Linear(size, 2)\nself.both = [self.head, self.body]",
    "self.head = nn.Linear(size, 2)\nself.head.requires_grad_(False)",
    "self.head = nn.Linear(size, 2)\nself.head.weight = self.body.weight",
    "self.head = nn.Linear(size, 2)\ndel self.head",
    "self.head = build(size)",
    "self.head = nn.Sequential(*layers)",
    "self.head = [nn.Linear(size, 2)]",  # no part of the model
    "self.head = {'a': nn.Linear(size, 2)}",
    "if size > 2:\n    return\nself.head = nn.Linear(size, 2)",
])  # fmt: skip
def test_it_waits_for_nothing_else(made):
    assert not reported(made)


def test_the_type_of_a_layer_may_be_written():
    assert reported("self.head: nn.Module = nn.Linear(size, 2)")


@pytest.mark.parametrize("made", ["nn.LayerNorm(size, 1e-5, False)", "nn.GroupNorm(2, size, 1e-5, False)"])
def test_a_layer_has_no_parameters_by_an_argument_without_its_name(made):
    assert not reported(f"self.head = {made}")


HEAD_MADE = "self.head = nn.Linear(size, 2)"


@pytest.mark.parametrize("forward", [
    "    def forward(self, x): return self.head(self.body(x))\n",
    "    def forward(self, x, name): return getattr(self, name)(self.body(x))\n",
    "    def forward(self, x): return getattr(self, 'head')(self.body(x))\n",
    "    def forward(self, x):\n        for part in self.children():\n            x = part(x)\n        return x\n",
    "    def forward(self, x): return run(self.__dict__, self.body(x))\n",
    "    def forward(self, x): return self.loss(self.body(x))\n    def loss(self, x): return self.head(x)\n",
    "    def forward(self, x): return self.body(x)\nclass Wide(Net):\n    def forward(self, x): return self.head(x)\n",
    "    def forward(self, x): return self.body(x)\ndef loss(net, x): return net.head(x)\n",
    "    def forward(self, x): return self.body(x)\ndef loss(self, x): return self.head(x)\nNet.loss = loss\n",
    "    def forward(self, x): return self.body(x)\nNAMES = ['head.weight']\n",
    "    def forward(self, x): return self.body(x) + dict(self.named_parameters())[self.name]\n",
    "    def forward(self, x): return self.body(x) + list(self.parameters())[2]\n",
    "    def forward(self, x): return attrgetter(self.name)(self)(self.body(x))\n",
    "    def forward(self, x): return self.body(x)\n"
    "    def drop(self, names):\n        for each in names: delattr(self, each)\n",
    "    def forward(self, x): return self.body(x)\n"
    "def run(net, x):\n    for part in net.children():\n        x = part(x)\n    return x\n",
    "    def forward(self, x): return self.body(x)\nsetattr(Net, 'forward', other)\n",
    "    def forward(self, x): return Other.run(self, self.body(x))\n"
    "class Other(nn.Module):\n    def run(self, x): return self.head(x)\n",
    "    def forward(self, x): return self.body(x)\n"
    "def run(net, x): return nn.Sequential(*list(net.children()))(x)\n",
    "    def forward(self, x): return self.body(x)\n"
    "def run(net, x):\n    for part in net.children():\n        if part.training:\n            x = part(x)\n",
    "    def forward(self, x): return self.body(x)\ndef run(net, x, name): return net.get_submodule(name)(x)\n",
    "    def forward(self, x): return self.body(x)\ndef run(net, x, name): return getattr(net.module, name)(x)\n",
    "    def forward(self, x): return self.body(x)\n"
    "def run(net, x, name): return dict(net.named_children())[name](x)\n",
    "    forward = other\n",  # who runs it is not known: there is only a constructor
    "",
])  # fmt: skip
def test_other_code_may_use_it(forward):
    assert not reported(HEAD_MADE, forward)


@pytest.mark.parametrize("name", ["initial_state", "preset", "run"])
def test_a_method_that_runs_all_parts_sets_nothing_up(name):
    run = f"    def {name}(self, x):\n        for part in self.children(): x = part(x)\n        return x\n"
    assert not reported(HEAD_MADE, f"    def forward(self, x): return self.{name}(x)\n" + run)


@pytest.mark.parametrize("forward", [
    "    def forward(self, x): return self.body(x)\n    def groups(self): return dict(params=self.head.parameters())\n",
    "    def forward(self, x): return self.body(x)\n"
    "    def init(self):\n        for part in self.modules():\n            reset(part)\n",
    "    def forward(self, x): return self.body(x)\nclass Other(nn.Module):\n    def forward(self, x): self.head(x)\n",
    "    def forward(self, x): return self.body(x)\ndef norm(x): return torch.head(x)\n",
    "    def forward(self, x): return self.body(x.to(next(self.parameters()).device))\n",
    "    def forward(self, x): return self.body(x)\ndef show(net):\n    for part in net.children(): print(part)\n",
])  # fmt: skip
def test_other_code_does_not_use_it(forward):
    assert reported(HEAD_MADE, forward)


UNCALLED = FORWARD + "    def old(self, x):\n        return self.head(x)\n"
SEEN = FORWARD + "    def look(self, x):\n        with torch.no_grad():\n            return {}\n"
SEEN += "\ndef watch(net, x):\n    return net.look(x)\n"


@pytest.mark.parametrize("more", [
    "",
    "    def older(self, x):\n        return self.old(x)\n",
    "    def again(self, x):\n        return self.old(x) if x is None else self.again(None)\n",
    "class Other(nn.Module):\n    def old(self, x): return x\n",
    "def make(name, net): return getattr(torch.optim, name)(net.parameters())\n",
    "def size(args): return getattr(args, 'size', 8) + getattr(args, 'more')\n",
])  # fmt: skip
def test_nothing_calls_what_uses_it(more):
    (found,) = SNIPPETS.findings(program(HEAD_MADE, UNCALLED + more))
    assert found.message.startswith("`self.head` is only used by `old`, which nothing calls, so its parameters get no")


@pytest.mark.parametrize(("old", "new"), [
    ("return self.body(x)", "return self.old(self.body(x))"),
    ("return self.body(x)", "return getattr(self, 'old')(self.body(x))"),
    ("    def old", "    @property\n    def old"),
    ("old", "_apply"),  # `nn.Module` calls it
    ("old", "__len__"),
    ("    def old", "    head_of = lambda self, x: self.head(x)\n    def old"),
])  # fmt: skip
def test_something_may_call_what_uses_it(old, new):
    assert old in UNCALLED
    assert not reported(HEAD_MADE, UNCALLED.replace(old, new))


@pytest.mark.parametrize("more", [
    "def loss(net, x): return net.old(x)\n",
    "def loss(net, x, name): return getattr(net, name)(x)\n",
    "def loss(nets, x, name):\n    run = getattr(nets[0], name)\n    return run(x)\n",
    "def loss(nets, x, name):\n    return getattr(\n        nets[0],\n        name,\n    )(x)\n",
    "def loss(nets, x, name): return getattr(nets[0], 'ol' + name)(x)\n",
    "class Wide(Net):\n    def forward(self, x): return self.old(x)\n",
    "class Wide(Net):\n    def loss(self, x): return super().old(x)\n",
    "NAMES = ['old']\n",
    "    def __call__(self, x):\n        return self.old(x)\n",
    "    @hook\n    def run(self, x):\n        return self.old(x)\n",
])  # fmt: skip
def test_other_code_may_call_what_uses_it(more):
    assert not reported(HEAD_MADE, UNCALLED + more)


def test_other_code_may_compose_the_name_of_what_uses_it():
    long = UNCALLED.replace("old", "old_loss") + "def loss(net, x, name): return {}(net, f'old_{{name}}')\n"
    assert not reported(HEAD_MADE, long.format("getattr"))
    assert reported(HEAD_MADE, long.format("show"))


def test_a_base_may_call_what_uses_it():
    text = program(HEAD_MADE, UNCALLED)
    base = "from huggingface_hub import PyTorchModelHubMixin\n" + text.replace(
        "class Net(nn.Module)", "class Net(nn.Module, PyTorchModelHubMixin)"
    )
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(base)


@pytest.mark.parametrize("use", [
    "self.head(x)",
    "[self.head(each) for each in x]",
    "[p.numel() for p in self.head.parameters()]",
    "self.head.weight.norm()",
])  # fmt: skip
def test_it_only_runs_without_gradients(use):
    (found,) = SNIPPETS.findings(program(HEAD_MADE, SEEN.format(use)))
    assert found.message.startswith("`self.head` only runs without gradients, so its parameters get no gradient")
    decorated = SEEN.replace("with torch.no_grad():", "if x:").replace(
        "    def look", "    @torch.no_grad()\n    def look"
    )
    assert reported(HEAD_MADE, decorated.format(use))
    assert not reported(HEAD_MADE, decorated.replace("no_grad", "wraps").replace("look", "forward").format(use))


@pytest.mark.parametrize("use", [
    "self.head",
    "self.head.eval()",
    "self.head.weight",
    "show(self.head)",
    "torch.enable_grad(), self.head(x)",
    "dict(self.head.named_parameters())",
    "self.head.requires_grad_()",
    "lambda y: self.head(y)",
])  # fmt: skip
def test_it_may_run_with_gradients_later(use):
    assert not reported(HEAD_MADE, SEEN.format(use))


@pytest.mark.parametrize("switch", [
    "torch.inference_mode(not self.training)", "torch.inference_mode(mode=x is None)", "self.no_grad()"
])  # fmt: skip
def test_what_turns_gradients_off_may_leave_them_on(switch):
    seen = SEEN.format("self.head(x)")
    assert reported(HEAD_MADE, seen.replace("torch.no_grad()", "torch.inference_mode(True)"))
    assert not reported(HEAD_MADE, seen.replace("torch.no_grad()", switch))


def test_a_module_that_runs_without_gradients_is_reported_once():
    made = "self.block = Block(size)"
    forward = "    def forward(self, x): return self.body(self.block(x))\n"
    more = "        self.inner = nn.Linear(size, size)\n        self.second = nn.Linear(size, size)\n"
    text = program(made, forward).replace("        self.inner = nn.Linear(size, size)\n", more, 1)
    text = text.replace("return self.inner(x)", "return self.second(self.inner(x))")
    assert not SNIPPETS.findings(text)
    (found,) = SNIPPETS.findings(
        text.replace("    def forward(self, x)", "    @torch.no_grad()\n    def forward(self, x)", 1)
    )
    assert found.message.startswith("`self.inner` only runs without gradients")


def test_gradients_may_be_on():
    assert not reported(HEAD_MADE, SEEN.format("self.head(x)").replace("torch.no_grad()", "torch.set_grad_enabled(x)"))
    either = SEEN.format("self.head(x)").replace("torch.no_grad()", "torch.no_grad() if x is None else nullcontext()")
    assert not reported(HEAD_MADE, either.replace("look", "forward"))


EITHER = "if wide:\n    self.head = nn.Linear(size, size)\n{}self.last = 1"


@pytest.mark.parametrize("other", [
    "else:\n    self.head = nn.Linear(size, 2)\n",
    "elif size > 2:\n    self.head = nn.Linear(size, 2)\nelse:\n    self.head = Block(size)\n",
    "else:\n    if size > 2:\n        self.head = nn.Linear(size, 2)\n    else:\n        self.head = Block(size)\n",
    "elif size > 2:\n    self.head = nn.Linear(size, 2)\nelse:\n    raise ValueError(size)\n",
])  # fmt: skip
def test_all_branches_make_it(other):
    assert reported(EITHER.format(other))


@pytest.mark.parametrize("other", [
    "",
    "else:\n    self.head = None\n",
    "else:\n    self.head = nn.Identity()\n",
    "else:\n    self.tail = nn.Linear(size, 2)\n",
    "elif size > 2:\n    self.head = nn.Linear(size, 2)\n",
    "else:\n    self.head = nn.Linear(size, 2)\n    self.head = nn.Identity()\n",
    "else:\n    return\n",
    "else:\n    self.head = nn.Linear(size, 2)\nself.ends = [self.head]\n",
])  # fmt: skip
def test_not_all_branches_make_it(other):
    assert not reported(EITHER.format(other))


def test_all_branches_make_what_has_it():
    made = "if wide:\n    self.block = Block(size)\nelse:\n    self.block = {}\n"
    forward = "    def forward(self, x): return self.body(self.block(x))\n"
    unused = program(made, forward).replace("return self.inner(x)", "return x")
    assert SNIPPETS.findings(unused.format("Block(2)"))
    assert not SNIPPETS.findings(unused.format("nn.Linear(size, 2)"))


@pytest.mark.parametrize("text", ['f"head_{number}"', '"head_%d" % number', '"head_" + str(number)'])
def test_other_code_may_compose_its_name(text):
    made, use = "self.head_1 = nn.Linear(size, 2)", "\ndef pick(net, number): return {}(net, {})\n"
    assert not reported(made, FORWARD + use.format("getattr", text))
    assert reported(made, FORWARD + use.format("show", text))
    assert reported(made, FORWARD + use.format("getattr", text.replace("head_", "tail_")))


@pytest.mark.parametrize(("old", "new"), [
    ("device_ids=[rank]", "device_ids=[rank], find_unused_parameters=True"),
    ("device_ids=[rank]", "find_unused_parameters=args.find"),
    ("device_ids=[rank]", "static_graph=True"),
    ("device_ids=[rank]", "**args.options"),
    ("    optimizer =", "    model._set_static_graph()\n    optimizer ="),
    ("DDP(model, device_ids=[rank])", "nn.DataParallel(model)"),
    ("DDP(model, device_ids=[rank])", "model"),
    (".backward()", ""),
    ("    model = DDP", "    for p in model.head.parameters(): p.requires_grad = False\n    model = DDP"),
    ("    model = DDP", "    freeze_head(model)\n    model = DDP"),
    ("    model = DDP", "    model.requires_grad_(False)\n    model = DDP"),
    ("    model = DDP", "    net = Net.from_pretrained(args.net)\n    net.requires_grad_(False)\n    model = DDP"),
    ("    model = DDP", "    net = args.cls.from_pretrained(args.net)\n    net.requires_grad_(False)\n    model = DDP"),
    ("    model = DDP", "    import nets\n    net = nets.Net.from_pretrained(args.net)\n    net.requires_grad_(False)\n"
     "    model = DDP"),
    ("    model = DDP", "    net = load(args.net)\n    net.requires_grad_(False)\n    model = DDP"),
    ("    model = DDP", "    from diffusers import Any\n    net = Any.from_pretrained(args.net)\n    net = model\n"
     "    net.requires_grad_(False)\n    model = DDP"),
    ("    model = DDP", "    for p in args.model.parameters():\n        p.requires_grad = False\n    model = DDP"),
    ("    model = DDP", "    for p in model.parameters():\n        p.requires_grad_(False)\n    model = DDP"),
    ("    model = DDP", "    for p in model.body.parameters(): p.requires_grad = False\n"
     "    for p in args.nets[0].parameters(): p.requires_grad = False\n    model = DDP"),
    ("model(x).mean()", "importlib.import_module(f'losses.{args.name}').loss(model, x)"),
    ("model(x).mean()", "(model(x).mean() + sum(p.pow(2).sum() for p in model.parameters()))"),
    ("model(x).mean()", "(model(x).mean() + 0 * sum(p.sum() for p in model.parameters()))"),
    ("Net(8)", "(Net(8) if args.net else Block(8))"),
    ("    model = DDP", "    for p in args.frozen: setattr(p, 'requires_grad', False)\n    model = DDP"),
    ("    model = DDP", "    model = get_peft_model(model, args.adapters)\n    model = DDP"),
    ("    model = DDP", "    lora.mark_only_lora_as_trainable(model)\n    model = DDP"),
    ("model(x).mean()", "(model(x).mean() + sum(map(torch.norm, model.parameters())))"),
    ("model(x).mean()", "(model(x).mean() + nn.utils.parameters_to_vector(model.parameters()).norm())"),
    ("model(x).mean()", "(model(x).mean() + torch.cat([p.view(-1) for p in model.parameters()]).norm())"),
    ("model(x).mean()", "(model(x).mean() + sum(\n            p.abs().sum()\n            for p in model.parameters()\n"
     "            if p.requires_grad\n        ))"),
    ("        model(x).mean().backward()", "        loss = model(x).mean()\n"
     "        for p, old in zip(model.parameters(), args.anchor):\n            difference = p - old\n"
     "            loss = loss + (difference * difference).sum()\n        loss.backward()"),
    ("        model(x).mean().backward()", "        loss = model(x).mean()\n"
     "        for name, p in model.named_parameters():\n            if 'bias' not in name:\n"
     "                loss = loss + 0 * p.sum()\n        loss.backward()"),
    ("    model = DDP(model, device_ids=[rank])", "    if args.searches:\n"
     "        model = DDP(model, find_unused_parameters=True)\n    else:\n        model = DDP(model)"),
    ("DDP(model, device_ids=[rank])", "Own(model)\n\nclass Own(DDP):\n    def __init__(self, module):\n"
     "        super().__init__(module, find_unused_parameters=True)\n\ndef more(model, optimizer, loader):\n    pass"),
    ("    model = DDP", "    model.forward = args.forward\n    model = DDP"),
    ("    model = DDP", "    delattr(model, args.part)\n    model = DDP"),
])  # fmt: skip
def test_the_wrapper_does_not_wait(old, new):
    assert reported(HEAD_MADE)
    assert old in TRAIN
    assert not reported(HEAD_MADE, train=TRAIN.replace(old, new))


@pytest.mark.parametrize(("old", "new"), [
    ("device_ids=[rank]", "device_ids=[rank], find_unused_parameters=False"),
    ("model = DDP", "if args.distributed:\n        model = DDP"),
    ("model = DDP", "for p in model.body.parameters():\n        p.requires_grad = False\n    model = DDP"),
    ("model = DDP", "model.body.weight.data.zero_()\n    model.body.requires_grad_(False)\n    model = DDP"),
    ("model = DDP", "target = copy.deepcopy(model)\n    target.requires_grad_(False)\n    model = DDP"),
    ("model = DDP", "from diffusers import AutoencoderKL\n"
     "    vae = AutoencoderKL.from_pretrained(args.vae)\n    vae.requires_grad_(False)\n    model = DDP"),
    ("model = DDP", "import transformers\n    text = transformers.CLIPTextModel.from_pretrained(args.text)\n"
     "    for p in text.parameters():\n        p.requires_grad = False\n    model = DDP"),
    ("model = DDP", "model = torch.compile(model)\n    model = DDP"),
    ("model = DDP", "print(sum(p.numel() for p in model.parameters() if p.requires_grad))\n    model = DDP"),
    ("optimizer.step()", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()"),
    ("optimizer.step()", "print(sum(\n            p.numel() for p in model.parameters() if p.requires_grad\n        ))"
     "\n        optimizer.step()"),
    ("optimizer.step()", "print(sum(1 for p in model.parameters()))\n        optimizer.step()"),
    ("optimizer.step()", "for mean, p in zip(args.means, model.parameters()):\n            mean.mul_(0.9).add_(p)\n"
     "        optimizer.step()"),
    ("optimizer.step()", "print(sum(p.norm().item() for p in model.parameters()))\n        optimizer.step()"),
    ("model(x).mean()", "importlib.import_module('losses.mine').loss(model, x)"),
])  # fmt: skip
def test_the_wrapper_waits_all_the_same(old, new):
    assert old in TRAIN
    assert reported(HEAD_MADE, train=TRAIN.replace(old, new))


@pytest.mark.parametrize("made", [
    "self.blocks = nn.ModuleList([Block(size) for _ in range(3)])",
    "self.blocks = nn.Sequential(nn.ReLU(), Block(size))",
])  # fmt: skip
def test_it_is_in_a_part_of_a_part(made):
    text = program(made, "    def forward(self, x): return self.body(self.blocks[0](x))\n")
    assert not SNIPPETS.findings(text)
    unused = text.replace("return self.inner(x)", "return x")
    (found,) = SNIPPETS.findings(unused)
    assert found.start.line == 9
    plain = "self.blocks = [Block(size)]"
    assert not SNIPPETS.findings(unused.replace(made, plain))


def test_a_base_makes_it():
    derived = FORWARD + "\nclass Small(Net):\n    def __init__(self, size):\n        {}\n"
    train = TRAIN.replace("Net(8)", "Small(8)")
    assert reported(HEAD_MADE, derived.format("super().__init__(size)"), train)
    assert reported(HEAD_MADE, derived.format("super(Small, self).__init__(size)"), train)
    assert reported(HEAD_MADE, derived.format("Net.__init__(self, size)"), train)
    assert not reported(HEAD_MADE, derived.format("nn.Module.go(self)"), train)
    assert not reported(HEAD_MADE, derived.format("nn.Module.__init__(self)"), train)
    assert not reported(HEAD_MADE, derived.format("super(Net, self).__init__()"), train)


PREPARED = """
def train(loader):
    accelerator = Accelerator()
    model = Net(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x in loader:
        accelerator.backward(model(x).mean())
        optimizer.step()
"""


def test_accelerate_wraps_it():
    assert reported(HEAD_MADE, train=PREPARED)
    options = "options = DistributedDataParallelKwargs(find_unused_parameters={})\n    accelerator = Accelerator("
    for told, expected in (("True", False), ("find", False), ("False", True)):
        told_so = PREPARED.replace("accelerator = Accelerator(", options.format(told) + "kwargs_handlers=[options]")
        assert reported(HEAD_MADE, train=told_so) is expected
        somehow = told_so.replace(f"find_unused_parameters={told}", "**config.ddp")
        assert not reported(HEAD_MADE, train=somehow)


TAUGHT = """
def train(model, loader):
    accelerator = Accelerator()
    teacher = Net(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    teacher, model, optimizer = accelerator.prepare(teacher, model, optimizer)
    teacher.eval()
    for x in loader:
        with torch.no_grad():
            wanted = teacher(x)
        accelerator.backward((model(x) - wanted).mean())
        optimizer.step()
"""


@pytest.mark.parametrize(("old", "new"), [
    ("with torch.no_grad():", "if True:"),
    ("optimizer.step()", "teacher(x).mean().backward()"),
    ("optimizer.step()", "step(teacher)"),
    ("optimizer.step()", "print(teacher.module)"),
])  # fmt: skip
def test_a_model_without_gradients_waits_for_none(old, new):
    assert not reported(HEAD_MADE, train=TAUGHT)
    assert old in TAUGHT
    assert reported(HEAD_MADE, train=TAUGHT.replace(old, new))


def test_a_model_whose_result_is_detached_waits_for_none():
    detached = TAUGHT.replace("with torch.no_grad():", "if True:")
    assert not reported(HEAD_MADE, train=detached.replace("teacher(x)", "teacher(x).detach()"))
    assert reported(HEAD_MADE, train=detached.replace("teacher(x)", "teacher(x).float()"))


def test_a_forward_without_gradients_waits_for_none():
    assert not reported(HEAD_MADE, "    @torch.no_grad()\n" + FORWARD)
    evaluating = PREPARED.replace(
        "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",
        "model = accelerator.prepare_model(model{})",
    )
    assert reported(HEAD_MADE, train=evaluating.format(""))
    assert not reported(HEAD_MADE, train=evaluating.format(", evaluation_mode=True"))


def test_a_program_without_an_optimizer_only_evaluates():
    evaluating = TRAIN.replace("torch.optim.SGD(model.parameters(), lr=0.1)", "args.steps")
    evaluating = evaluating.replace("optimizer", "steps") + "\nif __name__ == '__main__':\n    train()\n"
    assert not reported(HEAD_MADE, train=evaluating)
    assert reported(HEAD_MADE, train=evaluating.replace("args.steps", "make_optimizer(model)"))


def test_a_trainer_searches_for_unused_parameters():
    trainer = PREPARED.replace("def train(loader)", "def train(self, loader)").replace("    accel", "    _, accel")
    trainer = "from transformers import Trainer\n\nclass Own(Trainer):\n" + indent(trainer, "    ")
    trainer = trainer.replace("_, accelerator = Accelerator()", "accelerator = self.accelerator").replace("_, ", "")
    assert not reported(HEAD_MADE, train="\n" + trainer)
    assert reported(
        HEAD_MADE, train="\n" + trainer.replace("(Trainer)", "").replace("self.acc", "Accelerator() or self.acc")
    )


def test_it_says_so():
    (found,) = SNIPPETS.findings(program(HEAD_MADE))
    assert found.consequence is Consequence.CRASH
    assert found.message == (
        "nothing uses `self.head`, so its parameters get no gradient: on several GPUs DistributedDataParallel waits "
        "for these, and the second step raises RuntimeError"
    )
    assert [each.text for each in found.because] == [
        "the model is wrapped here, and waits for the gradients of all its parameters"
    ]
    assert found.fix is None or not found.fix.edits
    assert shown(program(HEAD_MADE), found) == "self.head"


LIGHTNING = """\
import torch
from torch import nn
from lightning import LightningModule, Trainer
from lightning.pytorch.strategies import DDPStrategy

class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def training_step(self, batch, index):
        return self.body(batch).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

def main(loader):
    trainer = Trainer(devices=4, strategy="ddp")
    trainer.fit(Net(), loader)
"""


@pytest.mark.parametrize("strategy", [
    '"ddp"',
    '"ddp_find_unused_parameters_false"',
    '"auto"',
    "DDPStrategy()",
    "DDPStrategy(find_unused_parameters=False)",
])  # fmt: skip
def test_lightning_wraps_it(strategy):
    assert SNIPPETS.findings(LIGHTNING.replace('"ddp"', strategy))


@pytest.mark.parametrize(("old", "new"), [
    ('"ddp"', '"ddp_find_unused_parameters_true"'),
    ('"ddp"', "DDPStrategy(find_unused_parameters=True)"),
    ('"ddp"', "DDPStrategy(static_graph=True)"),
    ('"ddp"', '"fsdp"'),
    ('"ddp"', "strategy"),
    ("devices=4", "devices=1"),
    ('devices=4, strategy="ddp"', "devices=1"),
    ('devices=4, strategy="ddp"', 'accelerator="cpu"'),
    ('devices=4, strategy="ddp"', "**options"),
    ("from lightning import", "from pytorch_lightning import"),  # which release is not known
    ("self.body(batch)", "self.head(self.body(batch))"),
])  # fmt: skip
def test_lightning_does_not_wait(old, new):
    assert SNIPPETS.findings(LIGHTNING)
    assert not SNIPPETS.findings(LIGHTNING.replace(old, new))


@pytest.mark.parametrize("options", [
    "devices=min(1, torch.cuda.device_count())",
    "devices=1 if torch.cuda.is_available() else None",
    'devices="0,"',
    'accelerator="cpu" if torch.backends.mps.is_available() else "mps"',
    "accelerator=CPUAccelerator()",
])  # fmt: skip
def test_lightning_is_told_of_one_device(options):
    assert not SNIPPETS.findings(LIGHTNING.replace('devices=4, strategy="ddp"', options))


@pytest.mark.parametrize(
    "options",
    ["", "devices=4", "devices=[1, 2], num_nodes=1", 'accelerator="gpu", devices=-1', 'devices="auto", num_nodes=2'],
)
def test_lightning_chooses_the_strategy(options):
    assert SNIPPETS.findings(LIGHTNING.replace('devices=4, strategy="ddp"', options))


def test_pytorch_lightning_waits_since_2():
    old = LIGHTNING.replace("from lightning import", "from pytorch_lightning import")
    assert SNIPPETS.findings(old.replace("devices=4", 'devices=4, precision="16-mixed"'))


GAN = """\
import torch
from torch import nn
from lightning import LightningModule, Trainer

class Gan(LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.critic = nn.Linear(8, 8), nn.Linear(8, 1)

    def training_step(self, batch, index):
        one, other = self.optimizers()
        self.toggle_optimizer(one)
        self.run(one, -self.critic(self.generator(batch)).mean())
        self.untoggle_optimizer(one)
        self.toggle_optimizer(other)
        self.run(other, self.critic(self.generator(batch).detach()).mean() - self.critic(batch).mean())
        self.untoggle_optimizer(other)

    def run(self, optimizer, loss):
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.generator.parameters()), torch.optim.Adam(self.critic.parameters())

def main(loader):
    trainer = Trainer(devices=4)
    trainer.fit(Gan(), loader)
"""


def test_a_step_trains_the_parameters_of_one_optimizer_at_a_time():
    (found,) = SNIPPETS.findings(GAN)
    assert shown(GAN, found) == "Trainer(devices=4)"
    assert found.message == (
        "a step of `Gan` trains the parameters of one optimizer at a time: on several GPUs DistributedDataParallel "
        "waits for the gradients of all, and the next backward pass raises RuntimeError"
    )
    assert [each.text for each in found.because] == ["the parameters of other optimizers are frozen here"]
    assert found.help == 'pass `strategy="ddp_find_unused_parameters_true"`'


@pytest.mark.parametrize(("old", "new"), [
    ("devices=4", "devices=1"),
    ("devices=4", 'devices=4, strategy="ddp_find_unused_parameters_true"'),
    ("self.manual_backward(loss)", "loss.backward()"),  # which sends nothing
    ("toggle_optimizer", "show"),
    ("self.toggle_optimizer(other)", "self.toggle_optimizer(one)"),
    ("self.generator.parameters()", "self.parameters()"),
    ("def configure_optimizers", "def configure"),
    ("loss)\n", "loss + 0 * sum(p.sum() for p in self.parameters()))\n"),
    ("        optimizer.zero", "        self.trainer.model.require_backward_grad_sync = True\n        optimizer.zero"),
    ("from lightning import", "from pytorch_lightning import"),  # which release is not known
])  # fmt: skip
def test_nothing_waits_for_the_others(old, new):
    assert old in GAN
    assert not SNIPPETS.findings(GAN.replace(old, new))


FROZEN = """\
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from nets import build

def unwrap(model):
    return model.module if isinstance(model, DDP) else model

def train(args, loader, rank):
    net = build(args).to(rank)
    if args.distributed:
        model = DDP(net, device_ids=[rank])
    else:
        model = net
    inner = unwrap(model)
    {}
    optimizer = optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
"""
LOOP = "for p in {}.parameters():\n        p.requires_grad = False"


@pytest.mark.parametrize("freezing", [
    LOOP.format("model.module.body"),
    LOOP.format("model.module.body.layers"),
    LOOP.format("inner.body"),
    "for p in inner.body.parameters():\n        p.requires_grad_(False)",
    "for name, p in inner.body.named_parameters():\n        p.requires_grad = False",
    "inner.body.requires_grad_(False)",
    "if args.frozen:\n        inner.body.requires_grad_(False)",
])  # fmt: skip
def test_a_part_is_frozen_late(freezing):
    (found,) = SNIPPETS.findings(FROZEN.format(freezing))
    part = "model.module.body" if "module" in freezing else "inner.body"
    assert shown(FROZEN.format(freezing), found).startswith(part)
    assert found.message.startswith(f"`{part}")
    assert "is frozen after the model was wrapped" in found.message


@pytest.mark.parametrize(("old", "new"), [
    ("inner.body.req", "inner.req"),
    ("inner.body", "other.body"),
    ("_(False)", "_(True)"),
    ("inner.body.requires_grad_(False)", "for p in inner.body.parameters():\n        p.requires_grad = args.trains"),
    ("inner.body.requires_grad_(False)", "inner.body.requires_grad_(False)\n    inner.body.requires_grad_(True)"),
    ("inner.body.requires_grad_(False)", "inner.body.requires_grad_(False)\n    unfreeze(inner)"),
    ("inner.body.requires_grad_(False)", "inner.body.requires_grad_(False)\n    model = DDP(inner)"),
    ("[rank])", "[rank], find_unused_parameters=True)"),
    ("[rank])", "[rank], **args.options)"),
    (".backward()", ".item()"),
    ("    if args.dist", "    for p in net.body.parameters():\n        p.requires_grad = False\n    if args.dist"),
    ("    if args.dist", "    net.body.requires_grad_(False)\n    if args.dist"),
    ("    if args.dist", "    for n, p in net.named_parameters():\n"
     "        p.requires_grad = 'body' not in n\n    if args.dist"),
    ("def train", "def lock(net):\n    net.body.requires_grad_(False)\n\ndef train"),
    ("model(x).mean()", "other(x).mean()"),
    ("    optimizer =", "    model = wrap(inner)\n    optimizer ="),
    ("    optimizer =", "    return\n    optimizer ="),
])  # fmt: skip
def test_nothing_waits_for_what_is_frozen(old, new):
    text = FROZEN.format("inner.body.requires_grad_(False)")
    assert SNIPPETS.findings(text)
    assert old in text
    assert not SNIPPETS.findings(text.replace(old, new))


LATER = "def lock(net):\n    net.body.requires_grad_(False)\n\n"


@pytest.mark.parametrize(("add", "expected"), [
    ("        lock(inner)\n", True),  # behind the wrapping, in the function that calls it
    ("        optimizer.lock(inner)\n", True),
    ("\ndef start(net):\n    lock(net)\n", False),
    ("", False),  # who calls it is not known
])  # fmt: skip
def test_what_freezes_only_later_freezes_nothing_before(add, expected):
    text = FROZEN.format("inner.body.requires_grad_(False)").replace("def train", LATER + "def train") + add
    assert bool(SNIPPETS.findings(text)) is expected


def test_what_is_named_before_a_model_is_wrapped_may_freeze_before():
    text = FROZEN.format("inner.body.requires_grad_(False)").replace("def train", LATER + "def train")
    text += "        lock(inner)\n"
    assert not SNIPPETS.findings(text.replace("    if args.dist", "    lock(net)\n    if args.dist"))
    again = text.replace("    if args.distributed:\n        model", "    for _ in args.folds:\n        model")
    assert not SNIPPETS.findings(again.replace("    else:\n        model = net\n", ""))


ENCODER = """\
from accelerate import Accelerator
from torch import nn, optim
from transformers import AutoModel, BertModel, BertPreTrainedModel, ElectraModel, ViTModel

class Scorer(nn.Module):
    def __init__(self, config, name):
        super().__init__()
        self.bert = BertModel(config)
        self.head = nn.Linear(8, 1)

    def forward(self, inputs, labels):
        outputs = self.bert(**inputs)
        return self.head(outputs.last_hidden_state)

def train(config, loader):
    accelerator = Accelerator()
    model = Scorer(config, "bert-base-uncased")
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, labels in loader:
        accelerator.backward(model(inputs, labels).mean())
        optimizer.step()
"""
MADE, RUN, READ = "BertModel(config)", "outputs = self.bert(**inputs)\n", "outputs.last_hidden_state"


@pytest.mark.parametrize(("old", "new"), [
    (MADE, "BertModel.from_pretrained(name)"),
    (MADE, "ViTModel.from_pretrained(name, output_attentions=True)"),
    (MADE, 'AutoModel.from_pretrained("bert-base-uncased")'),
    (MADE, 'AutoModel.from_pretrained("FacebookAI/roberta-large")'),
    (READ, "outputs[0]"),
    (READ, "outputs['last_hidden_state']"),
    (READ, "outputs.hidden_states[-1]"),
    (READ, "self.bert(**inputs)[0]"),
    ("nn.Module)", "BertPreTrainedModel)"),
    ("nn.Linear(8, 1)", "nn.Linear(self.bert.config.hidden_size, 1)"),
])  # fmt: skip
def test_a_pooler_is_unread(old, new):
    assert old in ENCODER
    (found,) = SNIPPETS.findings(ENCODER.replace(old, new))
    assert found.message.startswith("nothing uses what the pooler of `self.bert` makes, so its parameters get no grad")
    assert found.help.startswith("make it with `add_pooling_layer=False`, or")


@pytest.mark.parametrize(("old", "new"), [
    (MADE, "BertModel(config, add_pooling_layer=False)"),
    (MADE, "BertModel(config, False)"),
    (MADE, "BertModel.from_pretrained(name, add_pooling_layer=False)"),
    (MADE, "BertModel.from_pretrained(name, **config)"),
    (MADE, "AutoModel.from_pretrained(name)"),
    (MADE, 'AutoModel.from_pretrained("distilbert-base-uncased")'),
    (MADE, "ElectraModel(config)"),
    (READ, "outputs.pooler_output"),
    (READ, "outputs[1]"),
    (READ, "outputs[labels]"),
    (READ, "pick(outputs)"),
    (RUN, "outputs, pooled = self.bert(**inputs, return_dict=False)\n"),
    (RUN, RUN + "        self.seen = outputs\n"),
    (RUN, RUN + "        pool(self.bert)\n"),
    (RUN, RUN + "        for p in self.bert.parameters():\n            p.requires_grad = False\n"),
])  # fmt: skip
def test_a_pooler_may_be_read(old, new):
    assert old in ENCODER
    assert not SNIPPETS.findings(ENCODER.replace(old, new))
