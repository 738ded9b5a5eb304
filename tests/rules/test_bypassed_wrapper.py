"""TRL009: what it reports, its messages, and what it leaves alone."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, loop, shown, trainer

from trl_lint.findings import Applicability
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL009")
UNSAFE, DISPLAY = Applicability.UNSAFE, Applicability.DISPLAY


def hook(body: str, name: str = "compute_loss", parameters: str = "model, inputs") -> str:
    """A Trainer subclass with one method of this body."""
    return trainer(f"def {name}(self, {parameters}, *args, **kwargs):\n{indent(body, '    ')}\n")


def helped(call: str, helper: str, name: str = "compute_loss") -> str:
    """A Trainer subclass that calls its own helper."""
    body = f"def {name}(self, model, inputs, *args, **kwargs):\n    return {call}\n\n{helper}"
    return trainer(body)


UNWRAPPED = "unwrapped = self.accelerator.unwrap_model(model)\n"
GENERIC = "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"


def test_a_finding_says_what_where_why_and_how():
    text = hook(f"{UNWRAPPED}return unwrapped(**inputs).loss")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "unwrapped(**inputs)"
    assert (finding.code, finding.name) == ("TRL009", "bypassed-wrapper")
    assert finding.message == (
        "`unwrapped` is the module inside the wrapper, and is called where gradients are needed: "
        "DDP does not see this forward, and on several GPUs each rank trains its own model"
    )
    assert [step.text for step in finding.because] == [
        "`model` is the wrapped model",
        "`self.accelerator.unwrap_model(model)` is the module inside the wrapper",
    ]
    assert finding.help == "call the wrapped model instead"
    assert finding.fix is not None and finding.fix.applicability is UNSAFE


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (hook("return self.accelerator.unwrap_model(model)(**inputs).loss"), None),
        (hook("return self.model(**inputs).loss"), "self.model(**inputs)"),
        (hook("return self.model(**inputs).loss", "training_step"), "self.model(**inputs)"),
        (hook("return model.module(**inputs).loss"), "model.module(**inputs)"),
        (hook(f"{UNWRAPPED}return unwrapped.forward(**inputs).loss"), "unwrapped.forward(**inputs)"),
        (hook(f"{UNWRAPPED}return unwrapped.model(**inputs)[0].mean()"), "unwrapped.model(**inputs)"),
        (hook(f"{UNWRAPPED}return unwrapped.get_decoder()(**inputs)[0].mean()"), "unwrapped.get_decoder()(**inputs)"),
        (
            hook(f"{UNWRAPPED}part = getattr(unwrapped, unwrapped.base_model_prefix)\nreturn part(**inputs)[0].mean()"),
            "part(**inputs)",
        ),
        (
            hook(
                f"{UNWRAPPED}name = getattr(unwrapped, 'base_model_prefix', 'model')\n"
                "part = getattr(unwrapped, name, unwrapped)\nreturn part(**inputs)[0].mean()"
            ),
            "part(**inputs)",
        ),
        (
            hook(
                f"{UNWRAPPED}if hasattr(unwrapped, 'get_decoder'):\n    part = unwrapped.get_decoder()\n"
                "else:\n    part = unwrapped.model\nreturn part(**inputs)[0].mean()"
            ),
            "part(**inputs)",
        ),
        (
            helped("self.loss_of(self.accelerator.unwrap_model(model), inputs)",
                   "def loss_of(self, module, inputs):\n    return module(**inputs).loss"),
            "module(**inputs)",
        ),
        (
            helped("self.bare(model)(**inputs).loss",
                   "def bare(self, model):\n    return self.accelerator.unwrap_model(model)"),
            "self.bare(model)(**inputs)",
        ),
        (
            helped("self.loss_of(model, inputs)",
                   "def loss_of(self, wrapped, inputs):\n    return wrapped.module(**inputs).loss", "training_step"),
            "wrapped.module(**inputs)",
        ),
        (loop("model = model.module\nout = model(**batch).loss\naccelerator.backward(out)"), "model(**batch)"),
        (
            loop("unwrapped = accelerator.unwrap_model(model)\nout = unwrapped(**batch).loss\nout.backward()"),
            "unwrapped(**batch)",
        ),
        (
            GENERIC + "def train(net, loader):\n    net = DDP(net)\n    for batch in loader:\n"
            "        net.module(batch).sum().backward()\n",
            "net.module(batch)",
        ),
        (
            GENERIC + "def train(loader):\n    net = torch.nn.Linear(2, 2)\n    ddp = DDP(net)\n"
            "    for batch in loader:\n        loss = ddp.module(batch).sum()\n        step(loss)\n\n"
            "def step(loss):\n    loss.backward()\n",
            "ddp.module(batch)",
        ),
        (
            loop("images = model.module.get_image_features(batch['x'])\naccelerator.backward(images.sum())"),
            "model.module.get_image_features(batch['x'])",
        ),
    ],
)  # fmt: skip
def test_forwards_that_no_wrapper_sees(text, where):
    finding = SNIPPETS.finding(text)
    if where is not None:
        assert shown(text, finding) == where


@pytest.mark.parametrize(
    ("arms", "calls"),
    [
        ("out = self.model(**inputs)", ["self.model(**inputs)"]),
        (
            "if self.args.whole:\n    out = self.model(**inputs)\nelse:\n    out = self.model.base_model(**inputs)",
            ["self.model(**inputs)", "self.model.base_model(**inputs)"],
        ),
        (
            "if self.args.whole:\n    out = self.model(**inputs)\nelse:\n    out = model(**inputs)",
            ["self.model(**inputs)"],
        ),
        # Its result is discarded.
        ("out = self.model(**inputs)\nout = model(**inputs)", []),
        ("if self.args.twice:\n    out = self.model(**inputs)\nout = model(**inputs)", []),
    ],
)
def test_each_arm_of_a_condition_may_be_the_one_that_is_trained_with(arms, calls):
    text = hook(f"{arms}\nreturn out.loss")
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == calls


def test_a_model_that_is_wrapped_under_another_name():
    text = (
        f"{GENERIC}from transformers import AutoModel\n"
        "def train(loader):\n    net = AutoModel.from_pretrained('x')\n    ddp = DDP(net)\n"
        "    for batch in loader:\n        net(batch).loss.backward()\n"
    )
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "net(batch)"
    assert finding.because[-1].text == "it is wrapped here, under another name"


@pytest.mark.parametrize("made", ["torch.nn.Linear(3, 1)", "torch.nn.Sequential(torch.nn.Linear(3, 1)).to('cuda')"])
def test_a_layer_of_torch_is_a_model(made):
    text = (
        f"{GENERIC}def train(loader):\n    net = {made}\n    ddp = DDP(net)\n"
        "    for x, y in loader:\n        (net(x) - y).mean().backward()\n"
    )
    assert shown(text, SNIPPETS.finding(text)) == "net(x)"


@pytest.mark.parametrize(
    ("before", "after", "is_found"),
    [
        ("", "if bad > 3:\n            break", True),
        ("", "if dist.get_rank() != 0:\n            return", True),
        ("if dist.get_rank() != 0:\n            return", "", False),
        ("if dist.get_rank() != 0:\n            continue", "", False),
    ],
)
def test_ranks_that_leave_in_a_later_round_have_trained(before, after, is_found):
    text = f"""{GENERIC}import torch.distributed as dist
def train(loader):
    dist.init_process_group("nccl")
    net = torch.nn.Linear(3, 1)
    ddp, bad = DDP(net), 0
    for x, y in loader:
        {before}
        (net(x) - y).mean().backward()
        if dist.get_rank() == 0:
            bad += 1
        {after}
"""
    assert bool(SNIPPETS.findings(text)) is is_found


def test_a_method_of_the_module_that_runs_a_part_of_it():
    text = (
        f"{GENERIC}"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.body = torch.nn.Linear(2, 2)\n"
        "    def features(self, x):\n        return self.body(x)\n"
        "    def size(self):\n        return 2\n"
        "def train(loader):\n    net = DDP(Net())\n    for batch in loader:\n"
        "        net.module.size()\n        net.module.features(batch).sum().backward()\n"
    )
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "net.module.features(batch)"
    assert finding.message.startswith(
        "`net.module.features` belongs to `net.module`, the module inside the wrapper, and is called"
    )


@pytest.mark.parametrize(
    "text",
    [
        hook("return model(**inputs).loss"),
        hook("return model.forward(**inputs).loss"),
        # No gradients.
        hook(f"{UNWRAPPED}with torch.no_grad():\n    unwrapped(**inputs)\nreturn model(**inputs).loss"),
        hook(f"{UNWRAPPED}with torch.inference_mode():\n    x = unwrapped(**inputs)\nreturn model(**inputs).loss + x"),
        hook(f"{UNWRAPPED}with torch.set_grad_enabled(False):\n    x = unwrapped(**inputs)\nreturn x"),
        hook(f"{UNWRAPPED}torch.set_grad_enabled(False)\nx = unwrapped(**inputs)\nreturn x"),
        hook(f"{UNWRAPPED}off = torch.no_grad()\nwith off:\n    x = unwrapped(**inputs)\nreturn x"),
        hook(
            f"from contextlib import nullcontext\n{UNWRAPPED}"
            "with torch.no_grad() if self.args.x else nullcontext():\n    y = unwrapped(**inputs)\nreturn y"
        ),
        helped("self.look(self.accelerator.unwrap_model(model), inputs)",
               "@torch.no_grad()\ndef look(self, module, inputs):\n    return module(**inputs)"),
        helped("self.all(self.accelerator.unwrap_model(model), inputs)",
               "@torch.no_grad()\ndef all(self, module, inputs):\n    return self.one(module, inputs)\n\n"
               "def one(self, module, inputs):\n    return module(**inputs)"),
        trainer(
            "from contextlib import contextmanager\n\n"
            "@contextmanager\ndef quiet(self):\n    with torch.no_grad():\n        yield\n\n"
            "def compute_loss(self, model, inputs):\n    with self.quiet():\n        x = self.model(**inputs)\n"
            "    return model(**inputs).loss + x"
        ),
        hook(f"{UNWRAPPED}with unwrapped.disable_adapter():\n    x = unwrapped(**inputs)\nreturn x"),
        # Another model than the trained one.
        hook("return model(**inputs).loss + self.ref_model(**inputs).logits.mean()"),
        hook("import copy\nold = copy.deepcopy(self.accelerator.unwrap_model(model))\nreturn old(**inputs).loss"),
        hook("self.model.eval()\nx = self.model(**inputs)\nreturn x") and hook(
            f"{UNWRAPPED}unwrapped.eval()\nx = unwrapped(**inputs)\nunwrapped.train()\nreturn model(**inputs).loss + x"
        ),
        # Not a training step.
        hook("return self.model(**inputs)", "prediction_step"),
        hook("return self.model(**inputs)", "evaluation_loop", "loader, inputs"),
        hook("return self.model(**inputs)", "somebody_calls_this"),
        loop("") + "\ndef evaluate(accelerator, model, loader):\n    model = accelerator.prepare(model)\n"
        "    for batch in loader:\n        print(accelerator.unwrap_model(model)(**batch).loss)\n",
        # No forward pass.
        hook(f"{UNWRAPPED}print(unwrapped.config, unwrapped.get_decoder())\nreturn model(**inputs).loss"),
        hook(f"{UNWRAPPED}unwrapped.set_adapter('x')\nunwrapped.generate(**inputs)\nreturn model(**inputs).loss"),
        # Not known to be inside a wrapper, or in one that synchronises nothing.
        hook("return self.accelerator.unwrap_model(inputs['model'])(**inputs).loss"),
        "import torch\ndef train(net, loader):\n    net = torch.nn.DataParallel(net)\n    for batch in loader:\n"
        "        net.module(batch).sum().backward()\n",
        # Under engines with their own wrappers.
        hook(f"{UNWRAPPED}if self.is_deepspeed_enabled:\n    return unwrapped(**inputs).loss\nreturn model(**inputs)"),
        # Inside the wrapper's forward.
        trainer(
            "def compute_loss(self, model, inputs):\n    bare = self.accelerator.unwrap_model(model)\n"
            "    return self._forward_redirection(model, bare, self.inner, bare, inputs)\n\n"
            "def inner(self, module, inputs):\n    return module.model(**inputs).loss"
        ),
        # Its result is not used.
        hook(f"{UNWRAPPED}unwrapped(**inputs)\nreturn model(**inputs).loss"),
        hook(f"{UNWRAPPED}out = unwrapped(**inputs)\nout = model(**inputs)\nreturn out.loss"),
    ],
)  # fmt: skip
def test_right_code_is_left_alone(text):
    assert SNIPPETS.findings(text) == []


@pytest.mark.parametrize(
    ("redirected", "speaks"),
    [("self.redirect(model, bare, self.inner, bare, inputs)", False), ("self.inner(bare, inputs)", True)],
)
def test_what_the_wrappers_forward_runs_is_right(redirected, speaks):
    text = "from trl.models.utils import _ForwardRedirection\n" + trainer(
        "def __init__(self, *args):\n    super().__init__(*args)\n    self.redirect = _ForwardRedirection()\n\n"
        "def compute_loss(self, model, inputs):\n    bare = self.accelerator.unwrap_model(model)\n"
        f"    return {redirected}\n\n"
        "def inner(self, module, inputs):\n    return module.model(**inputs).loss"
    )
    snippets = Snippets("TRL009", Settings(target_trl="1.5.0"))
    assert bool(snippets.findings(text)) is speaks


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The name of the inner module is removed if nothing needs it any more, and otherwise kept.
        (f"{UNWRAPPED}return unwrapped(**inputs).loss", "return model(**inputs).loss"),
        (
            f"{UNWRAPPED}print(unwrapped.config)\nreturn unwrapped(**inputs).loss",
            f"{UNWRAPPED}print(unwrapped.config)\nreturn model(**inputs).loss",
        ),
        (
            f"{UNWRAPPED}both = unwrapped(**inputs).loss + unwrapped.forward(**inputs).loss\nreturn both",
            "both = model(**inputs).loss + model(**inputs).loss\nreturn both",
        ),
        (
            f"{UNWRAPPED}with torch.no_grad():\n    unwrapped(**inputs)\nreturn unwrapped(**inputs).loss",
            f"{UNWRAPPED}with torch.no_grad():\n    unwrapped(**inputs)\nreturn model(**inputs).loss",
        ),
        ("return self.accelerator.unwrap_model(model)(**inputs).loss", "return model(**inputs).loss"),
        ("return model.module(**inputs).loss", "return model(**inputs).loss"),
        ("return model.module.forward(**inputs).loss", "return model(**inputs).loss"),
        ("return self.model(  # bare\n    **inputs\n).loss", "return model(  # bare\n    **inputs\n).loss"),
    ],
)
def test_the_fix_calls_the_wrapped_model(before, after):
    assert SNIPPETS.mended(hook(before)) == hook(before)  # never a safe fix: it changes what is trained
    assert SNIPPETS.mended(hook(before), unsafe=True) == hook(after)


ACCELERATED = "from accelerate import Accelerator\naccelerator = Accelerator()\n"
FABRIC = "from lightning.fabric import Fabric\naccelerator = Fabric(devices=2, strategy='ddp')\n"
SCRIPT = """\
import torch
from torch import nn
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters())
net, optimizer = accelerator.prepare(net, optimizer)
for step in range(3):
    loss = net(torch.randn(3, 3)).mean()
    accelerator.backward(loss)
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "wraps", "called", "before"),
    [
        (ACCELERATED, "prepare", "accelerator.unwrap_model(net)", ""),
        (ACCELERATED, "prepare", "net.module", ""),
        (ACCELERATED, "prepare", "inner", "inner = net.module\n"),
        (FABRIC, "setup", "net.module", ""),
    ],
)
def test_a_wrapped_model_that_keeps_the_name_of_the_bare_one(made: str, wraps: str, called: str, before: str):
    fixed = made + SCRIPT.replace("prepare", wraps).replace("for step", f"{before}for step")
    text = fixed.replace("loss = net(", f"loss = {called}(")
    assert SNIPPETS.mended(text) == text
    assert SNIPPETS.mended(text, unsafe=True) == fixed


@pytest.mark.parametrize(
    ("made", "speaks"),
    [
        (FABRIC, True),
        (FABRIC.replace("ddp", "fsdp"), False),
        (FABRIC.replace(", strategy='ddp'", ""), False),
    ],
)
def test_a_bare_model_that_is_called_though_the_one_of_fabric_has_another_name(made, speaks):
    text = made + SCRIPT.replace("net, optimizer = accelerator.prepare(", "model, optimizer = accelerator.setup(")
    assert len(SNIPPETS.findings(text)) == speaks
    assert SNIPPETS.findings(text.replace("loss = net(", "loss = model(")) == []
    assert SNIPPETS.findings(text.replace("loss = net(", "loss = optimizer(")) == []


def test_a_name_that_means_another_model_once_its_module_was_taken():
    later = "inner = net.module\nnet = accelerator.prepare(nn.Linear(3, 3))\nfor step"
    text = ACCELERATED + SCRIPT.replace("for step", later).replace("loss = net(", "loss = inner(")
    assert len(SNIPPETS.findings(text)) == 1
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_the_fix_calls_the_wrapped_model_of_an_attribute():
    fixed = (
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "class Runner:\n"
        "    def __init__(self, net):\n        self.model = DDP(net)\n"
        "        self.optimizer = torch.optim.SGD(self.model.parameters())\n"
        "    def step(self, batch):\n        loss = self.model(batch).mean()\n        loss.backward()\n"
        "        self.optimizer.step()\n"
    )
    text = fixed.replace("= self.model(batch)", "= self.model.module(batch)")
    assert SNIPPETS.mended(text, unsafe=True) == fixed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            loop("model = model.module\nout = model(**batch).loss\naccelerator.backward(out)"),
            "the wrapped model has no name",
        ),
        (hook(f"{UNWRAPPED}return unwrapped.get_decoder()(**inputs)[0].mean()"), "a part of the model is called"),
        (hook(f"{UNWRAPPED}return unwrapped.model(**inputs)[0].mean()"), "a part of the model is called"),
        (
            hook("if inputs['x'].any():\n    return self.model(**inputs).loss\nreturn model(**inputs)"),
            "some ranks may not get here",
        ),
    ],
)
def test_a_hint_says_why(text, reason):
    finding = SNIPPETS.finding(text)
    assert finding.fix is not None
    assert finding.fix.applicability is DISPLAY
    assert finding.fix.reason.startswith(reason)
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_a_script_without_functions_is_mended_as_well():
    text = (
        "from accelerate import Accelerator\n\naccelerator = Accelerator()\n"
        "model, optimizer, loader = accelerator.prepare(build(), optimizer_of(), loader_of())\n"
        "bare = accelerator.unwrap_model(model)\n"
        "for batch in loader:\n    accelerator.backward(bare(**batch).loss)\n    optimizer.step()\n"
    )
    assert shown(text, SNIPPETS.finding(text)) == "bare(**batch)"
    assert SNIPPETS.mended(text, unsafe=True) == text.replace("bare(**batch)", "model(**batch)")  # one unwraps models


@pytest.mark.parametrize(
    ("each", "speaks"),
    [
        ("dist.all_reduce(p.grad)", False),
        ("dist.all_reduce(p.grad.data, op=dist.ReduceOp.AVG)", False),
        (
            "grad = p.grad\n        total[n] = total[n] + grad.float() if n in total else grad\n"
            "        dist.all_reduce(total[n])",
            False,
        ),
        ("dist.all_reduce(p.grad.norm())", True),
        ("norm = p.grad.norm()\n        dist.all_reduce(norm)", True),
        ("dist.broadcast(p.data, 0)", True),
        ("p.grad.clamp_(-1, 1)", True),
    ],
)
def test_gradients_that_are_reduced_by_hand_need_no_wrapper(each, speaks):
    text = f"""{GENERIC}import torch.distributed as dist

def step(net, batch, total):
    model = DDP(net)
    model.module(batch).sum().backward()
    for n, p in model.named_parameters():
        {each}
"""
    assert len(SNIPPETS.findings(text)) == speaks


@pytest.mark.parametrize(
    ("before", "after", "speaks"),
    [
        ("net.zero_grad()", "seen[n] = p.grad.pow(2)", False),
        ("net.zero_grad()", "optimizer.step()", True),
        ("net.zero_grad()", "p.grad.clamp_(-1, 1)\n    optimizer.step()", True),
        # Gradients accumulate: they may be for a step elsewhere.
        ("net.train()", "seen[n] = p.grad.pow(2)", True),
        ("net.zero_grad()", "seen[n] = p.data.pow(2)", True),
    ],
)
def test_gradients_that_nothing_is_trained_with_need_no_wrapper(before, after, speaks):
    text = f"""{GENERIC}
def look(net, batches, seen, optimizer):
    model = DDP(net)
    for batch in batches:
        {before}
        model.module(batch).sum().backward()
        for n, p in net.named_parameters():
            {after}
"""
    assert len(SNIPPETS.findings(text)) == speaks


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({}, True),
        ({"run.sh": "accelerate launch --use_deepspeed train.py\n"}, False),
        ({"ds.json": '{"zero_optimization": {"stage": 2}}'}, False),
        # It may also be started without it.
        ({"ds.json": '{"zero_optimization": {"stage": 2}}', "run.sh": "torchrun train.py\n"}, True),
        ({"run.sh": "accelerate launch --use_fsdp train.py\n"}, True),
    ],
)
def test_deepspeed_reduces_gradients_of_what_goes_past_it(files, by_default, tmp_path):
    text = loop("accelerator.backward(accelerator.unwrap_model(model)(**batch).loss)")
    for name, content in {"train.py": text, **files}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL009"),))
    (finding,) = linter.check(tmp_path / "train.py", text.encode())
    assert finding.by_default is by_default


ATTACKED = """import torch
from attacks import Attack, Average
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def attack(adversary, inputs, labels):
    return adversary.perturb(inputs, labels).detach()


class Runner:
    def __init__(self, model, loader, optimizer, attacker, average):
        self.model = model
        self.loader = loader
        self.optimizer = optimizer
        self.attacker = attacker
        self.average = average

    def run(self):
        for inputs, labels in self.loader:
            {before}
            loss = nn.functional.cross_entropy(self.model.module(inputs), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main(data, net):
    model = DDP(net)
    loader = torch.utils.data.DataLoader(data, sampler=torch.utils.data.DistributedSampler(data))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Runner(model, loader, optimizer, Attack(model, eps=0.1), Average(net)).run()
"""


@pytest.mark.parametrize(
    ("before", "by_default"),
    [
        ("pass", True),
        ("inputs = attack(self.attacker, inputs, labels)", False),
        ("inputs = self.attacker.perturb(inputs)", False),
        ("inputs = self.attacker(inputs)", False),
        # It is given nothing that the wrapper could be run on, or keeps no gradients, and so does not prepare anything.
        ("self.attacker.count()", True),
        ("with torch.no_grad():\n                inputs = self.attacker(inputs)", True),
        # This one has no wrapper.
        ("inputs = self.average(inputs)", True),
    ],
)
def test_what_was_made_with_the_wrapper_may_run_it(before, by_default):
    assert SNIPPETS.finding(ATTACKED.format(before=before)).by_default is by_default


# --- wrappers whose result is discarded -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("DDP(net, device_ids=[0])", ["DDP(net, device_ids=[0])"]),
        ("if args.spread:\n    DDP(net)", ["DDP(net)"]),
        ("net = DDP(net)", []),
        ("return DDP(net)", []),
        ("train(DDP(net))", []),
        ("torch.nn.DataParallel(net)", []),  # one process: nothing has to be averaged
        # The weights of a frozen model are sent to the other ranks: DDP needs a parameter to train.
        ("weight = next(net.parameters())\nweight.requires_grad = True\nDDP(net)\nweight.requires_grad = False", []),
        ("weight = next(net.parameters())\nweight.requires_grad = False\nDDP(net)", ["DDP(net)"]),
    ],
)
def test_a_wrapper_that_is_thrown_away(statement, where):
    text = "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\ndef built(net, args):\n"
    text += indent(f"{statement}\nreturn net\n", "    ")
    findings = SNIPPETS.findings(text)
    assert [shown(text, each) for each in findings] == where
    assert all(each.message.startswith("the wrapper is created and discarded") for each in findings)
    assert all(each.fix is None or each.fix.applicability is Applicability.DISPLAY for each in findings)


NEVER_READ = """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, device):
        self.model = model.to(device)

    def setup(self):
        WRAP

    def train(self, loader):
        for batch in loader:
            self.loss_of(batch).backward()
            self.optimizer.step()

    def loss_of(self, batch):
        return CALL(batch).mean()


class Counting(Trainer):
    def reset(self):
        RESET
"""


@pytest.mark.parametrize(
    ("wrap", "call", "reset", "where"),
    [
        ("self.ddp = DDP(self.model)", "self.model", "pass", ["DDP(self.model)"]),
        ("self.ddp = DDP(module=self.model)", "self.model", "self.ddp = None", ["DDP(module=self.model)"]),
        ("self.ddp = DDP(self.model.cuda())", "self.model", "return self.ddp.no_sync()", ["DDP(self.model.cuda())"]),
        ("self.ddp = DDP(self.model)", "self.model", "return self.ddp.module.state_dict()", ["DDP(self.model)"]),
        ("net = make()\n        self.model = net\n        self.ddp = DDP(net)", "self.model", "pass", ["DDP(net)"]),
        ("net = make()\n        self.ddp = DDP(net)\n        self.model = self.ddp", "self.model", "pass", []),
        ("net = make()\n        self.ddp = DDP(net)\n        self.model = net", "self.model", "pass", []),
        ("self.ddp = DDP(self.model)", "self.model", "return self.ddp.forward(3)", []),
        ("self.ddp = DDP(self.model)", "self.model", "return self.ddp.to('cuda')", []),
        ("self.ddp = DDP(self.model)", "self.ddp", "pass", []),
        ("self.ddp = DDP(self.model)", "self.model", "self.model = self.ddp", []),
        ("self.ddp = DDP(self.model)", "self.model", "return getattr(self, 'ddp')", []),
        ("self.ddp = DDP(self.model)", "self.encoder", "pass", []),  # the model may be frozen
        ("self.model = DDP(self.model)", "self.model", "pass", []),
        ("self.ddp = torch.nn.DataParallel(self.model)", "self.model", "pass", []),
    ],
)
def test_a_wrapper_in_an_attribute_that_nothing_calls(wrap, call, reset, where):
    text = NEVER_READ.replace("WRAP", wrap).replace("CALL", call).replace("RESET", reset)
    findings = SNIPPETS.findings(text)
    assert [shown(text, each) for each in findings] == where
    assert all(each.message.startswith("the wrapper is kept in `self.ddp`, which nothing calls") for each in findings)


@pytest.mark.parametrize(
    ("body", "statement", "where"),
    [
        ("return DDP(model)", "wrapped(net)", ["wrapped(net)"]),
        ("model = model.cuda()\nmodel = DDP(model)\nreturn model", "wrapped(net)", ["wrapped(net)"]),
        ("if torch.cuda.is_available():\n    model = DDP(model)\nelse:\n    model = model.cpu()\nreturn model, both",
         "wrapped(net)", ["wrapped(net)"]),
        ("return DDP(model)", "wrapped(model=net)", ["wrapped(model=net)"]),
        ("return DDP(model)", "wrapped(None)", []),
        ("return DDP(model)", "wrapped(net)\nnet = torch.nn.Linear(2, 2)", ["wrapped(net)"]),
        ("return DDP(model)", "other = net\nwrapped(other)", []),  # nobody reads it afterwards
        ("return DDP(model)", "net = wrapped(net)", []),
        ("return DDP(model)", "train(wrapped(net))", []),
        ("model = DDP(model)\nmodels.append(model)\nreturn model", "wrapped(net)", []),
        ("model = DDP(model)\nboth.model = model\nreturn model", "wrapped(net)", []),
        ("both.model = DDP(model)\nreturn model", "wrapped(net)", []),
        ("return torch.nn.DataParallel(model)", "wrapped(net)", []),
        ("inner = DDP(torch.nn.Linear(2, 2))\nreturn inner", "wrapped(net)", []),  # may be a check that it works
    ],
)  # fmt: skip
def test_a_wrapper_that_a_function_returns_is_thrown_away(body, statement, where):
    text = "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\nmodels = []\n\n"
    text += f"def wrapped(model, both=None):\n{indent(body, '    ')}\n\ndef built(net):\n"
    text += indent(f"{statement}\nreturn net\n", "    ")
    findings = SNIPPETS.findings(text)
    assert [shown(text, each) for each in findings] == where
    assert all(each.message.startswith("the wrapper is created and discarded") for each in findings)


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("net, optimizer = accelerator.prepare([net, optimizer])", ["accelerator.prepare([net, optimizer])"]),
        ("things = (net, optimizer)\nnet, optimizer = accelerator.prepare(things)", ["accelerator.prepare(things)"]),
        ("things = [net]\nthings += list(loaders.values())\nnet = accelerator.prepare(things)[0]",
         ["accelerator.prepare(things)"]),
        ("net, optimizer = accelerator.prepare(*[net, optimizer])", []),
        ("net, optimizer = accelerator.prepare(*(net, optimizer))", []),
        ("things = make(net)\nnet = accelerator.prepare(things)", []),  # it may be a model
        ("net, _ = accelerator.prepare(net, [optimizer])", []),
        ("frozen = [torch.nn.Linear(3, 4).requires_grad_(False)]\nfrozen = accelerator.prepare(frozen)", []),
        ("sizes = accelerator.prepare([3, 4])", []),
    ],
)  # fmt: skip
def test_a_list_that_prepare_gives_back_as_it_is(statement, where):
    text = "import torch\nfrom accelerate import Accelerator\n\ndef built(net, optimizer, loaders):\n"
    text += indent(f"accelerator = Accelerator()\n{statement}\nreturn net\n", "    ")
    findings = SNIPPETS.findings(text)
    assert [shown(text, each) for each in findings] == where
    assert all(each.message.startswith("`prepare` returns a list unchanged") for each in findings)


def test_a_test_may_wrap_a_model_for_the_error_that_it_raises(tmp_path):
    text = (
        "import pytest\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\n"
        "def test_it_has_parameters(model):\n    with pytest.raises(RuntimeError):\n        DDP(model)\n"
    )
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL009"),))
    assert not linter.check(tmp_path / "test_ddp.py", text.encode())
    assert linter.check(tmp_path / "ddp.py", text.encode())


LOOP = """\
from accelerate import Accelerator


def main(models):
    accelerator = Accelerator()
    kept = []
    for index, model in enumerate(models):
        model.train()
        {}
"""


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("model = accelerator.prepare(model)", True),
        ("if model.trained:\n    model = accelerator.prepare(model)\nelse:\n    model.requires_grad_(False)", True),
        ("model = accelerator.prepare(model)\nkept.append(model)", False),
        ("models[index] = accelerator.prepare(model)", False),
        ("model.requires_grad_(False)\nmodel = accelerator.prepare(model)", False),
        ("loader = accelerator.prepare(model.loader)", False),
        ("other = accelerator.prepare(model)", False),
    ],
)
def test_what_a_loop_keeps_in_its_own_variable_is_lost(body, is_reported):
    text = LOOP.format(body.replace("\n", "\n        "))
    findings = SNIPPETS.findings(text)
    assert [shown(text, each) for each in findings] == (["accelerator.prepare(model)"] if is_reported else [])
    assert all("in place of the bare model" in each.help for each in findings)


def test_the_last_of_a_loop_may_be_asked_for_behind_it():
    text = LOOP.format("model = accelerator.prepare(model)") + "    return model\n"
    assert SNIPPETS.findings(text) == []


WRAPPED_IN_LOOP = """\
from torch.nn.parallel import DistributedDataParallel as DDP


def main(nets, several, device):
    kept = []
    for key, net in nets.items():
        net.to(device)
    if several:
        for key, net in nets.items():
            {}
    elif device:
        for key, net in nets.items():
            net = net.half()
    for net in nets.values():
        net.train()
"""


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ("net = DDP(net, device_ids=[device])", ["DDP(net, device_ids=[device])"]),
        ("net = DDP(module=net.to(device))", ["DDP(module=net.to(device))"]),
        ("net = DDP(net)\nnets[key] = net", []),
        ("nets[key] = DDP(net)", []),
        ("net = DDP(net)\nfor batch in kept:\n    net(batch).sum().backward()", []),
        ("net = DDP(net.trunk)", []),  # perhaps for what it does to that part
        ("net = DDP(key)", []),
        ("kept += [DDP(net)]", []),
    ],
)
def test_what_wraps_each_of_several_models_is_kept_in_their_place(body, reported):
    text = WRAPPED_IN_LOOP.format(body.replace("\n", "\n            "))
    findings = SNIPPETS.findings(text)
    assert [shown(text, each) for each in findings] == reported
    assert all("`models[index] = DDP(model)`" in each.help for each in findings)


def test_the_last_wrapper_of_a_loop_may_be_called_in_another_loop_or_behind_it():
    text = WRAPPED_IN_LOOP.format("net = DDP(net)")
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(text.replace("net in nets.values():\n        net", "batch in kept:\n        net"))
    assert not SNIPPETS.findings(text.replace("nets.values()", "net.values()"))
    assert not SNIPPETS.findings(text + "    return net\n")


@pytest.mark.parametrize(("made", "is_reported"), [("accelerator = made()", True), ("table = made()", False)])
def test_an_accelerator_from_a_configuration_is_known_by_its_name(made, is_reported):
    text = LOOP.replace("accelerator = Accelerator()", made).format("model = it.prepare(model)")
    assert bool(SNIPPETS.findings(text.replace("it.", made.partition(" ")[0] + "."))) is is_reported


@pytest.mark.parametrize(
    ("called", "is_reported"),
    [("cast(nn.Module, self.net.module)", True), ("self.net.module", True), ("cast(nn.Module, self.net)", False)],
)
def test_what_is_said_to_a_type_checker_changes_no_model(called, is_reported):
    text = f"""\
from typing import cast

from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Pipeline:
    def __init__(self, rank):
        self.net = cast(nn.Module, DistributedDataParallel(nn.Linear(2, 2), device_ids=[rank]))

    def step(self, batch):
        loss = {called}(batch).mean()
        loss.backward()
        return loss
"""
    assert bool(SNIPPETS.findings(text)) is is_reported


OUT_OF_SIGHT = """\
import torch
from transformers.modeling_utils import unwrap_model
from torch.nn.parallel import DistributedDataParallel as DDP


class Loop:
    def __init__(self, config, make):
        self.config = config
        self.model = make(config).cuda()
        {wrap}
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self, loader):
        for step, batch in enumerate(loader):
            if batch is None:
                continue
            {step}
            self.optimizer.step()

    def losses(self, batch):
        return self.model.module.losses(batch)["all"]

    def evaluate(self, batch):
        {other}
"""
WRAPS = "self.model = DDP(self.model)"
ON_ONE_WAY = "if config.ddp: self.model = DDP(self.model)"


@pytest.mark.parametrize(
    ("wrap", "step", "other", "speaks"),
    [
        (WRAPS, "loss = self.model.module.losses(batch)['all']\nloss.backward()", "pass", True),
        (WRAPS, "parts = self.model.module.losses(batch)\nsum(parts.values()).backward()", "pass", True),
        (WRAPS, "loss = self.model.module.losses(batch)\nself.scaler.scale(loss).backward()", "pass", True),
        (WRAPS, "loss = self.losses(batch)\nloss.backward()", "pass", True),
        (WRAPS, "net = self.model.module\nloss = net.losses(batch)\nloss.backward()", "pass", True),
        (WRAPS, "loss = unwrap_model(self.model).losses(batch)\nloss.backward()", "pass", True),
        (ON_ONE_WAY, "loss = self.model.module.losses(batch)\nloss.backward()", "pass", True),
        (
            ON_ONE_WAY,
            "if self.config.ddp:\n    loss = self.model.module.losses(batch)\n"
            "else:\n    loss = self.model.losses(batch)\nloss.backward()",
            "pass",
            True,
        ),
        # Nothing is trained with it, or the wrapper is called.
        (WRAPS, "loss = self.model.module.losses(batch)\nprint(loss)", "pass", False),
        (WRAPS, "out = self.model(batch)\nloss = self.model.module.losses(out)\nloss.backward()", "pass", False),
        (WRAPS, "loss = self.model.module.losses(batch)\nloss.backward()", "return self.model(batch)", False),
        (WRAPS, "loss = other.module.losses(batch)\nloss.backward()", "pass", False),
    ],
)
def test_a_method_of_a_model_out_of_sight_is_all_there_is_of_a_forward(wrap, step, other, speaks):
    text = OUT_OF_SIGHT.format(wrap=wrap, step=indent(step, " " * 12).lstrip(), other=other)
    assert bool(SNIPPETS.findings(text)) is speaks


TAKEN_OUT = """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def build(args, make):
    model = make().cuda()
    if args.several:
        model = DDP(model)
    return model


class Loop:
    def __init__(self, args, model):
        self.args = args
        self.model = model
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self, loader):
        {taken}
        for batch in loader:
            loss = {called}.mean()
            loss.backward()
            self.optimizer.step()


def main(args, make, loader):
    Loop(args, build(args, make)).train(loader)
"""


@pytest.mark.parametrize(
    ("taken", "called", "speaks"),
    [
        ("net = self.model.module if self.args.several else self.model", "net(batch)", True),
        ("net = self.model.module if hasattr(self.model, 'module') else self.model", "net(batch)", True),
        ("net = self.model.module if self.args.several else self.model", "net.encode(batch)", True),
        ("net = self.model.module if self.args.several else self.model", "self.model(batch)", False),
        ("net = self.model.module if self.args.several else self.model", "self.model(net.embed(batch))", False),
        ("net = self.model.module if self.args.fast else self.model", "net(batch)", False),
    ],
)
def test_what_a_wrapper_holds_where_there_is_one(taken, called, speaks):
    assert bool(SNIPPETS.findings(TAKEN_OUT.format(taken=taken, called=called))) is speaks


OF_UNKNOWN_CLASSES = """\
import torch
from accelerate import Accelerator
from out_of_sight import make, noised

accelerator = Accelerator()
encoder, model, loader = accelerator.prepare(make(1), make(2), torch.utils.data.DataLoader(make(3)))
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    given = {given}
    loss = torch.mean({called} ** 2)
    accelerator.backward(loss)
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "called", "is_reported"),
    [
        ("noised(batch)", "model.module(given)", True),
        ("noised(batch)", "model(given)", False),
        # The output of another model's wrapper does not prepare this one.
        ("encoder(batch)", "model.module(given)", True),
        ("encoder(batch)", "accelerator.unwrap_model(model).head(given)", True),
        ("model(batch)", "model.module.head(given)", False),
        ("model(batch)", "accelerator.unwrap_model(model).head(given)", False),
    ],
)
def test_models_whose_classes_are_out_of_sight(given, called, is_reported):
    assert bool(SNIPPETS.findings(OF_UNKNOWN_CLASSES.format(given=given, called=called))) is is_reported


@pytest.mark.parametrize(
    ("added", "is_reported"),
    [("args.weight * extra(pred)", True), ("config.loss.weight", True), ("loss_of_caller", False)],
)
def test_a_weight_from_the_settings_is_no_loss_of_the_caller(added, is_reported):
    text = (
        "from accelerate import Accelerator\n\ndef main(args, config, loader, optimizer, loss_of_caller):\n"
        "    accelerator = Accelerator()\n"
        "    model, optimizer, loader = accelerator.prepare(Net(), optimizer, loader)\n"
        "    for batch in loader:\n        pred = model.module(batch)\n        loss = pred.mean()\n"
        f"        loss = loss + {added}\n        accelerator.backward(loss)\n"
    )
    assert SNIPPETS.places(text) == ["model.module(batch)"] * is_reported


WRAPPED_ELSEWHERE = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)


def wrap(net):
    net.cuda()
    return DDP(net)


class Base:
    def __init__(self, model, loader):
        self.model = model
        self.model = DDP(self.model)
        self.loader = loader
        self.optimizer = torch.optim.SGD(self.model.parameters())

    def train(self):
        for x in self.loader:
            self.loss(x).backward()
            self.optimizer.step()

    def loss(self, x):
        raise NotImplementedError


class Policy(Base):
    def __init__(self, policy, loader):
        {first}
        {second}

    def loss(self, x):
        return {called}(x).mean()


def main(rows):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    Policy(Net(), loader).train()
    net = Net()
    {outer} = wrap(net)
    optimizer = torch.optim.SGD({outer}.parameters())
    for x in loader:
        net(x).mean().backward()
        optimizer.step()
"""
BY_BASE, KEPT = "super().__init__(policy, loader)", "self.policy = policy"


@pytest.mark.parametrize(
    ("first", "second", "called", "outer", "places"),
    [
        # The base class wraps it, and the class keeps the module inside the wrapper.
        (BY_BASE, KEPT, "self.policy", "net", ["self.policy(x)"]),
        (BY_BASE, KEPT, "self.model", "net", []),
        # A copy, or the wrapper itself, is kept.
        (BY_BASE, "self.policy = self.model", "self.policy", "net", []),
        # A function wraps it and returns the wrapper under another name, or under this one.
        (BY_BASE, KEPT, "self.model", "wrapped", ["net(x)"]),
    ],
)
def test_models_that_a_base_class_or_a_function_wraps(first, second, called, outer, places):
    text = WRAPPED_ELSEWHERE.format(first=first, second=second, called=called, outer=outer)
    assert SNIPPETS.places(text) == places


def test_a_wrapper_that_only_its_own_call_names_is_no_other_forward():
    text = WRAPPED_ELSEWHERE.format(first="self.other = DDP(policy)", second=KEPT, called="self.policy", outer="net")
    text = text.replace("class Policy(Base)", "class Policy").replace(
        "    def loss(self",
        "    def train(self):\n        for x in []:\n            self.loss(x).backward()\n\n    def loss(self",
    )
    assert SNIPPETS.places(text) == ["self.policy(x)"]
    assert SNIPPETS.places(text.replace("return self.policy(x)", "return self.other(x)")) == []


BY_A_METHOD = """
import torch.distributed as dist
from somewhere import Net
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, world_size):
        dist.init_process_group("nccl")
        self.model = Net()
        if world_size > 1:
            self.model = DDP(self.model)

    def bare(self):
        if hasattr(self.model, "module"):
            return self.model.module
        return self.model

    def train(self, loader, optimizer):
        for batch in loader:
            {forward}
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("forward", "is_found"),
    [
        ("loss = self.bare().compute_loss(batch)", True),
        ("loss = self.bare().compute_loss(self.model(batch))", False),
        ("self.bare().reset_state(batch); loss = self.model(batch)", False),
    ],
)
def test_the_only_forward_of_what_a_method_takes_off_its_wrapper(forward, is_found):
    assert bool(SNIPPETS.findings(BY_A_METHOD.format(forward=forward))) is is_found


UNDER_ANOTHER_NAME = """
import torch
import torch.distributed as dist
from somewhere import Net, close, groups_of, save
from torch.nn.parallel import DistributedDataParallel as DDP


def main(args, loader):
    dist.init_process_group("nccl")
    net = Net()
    if args.use_ddp:
        model: "DDP" = DDP(net, device_ids=[args.gpu])
    else:
        model = net.sharded()
    {before}
    for batch in loader:
        model.train()
        {forward}
        (loss / args.steps).backward()
        optimizer.step()
        save(model, optimizer)
"""
FROM_GROUPS = "groups = groups_of(model)\n    optimizer = torch.optim.SGD(groups)"


@pytest.mark.parametrize(
    ("before", "forward", "is_found"),
    [
        (FROM_GROUPS, "loss, shown = net.compute_loss(batch)", True),
        ("optimizer = torch.optim.SGD(model.parameters())", "loss = net.compute_loss(batch)['loss']", True),
        (FROM_GROUPS, "loss = close(model, batch) + net.compute_loss(batch)", False),
        (FROM_GROUPS, "loss = close(net.encode(batch), model(batch))", False),
        (FROM_GROUPS, "loss = close(net.encode(batch), model.forward(batch))", False),
        (FROM_GROUPS, "net.reset(batch); loss = close(groups, batch)", False),
        ("run, optimizer = groups_of(model)", "loss = run(net.compute_loss(batch))", False),
        ("run = model; optimizer = args.optimizer", "loss = close(net.encode(batch), run(batch))", False),
        ("parts = [model]; optimizer = args.optimizer", "loss = net.compute_loss(batch) + parts[0](batch)", False),
    ],
)
def test_the_only_forward_of_a_module_that_has_its_wrapper_under_another_name(before, forward, is_found):
    assert bool(SNIPPETS.findings(UNDER_ANOTHER_NAME.format(before=before, forward=forward))) is is_found


@pytest.mark.parametrize(
    ("guard", "is_found"),
    [
        ("if done and rank == 0:\n        return", True),
        ("if is_main_process() and done:\n        print('done')\n        return", True),
        ("if rank != 0:\n        return", False),
        ("if not is_main_process():\n        return", False),
        ("if done and rank == 0:\n        print('done')\n    else:\n        return", False),
    ],
)
def test_where_only_the_first_rank_leaves_the_others_train(guard, is_found):
    assert bool(SNIPPETS.findings(AFTER_AN_EXIT.format(guard=guard))) is is_found


AFTER_AN_EXIT = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def is_main_process():
    return dist.get_rank() == 0


def train(net, loader, optimizer, done):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = DDP(net)
    {guard}
    for batch in loader:
        loss = model.module.compute_loss(batch)
        loss.backward()
        optimizer.step()
"""


OF_A_NET = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(2, 2)


class Net(Base):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.teacher = nn.Linear(2, 2)
        self.teacher.requires_grad_(False)
        self.criterion = nn.MSELoss()

    def forward(self, x):
        return self.body(x)

    {method}


def main(loader, args):
    dist.init_process_group("nccl")
    model = DDP(Net().cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        {step}
        loss.backward()
        optimizer.step()
"""
GETS_LOSS = "loss = model.module.get_loss(x)"


@pytest.mark.parametrize(
    ("method", "step", "is_found"),
    [
        ("def get_loss(self, x): return self.body(x).sum()", GETS_LOSS, True),
        ("def get_loss(self, x): return self.forward(x).sum()", GETS_LOSS, True),
        ("def get_loss(self, x): return self.encoder(x).sum()", GETS_LOSS, True),
        ("def get_loss(self, x): return self(x).sum()", GETS_LOSS, True),
        (
            "def get_loss(self, x): return self.body(x), 0",
            "loss, _ = model.get_loss(x) if not hasattr(model, 'module') else model.module.get_loss(x)",
            True,
        ),
        # Neither runs what is trained with gradients.
        ("def get_loss(self, x): return self.teacher(x).sum()", GETS_LOSS, False),
        ("def get_loss(self, x): return self.criterion(x, x)", GETS_LOSS, False),
        (
            "def get_loss(self, x):\n        with torch.no_grad():\n            y = self.body(x)\n        return y",
            "loss = model.module.get_loss(x) + args.extra(model, x)",
            False,
        ),
        ("@torch.no_grad()\n    def get_loss(self, x): return self.body(x)", GETS_LOSS, False),
        # The wrapper's forward has run, or is all that runs.
        ("def get_loss(self, x): return self.body(x).sum()", "loss = model.module.get_loss(model(x))", False),
        ("def get_teacher(self): return self.teacher", "loss = args.loss(model(x), model.module.get_teacher())", False),
    ],
)
def test_what_a_method_runs_counts_more_than_its_name(method, step, is_found):
    assert bool(SNIPPETS.findings(OF_A_NET.format(method=method, step=step))) is is_found


EVALUATED_APART = """
import torch
import torch.distributed as dist
from somewhere import make
from torch.nn.parallel import DistributedDataParallel as DDP


def main(loader, args):
    dist.init_process_group("nccl")
    model = DDP(make(args))
    train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
    validate(model, loader)


def train(model, loader, optimizer):
    for batch in loader:
        loss = model.module.loss_of(batch)
        loss.backward()
        optimizer.step()


{validate}
"""


@pytest.mark.parametrize(
    ("validate", "is_found"),
    [
        ("@torch.no_grad()\ndef validate(model, loader):\n    return [model(batch) for batch in loader]", True),
        ("def validate(model, loader):\n    with torch.no_grad():\n        return model(next(loader))", True),
        ("def validate(model, loader):\n    return [model(batch) for batch in loader]", False),
    ],
)
def test_the_only_forward_with_gradients_counts(validate, is_found):
    assert bool(SNIPPETS.findings(EVALUATED_APART.format(validate=validate))) is is_found


TWO_MODELS = """
import torch
from accelerate import Accelerator
from torch import nn


class Made(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)

    def forward(self, x):
        return self.body(x)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)

    def fit(self, x):
        return self.body(x.detach()).mean()

    def judge(self, x):
        with torch.no_grad():
            wanted = self.body(x)
        return (x - wanted).mean()


def main(loader):
    accelerator = Accelerator()
    made, critic = Made(), Critic()
    optimizer = torch.optim.SGD([*made.parameters(), *critic.parameters()], lr=0.1)
    made, critic, optimizer, loader = accelerator.prepare(made, critic, optimizer, loader)
    for x in loader:
        y = made(x)
        loss = {loss}
        accelerator.backward(loss)
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "where"),
    [
        ("critic.module.fit(y)", ["critic.module.fit(y)"]),
        ("critic.module.judge(y)", []),  # its gradients are those of `made`, whose wrapper has run
        ("made.module.body(y)", []),
    ],
)
def test_the_output_of_one_wrapper_does_not_prepare_a_model_without_a_forward(loss, where):
    assert SNIPPETS.places(TWO_MODELS.format(loss=loss)) == where


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("loss = model.module.loss_of(x)", "`model.module.loss_of` belongs to `model.module`, the module inside"),
        (
            "inner = model.module\n        loss = inner.loss_of(x)",
            "`inner.loss_of` belongs to `inner`, the module inside",
        ),
        (
            "inner = model.module\n        loss_of = getattr(inner, 'loss_of', None)\n        loss = loss_of(x)",
            "`loss_of` belongs to `inner`, the module inside",
        ),
        ("body = model.module.body\n        loss = body(x)", "`body` belongs to `model.module`, the module inside"),
        ("loss = model.module(x)", "`model.module` is the module inside"),
        ("inner = model.module\n        loss = inner(x)", "`inner` is the module inside"),
        ("make = getattr(model.module, 'make_cache', None)\n        loss = args.loss(make(), x)", ""),
    ],
)
def test_a_finding_names_the_module_that_a_method_belongs_to(step, says):
    text = EVALUATED_APART.replace("loss = model.module.loss_of(batch)", step.replace("(x", "(batch")).format(
        validate=""
    )
    findings = SNIPPETS.findings(text)
    assert [each.message.partition(" the wrapper")[0] for each in findings] == [says] * bool(says)


# --- `no_sync()` in the last backward pass of a step ------------------------------------------------------

NOT_REDUCED = """import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(loader, net):
    torch.distributed.init_process_group("nccl")
    model = DDP(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, x in enumerate(loader):
        with {context}:
            model(x).sum().backward()
        {step}
"""
IN_FOURTH = "if number % 4 == 3:\n            optimizer.step()"


def test_a_step_with_gradients_that_are_kept_is_reported_at_the_call():
    text = NOT_REDUCED.format(context="model.no_sync()", step="optimizer.step()")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "model.no_sync()"
    assert finding.message == (
        "`model.no_sync` is on in the last backward pass of each step: DDP does not reduce the gradients that "
        "`optimizer.step` takes, and on several GPUs each rank trains its own model"
    )
    assert finding.help == (
        "leave `model.no_sync` before the last backward pass of each step, which then reduces what has been added up"
    )
    assert finding.fix is not None and finding.fix.applicability is DISPLAY


@pytest.mark.parametrize(
    ("context", "step", "count"),
    [
        ("model.no_sync()", IN_FOURTH, 1),
        ("model.no_sync()", "pass", 0),
        ("model.no_sync()", "model(x).sum().backward()\n        optimizer.step()", 0),
        ("model.no_sync()", "scaler(model(x).sum(), optimizer)\n        optimizer.step()", 0),
        ("model.no_sync()", "scaler(loss, optimizer)\n        optimizer.step()", 0),
        ("model.no_sync()", "schedule.step()", 0),
        ("model.no_sync() if number % 4 != 3 else nullcontext()", IN_FOURTH, 0),
        ("model.no_sync() if number % 4 == 3 else nullcontext()", IN_FOURTH, 1),
        ("model.no_sync() if number % 4 == 3 else nullcontext()", "optimizer.step()", 0),  # one step in four
        ("model.no_sync() if wanted() else nullcontext()", "optimizer.step()", 0),
        ("model.join()", "optimizer.step()", 0),
    ],
)
def test_a_step_is_reported_if_no_sync_is_known_to_be_on_right_before_it(context, step, count):
    assert len(SNIPPETS.findings(NOT_REDUCED.format(context=context, step=step))) == count


def test_no_sync_in_a_unit_test_is_not_reported(tmp_path):
    text = NOT_REDUCED.format(context="model.no_sync()", step="optimizer.step()").replace("def main", "def test_it")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL009"),))
    assert not linter.check(tmp_path / "test_ddp.py", text.encode())
    assert linter.check(tmp_path / "ddp.py", text.encode())
