"""TRL002: tests beside a read of a wrapped model that ask for something else than the wrapper."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

BRANCHES = """\
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModel


def train(name, weights, given, known):
    model = DDP(AutoModel.from_pretrained(name))
    if given in known[weights]:
        {if_true}
    else:
        {if_false}
"""
READ = "print(model.depth)"
UNWRAPPED = "model.module.load(weights)"


@pytest.mark.parametrize(
    ("if_true", "if_false", "is_reported"),
    [
        (READ, "pass", True),
        # Both branches know that there is a wrapper.
        (f"{UNWRAPPED}\n        {READ}", UNWRAPPED, True),
        (UNWRAPPED, f"{READ}\n        {UNWRAPPED}", True),
        # Only one of them does: the test may ask for the wrapper.
        (READ, UNWRAPPED, False),
        (UNWRAPPED, READ, False),
    ],
)
def test_a_test_whose_branches_both_unwrap_does_not_ask_for_the_wrapper(if_true, if_false, is_reported):
    findings = SNIPPETS.findings(BRANCHES.format(if_true=if_true, if_false=if_false))
    assert [each.message.split("`")[1] for each in findings] == [".depth"] * is_reported


METHODS = """\
import torch
from accelerate import Accelerator
from transformers import AutoModel


class Trainer:
    def __init__(self, name):
        self.model = AutoModel.from_pretrained(name)
        self.accelerator = Accelerator()

    def fit(self, rows):
        self.model, rows = self.accelerator.prepare(self.model, rows)
        self.evaluate(rows)

    def evaluate(self, rows):
        if torch.cuda.is_available():
            {if_true}
        else:
            {if_false}
        for row in rows:
            {read}
"""
OF_SELF = "print(self.model.depth)"
OF_MODULE = "print(self.model.module.depth)"
SET, SET_ON_MODULE = "self.model.depth = 3", "self.model.module.depth = 3"


@pytest.mark.parametrize(
    ("if_true", "if_false", "read", "is_reported"),
    [
        # Behind the test, the model is wrapped on one way as before.
        (OF_MODULE, OF_SELF, OF_SELF, True),
        (OF_MODULE, "pass", OF_SELF, True),
        (OF_MODULE, OF_SELF, "pass", False),
        # Only one of the ways gets there.
        (OF_MODULE + "\n            return", OF_SELF, OF_SELF, False),
        # It is set on the wrapper where the code takes the model for bare, or on any way.
        (SET_ON_MODULE, SET, OF_SELF, True),
        (SET, SET, OF_SELF, False),
        (SET + "\n            " + SET_ON_MODULE, SET, OF_SELF, False),
        (OF_MODULE, SET, OF_SELF, False),
        # A branch has replaced it.
        ("self.model = self.model.module", "pass", OF_SELF, False),
    ],
)
def test_behind_a_test_nothing_more_is_known_of_the_wrapper(if_true, if_false, read, is_reported):
    text = METHODS.format(if_true=if_true, if_false=if_false, read=read)
    last = len(text.splitlines())
    assert [each.start.line for each in SNIPPETS.findings(text)] == [last] * is_reported


WRAPPED_BY_OTHERS = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel


class Net(nn.Module):
    def begin(self):
        return self


class Trainer:
    def __init__(self, settings, model: Net):
        self.use_dp, self.use_ddp = settings.use_dp, settings.use_ddp
        self.model = model
        dist.init_process_group("nccl")

    @property
    def is_wrapped(self):
        return self.use_dp or self.use_ddp

    def fit(self, model: Net):
        if self.use_ddp:
            model = DistributedDataParallel(model)
        self.run(model)

    def run(self, model):
        inner = model
        if {test}:
            inner = model.module
        inner.begin()


def main(settings, model: Net):
    trainer = Trainer(settings, model)
    trainer.model = DistributedDataParallel(trainer.model)
    trainer.test()
    trainer.fit(model)


class Tester(Trainer):
    def test(self):
        model = self.model
        if {of_class}:
            model.module.begin()
        else:
            model.begin()
"""
OF_DDP = "isinstance(model, DistributedDataParallel)"
OF_BOTH = f"{OF_DDP} or isinstance(model, torch.nn.DataParallel)"


@pytest.mark.parametrize("test", ["self.is_wrapped", "self.use_ddp", "self.settings.several"])
def test_what_takes_the_wrapper_off_on_one_branch_knows_that_there_is_none_on_the_other(test):
    assert SNIPPETS.findings(WRAPPED_BY_OTHERS.format(test=test, of_class=OF_DDP)) == []


@pytest.mark.parametrize("of_class", [OF_DDP, OF_BOTH])
def test_a_test_of_the_class_decides_what_was_assigned_from_outside(of_class):
    text = WRAPPED_BY_OTHERS.format(test="self.is_wrapped", of_class=of_class)
    text = text.replace("Trainer(settings", "Tester(settings")
    assert SNIPPETS.findings(text) == []
    untested = text.replace("        else:\n            model.begin()\n", "        model.begin()\n")
    assert [each.message.split("`")[1] for each in SNIPPETS.findings(untested)] == [".begin"]


OF_CLASSES = """\
import argparse

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def encode(self, row):
        return row


class Trainer:
    def __init__(self, model, config):
        self.model = model
        self.config = config

    def show(self, rows):
        for row in rows:
            if {test}:
                {if_true}
            else:
                {if_false}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    args = parser.parse_args()
    torch.distributed.init_process_group("nccl")
    Trainer(DistributedDataParallel(Net().cuda()), read(args.config)).show(read(args.config))


if __name__ == "__main__":
    main()
"""
CALL, CALL_INNER = "self.model.encode(row)", "self.model.module.encode(row)"


@pytest.mark.parametrize(
    ("if_true", "if_false", "is_reported"),
    [
        (CALL_INNER, CALL, False),
        (CALL, CALL_INNER, False),
        (CALL, "pass", True),
        (f"{CALL_INNER}\n                {CALL}", CALL_INNER, True),
    ],
)
def test_a_model_that_is_an_attribute(if_true, if_false, is_reported):
    text = OF_CLASSES.format(test='self.config["several"]', if_true=if_true, if_false=if_false)
    assert bool(SNIPPETS.findings(text)) is is_reported


OF_ONE_WRAPPER = """\
import torch
from apex.parallel import DistributedDataParallel as OfApex
from torch.nn.parallel import DataParallel, DistributedDataParallel
from transformers import AutoModel


class Own(DistributedDataParallel):
    def __getattr__(self, name):
        return getattr(self.module, name)


def bare(model, classes):
    return model.module if {test} else model


def show(model):
    if {test}:
        print(model.module.depth)
    else:
        print(model.depth)


def main(args, classes):
    torch.distributed.init_process_group("nccl")
    model = AutoModel.from_pretrained(args.name)
    {wraps}
    print(bare(model, classes).depth)
    show(model)


main(parse(), None)
"""
IN_DDP, IN_DATA_PARALLEL = "model = DistributedDataParallel(model)", "model = DataParallel(model)"
IF_SEVERAL = f"if args.several: {IN_DDP}"
OF_DATA_PARALLEL = "isinstance(model, torch.nn.DataParallel)"


@pytest.mark.parametrize(
    ("wraps", "test", "is_reported"),
    [
        (IN_DDP, OF_DATA_PARALLEL, True),
        (IF_SEVERAL, OF_DATA_PARALLEL, True),
        (IN_DATA_PARALLEL, OF_DDP, True),
        # The test asks for the wrapper that the model has, or has on some way.
        (IN_DDP, OF_DDP, False),
        (IF_SEVERAL, OF_DDP, False),
        (IN_DDP, "isinstance(model, (DataParallel, DistributedDataParallel))", False),
        (IF_SEVERAL, f"{OF_DATA_PARALLEL} or {OF_DDP}", False),
        (IN_DATA_PARALLEL, OF_DATA_PARALLEL, False),
        (f"{IF_SEVERAL}\n    else: {IN_DATA_PARALLEL}", OF_DATA_PARALLEL, False),
        (f"{IF_SEVERAL}\n    elif args.gpus > 1: {IN_DATA_PARALLEL}", OF_DATA_PARALLEL, False),
        # What it asks for, or what wraps the model, is not known.
        (IN_DDP, "isinstance(model, classes)", False),
        (IN_DDP, "isinstance(model, OfApex)", False),
        ("model = Own(model)", OF_DATA_PARALLEL, False),
    ],
)
def test_a_test_for_the_other_wrapper_of_torch_does_not_ask_for_the_one_that_is_there(wraps, test, is_reported):
    text = OF_ONE_WRAPPER.format(wraps=wraps, test=test)
    findings = SNIPPETS.findings(text)
    assert [each.message.split("`")[1] for each in findings] == [".depth", ".depth"] * is_reported
