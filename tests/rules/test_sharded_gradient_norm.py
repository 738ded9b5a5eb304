"""TRL024: which norms are of a rank's own parts of the gradients, the message, and the fix."""

from __future__ import annotations

from textwrap import indent

import pytest
from small_projects import found, written
from snippets import Snippets, shown

from trl_lint.findings import Applicability, Consequence

SNIPPETS = Snippets("TRL024")
IMPORTS = """\
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy, fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

"""
WRAP = "model = FSDP(net)\n"
BACKWARD = "model(batch).loss.backward()\n"
CLIP = "clip_grad_norm_(model.parameters(), 1.0)\n"
ASKED = "if {}:\n    model.clip_grad_norm_(1.0)\nelse:\n    " + CLIP


def program(*parts: str) -> str:
    return IMPORTS + "def main(args, net, batch, policy, flag):\n" + indent("".join(parts), "    ")


def trained(clip: str, wrap: str = WRAP) -> str:
    return program(wrap, BACKWARD, clip)


def test_a_finding_is_at_the_call():
    text = trained(CLIP)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == CLIP.rstrip()
    assert finding.message == (
        "FSDP shards `model`: this is the norm of each rank's own parts of the gradients, so that each rank clips by a "
        "factor of its own"
    )
    assert [each.text for each in finding.because] == ["FSDP shards the model here"]
    assert "call `model.clip_grad_norm_(…)` of the wrapper on all ranks" in finding.help
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default


@pytest.mark.parametrize(
    "wrap",
    [
        "model = FSDP(net, auto_wrap_policy=policy)\n",
        "model = FSDP(net, None, ShardingStrategy.SHARD_GRAD_OP)\n",
        "model = FSDP(net, sharding_strategy=ShardingStrategy.HYBRID_SHARD)\n",
        "model = FSDP(net, sharding_strategy=ShardingStrategy[args.strategy])\n",
        "model = FSDP(net, **args.of_wrapper)\n",
        "model = torch.compile(FSDP(net))\n",
        "model = FSDP(net).train()\n",
        "model = torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel(net)\n",
        "model = FSDP(net)\nif flag:\n    model.load_state_dict(args.state)\n",
        "if flag:\n    model = FSDP(net, policy)\nelse:\n    model = FSDP(net)\n",
    ],
)
def test_models_that_are_sharded(wrap):
    assert SNIPPETS.places(trained(CLIP, wrap)) == [CLIP.rstrip()]


@pytest.mark.parametrize(
    "wrap",
    [
        "model = net\n",
        "model = DDP(net)\n",
        "model = fully_shard(net)\n",
        "model = FSDP(net, sharding_strategy=ShardingStrategy.NO_SHARD)\n",
        "model = FSDP(net, None, ShardingStrategy.NO_SHARD)\n",
        "options = dict(sharding_strategy=ShardingStrategy.NO_SHARD)\nmodel = FSDP(net, **options)\n",
        "model = FSDP(net) if flag else DDP(net)\n",
        "if flag:\n    model = FSDP(net)\nelse:\n    model = net\n",
    ],
)
def test_models_that_may_be_whole(wrap):
    assert SNIPPETS.findings(trained(CLIP, wrap)) == []


@pytest.mark.parametrize(
    "clip",
    [
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
        "torch.nn.utils.clip_grad_norm(parameters=model.parameters(), max_norm=1.0)\n",
        "torch.nn.utils.clip_grad.clip_grad_norm_(model.parameters(), 1.0)\n",
        "clip_grad_norm_(list(model.parameters()), 1.0)\n",
        "clip_grad_norm_(filter(lambda each: each.requires_grad, model.parameters()), 1.0)\n",
        "clip_grad_norm_([each for each in model.parameters() if each.grad is not None], 1.0)\n",
        "clip_grad_norm_((each for name, each in model.named_parameters() if 'bias' not in name), 1.0)\n",
        "weights = [each for each in model.parameters()]\nclip_grad_norm_(weights, 1.0)\n",
        "if args.max_norm > 0:\n    clip_grad_norm_(model.parameters(), args.max_norm)\n",
        "clip_grad_norm_(model.module.parameters(), 1.0)\n",
    ],
)
def test_norms_of_parts(clip):
    assert len(SNIPPETS.findings(trained(clip))) == 1


@pytest.mark.parametrize(
    "clip",
    [
        "model.clip_grad_norm_(1.0)\n",
        "clip_grad_value_(model.parameters(), 1.0)\n",
        "clip_grad_norm_(net.parameters(), 1.0)\n",
        "clip_grad_norm_(model.head.parameters(), 1.0)\n",
        "clip_grad_norm_(args.parameters, 1.0)\n",
        ASKED.format("isinstance(model, FSDP)"),
        ASKED.format('hasattr(model, "clip_grad_norm_")'),
        ASKED.format("flag"),
        f"try:\n    model.clip_grad_norm_(1.0)\nexcept AttributeError:\n    {CLIP}",
        f'clip = getattr(model, "clip_grad_norm_", None)\nif clip is None:\n    {CLIP}else:\n    clip(1.0)\n',
        f"if not args.use_fsdp:\n    {CLIP}",
        f"if isinstance(model, DDP):\n    {CLIP}",
        f"if args.fsdp:\n    return\n{CLIP}",
        f"with FSDP.summon_full_params(model, with_grads=True):\n    {CLIP}",
    ],
)
def test_calls_for_whole_gradients_or_for_others(clip):
    assert SNIPPETS.findings(trained(clip)) == []


HELPERS = f"""\
def clip(model):
    {CLIP}
def clipped(model):
    clip(model)

"""


@pytest.mark.parametrize(
    ("call", "count"),
    [
        ("clip(model)\n", 1),
        ("clipped(model)\n", 1),
        (ASKED.format("isinstance(model, FSDP)").replace(CLIP, "clip(model)\n"), 0),
        (ASKED.format("flag").replace(CLIP, "clipped(model)\n"), 0),
        ("if not args.use_fsdp:\n    clipped(model)\n", 0),
        ("if args.fsdp:\n    args.save(model)\nelse:\n    clip(model)\n", 0),
        ("if args.fsdp:\n    clip(model)\n", 1),
    ],
)
def test_a_caller_may_choose_who_clips(call, count):
    text = trained(call).replace("def main", HELPERS + "def main")
    assert len(SNIPPETS.findings(text)) == count


IN_CLASS = """\
class Training:
    def __init__(self, net, other):
        self.model = FSDP(net)
        self.other = DDP(other)

    def step(self, batch):
        self.model(batch).loss.backward()
        clip_grad_norm_(self.model.parameters(), 1.0)
        clip_grad_norm_(self.other.parameters(), 1.0)
"""


def test_a_model_that_an_object_holds():
    assert SNIPPETS.places(IMPORTS + IN_CLASS) == ["clip_grad_norm_(self.model.parameters(), 1.0)"]


def test_an_heir_that_wraps_and_clips_itself():
    base = IN_CLASS.replace("FSDP(net)", "net")
    heir = """
class Sharded(Training):
    def __init__(self, net, other):
        super().__init__(net, other)
        self.model = FSDP(net)

    def step(self, batch):
        self.model(batch).loss.backward()
        self.model.clip_grad_norm_(1.0)
"""
    assert SNIPPETS.findings(IMPORTS + base + heir) == []


def test_a_unit_test_compares_norms(tmp_path):
    text = trained(CLIP).replace("def main(", "def test_norms(")
    assert found(written(tmp_path, {"test_norms.py": text})) == []


TRAINING = f"""\
from torch.nn.utils import clip_grad_norm_

def train(model, batch):
    {BACKWARD}    {CLIP}"""


def test_the_wrapper_is_in_another_file(tmp_path):
    main = "from training import train\n" + program(WRAP, "train(model, batch)\n") + "\nmain(1, 2, 3, 4, 5)\n"
    project = written(tmp_path, {"main.py": main, "training.py": TRAINING})
    assert found(project) == [("training.py", 5, "TRL024")]
    assert found(written(tmp_path, {"main.py": main.replace(WRAP, "model = DDP(net)\n")})) == []


@pytest.mark.parametrize(
    ("clip", "fixed"),
    [
        (CLIP, "model.clip_grad_norm_(1.0)\n"),
        (f"norm = {CLIP}", "norm = model.clip_grad_norm_(1.0)\n"),
        (CLIP.replace("1.0", "max_norm=1.0, norm_type=2"), "model.clip_grad_norm_(max_norm=1.0, norm_type=2)\n"),
        ("clip_grad_norm_(parameters=model.parameters(), max_norm=1.0)\n", "model.clip_grad_norm_(max_norm=1.0)\n"),
        ("clip_grad_norm_(\n    model.parameters(), args.max_norm\n)\n", "model.clip_grad_norm_(args.max_norm)\n"),
    ],
)
def test_the_wrapper_clips(clip, fixed):
    text = trained(clip)
    fix = SNIPPETS.finding(text).fix
    assert fix is not None
    assert fix.applicability is Applicability.UNSAFE
    assert SNIPPETS.mended(text, unsafe=True).endswith(indent(fixed, "    "))


@pytest.mark.parametrize(
    ("clip", "reason"),
    [
        (CLIP.replace("1.0", "1.0, foreach=True"), "does not have all of these parameters"),
        (CLIP.replace("1.0", "1.0, 2.0, True"), "does not have all of these parameters"),
        (CLIP.replace("1.0", "*args.norms"), "does not have all of these parameters"),
        ("clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)\n", "only some of the parameters"),
        ("clip_grad_norm_(model.module.parameters(), 1.0)\n", "no name here"),
    ],
)
def test_only_a_hint(clip, reason):
    finding = SNIPPETS.finding(trained(clip))
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.DISPLAY
    assert reason in finding.fix.reason


SET_UP_LATER = """\
class Strategy:
    def __init__(self, net):
        self.model = net

    def setup(self, flag):
        SETUP

    def clip(self):
        clip_grad_norm_(self.model.parameters(), 1.0)

    def train(self, batch):
        self.model(batch).loss.backward()
        self.clip()


def main(net, batch, flag):
    strategy = Strategy(net)
    strategy.setup(flag)
    strategy.train(batch)
"""


@pytest.mark.parametrize(
    ("setup", "is_reported"),
    [
        ("self.model = FSDP(self.model)", True),
        ("self.model = FSDP(self.model, sharding_strategy=ShardingStrategy.NO_SHARD)", False),
        ("if flag:\n            self.model = FSDP(self.model)", False),  # another wrapper may take its place
        ("self.model = DDP(self.model)", False),
        ("self.model.train()", False),
    ],
)
def test_a_method_that_wraps_before_others_run(setup: str, is_reported: bool):
    assert bool(SNIPPETS.findings(IMPORTS + SET_UP_LATER.replace("SETUP", setup))) is is_reported


def test_methods_that_run_before_the_one_that_wraps():
    text = IMPORTS + SET_UP_LATER.replace("SETUP", "self.model = FSDP(self.model)")
    setup, train = "    strategy.setup(flag)\n", "    strategy.train(batch)\n"
    assert SNIPPETS.findings(text.replace(setup + train, train + setup)) == []
