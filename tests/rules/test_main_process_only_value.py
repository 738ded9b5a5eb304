"""TRL017: names and attributes that only some ranks have and others use, and what is left alone."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent, indent

import pytest
from snippets import SETTINGS, Snippets, shown

from trl_lint import api
from trl_lint.findings import Applicability, Consequence
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL017")

PROGRAM = """\
import os
import sys

import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def main(args, loader, batches):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
"""
CLASS = """\
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


class Run:
    def __init__(self, args):
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
"""


def program(body: str, behind: str = "") -> str:
    """The function of a script that all ranks run, with this body, and the code after it in the file."""
    return PROGRAM + indent(dedent(body).strip("\n") + "\n", " " * 4) + dedent(behind)


def run_with(init: str, methods: str) -> str:
    """A class whose `__init__` continues with this, and which has these methods."""
    return (
        CLASS
        + indent(dedent(init).strip("\n") + "\n", " " * 8)
        + "\n"
        + indent(dedent(methods).strip("\n") + "\n", " " * 4)
    )


UNBOUND = """\
if rank == 0:
    writer = SummaryWriter("runs")
"""
NONE = """\
writer = None
if rank == 0:
    writer = SummaryWriter("runs")
"""
EITHER = pytest.mark.parametrize("bound", [UNBOUND, NONE], ids=["unbound", "none"])


# --- the message ----------------------------------------------------------------------------------------


def test_of_a_name_that_is_not_bound_it_says_what_where_why_and_how():
    text = program(UNBOUND + "for batch in loader:\n    writer.add_scalar('loss', 1)")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "writer"
    assert finding.start.line == 14
    assert finding.message == (
        "only ranks where `rank == 0` is true define `writer`, and all ranks read it: with several processes, the "
        "others fail here"
    )
    assert [(each.text, each.start.line) for each in finding.because[1:]] == [
        ("`rank == 0` differs between ranks", 11),
        ("only the ranks that get here define it", 12),
    ]
    assert finding.help == (
        "use it under the same condition (`if rank == 0:`), or define it on every rank (broadcast what the others need)"
    )
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


def test_of_what_is_none_it_says_what_where_why_and_how():
    text = program("writer = SummaryWriter('runs') if rank == 0 else None\nwriter.flush()")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "writer"
    assert finding.message == (
        "`writer` is None on ranks where `rank == 0` is false, and all ranks use it: with several processes, those "
        "without it fail here"
    )
    assert finding.because[-1].text == "the other ranks have None instead"
    assert finding.help == "use it only where it is there (`if writer is not None:`), or give every rank one"


def test_further_uses_are_told_with_the_first():
    text = program(UNBOUND + "writer.flush()\nwriter.close()")
    finding = SNIPPETS.finding(text)
    assert [each.start.line for each in finding.also] == [14]


# --- names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("if rank == 0:\n    best = 1.0\nprint(best)", "best"),
        ("if rank == 0:\n    import wandb\nwandb.log({})", "wandb"),
        ("if rank == 0:\n    import torch.profiler as prof\nprof.start()", "prof"),
        ("if rank == 0:\n    def show(x):\n        print(x)\nshow(1)", "show"),
        ("if rank == 0:\n    with open('x') as file:\n        pass\nprint(file.name)", "file"),
        ("if rank == 0:\n    first, second = args.pair\nprint(second)", "second"),
        ("if rank != 0:\n    pass\nelse:\n    best = 1.0\nprint(best)", "best"),
        ("if rank != 0:\n    seed = rank\nprint(seed)", "seed"),
        ("if args.log and rank == 0:\n    run = args.start()\nif args.log:\n    run.log(1)", "run"),
        ("for batch in loader:\n    if rank == 0:\n        loss = batch.mean()\n    print(loss)", "loss"),
        ("for batch in loader:\n    if rank == 0:\n        loss = batch.mean()\nprint(loss)", "loss"),
        (
            "if rank == 0:\n    best = 1.0\nstart_epoch = int(os.listdir(args.dir)[0])\n"
            "for epoch in range(start_epoch, 9):\n    print(best)",
            "best",
        ),
        ("if rank == 0:\n    best = 1.0\nbest += 1", "best"),
        ("if rank == 0:\n    best = 1.0\nshown = [best for _ in range(3)]", "best"),
        ("if rank == 0:\n    best = 1.0\nif args.show:\n    print(best)", "best"),
        # A checkpoint to start from, which all ranks find.
        ("if rank == 0:\n    best = 1.0\nif os.path.exists(args.start):\n    print(best)", "best"),
        ("found = len(os.listdir(args.dir)) > 0\nif rank == 0:\n    best = 1.0\nif found:\n    print(best)", "best"),
        ("if rank == 0:\n    best = 1.0\ndist.barrier()\nprint(best)", "best"),
        ("if args.flag:\n    if rank == 0:\n        best = 1.0\n    print(best)", "best"),
        ("if dist.get_world_size() == 1 or rank == 0:\n    best = 1.0\nprint(best)", "best"),
        ("if not args.distributed or rank == 0:\n    best = 1.0\nprint(best)", "best"),
        ("if rank is None or rank == 0:\n    best = 1.0\nprint(best)", "best"),
        ("rank = int(os.environ['RANK'])\nis_main = rank == 0\nif is_main:\n    best = 1.0\nprint(best)", "best"),
        ("if args.log:\n    if not args.fsdp or rank == 0:\n        run = args.a()\nprint(args.log and run)", "run"),
        ("if args.rank == 0:\n    best = 1.0\nprint(best)", "best"),
        # On a single process, both branches give the flag the same value.
        ("if args.ddp:\n    main = rank == 0\nelse:\n    main = True\nif main:\n    best = 1.0\nprint(best)", "best"),
        ("main = True\nif args.ddp:\n    main = rank == 0\nif main:\n    best = 1.0\nprint(best)", "best"),
    ],
)  # fmt: skip
def test_names_that_only_some_ranks_bind(body, where):
    text = program(body)
    assert shown(text, SNIPPETS.finding(text)) == where


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (NONE + "writer.flush()", "writer"),
        (NONE + "writer.out = 1", "writer"),
        (NONE + "writer['x'] = 1", "writer"),
        (NONE + "print(writer[0])", "writer"),
        (NONE + "writer()", "writer"),
        (NONE + "print(writer + 1)", "writer"),
        (NONE + "print(-writer)", "writer"),
        (NONE + "print(writer > 1)", "writer"),
        (NONE + "total = 0\ntotal += writer", "writer"),
        (NONE + "for each in writer:\n    print(each)", "writer"),
        (NONE + "print([each for each in writer])", "writer"),
        (NONE + "print(any(each for each in writer if each))", "writer"),
        (NONE + "print({each: 1 for each in writer})", "writer"),
        (NONE + "print([x for batch in loader for x in writer])", "writer"),
        (NONE + "other = writer\nother.flush()", "other"),
        ("if rank == 0:\n    writer = SummaryWriter('x')\nelse:\n    writer = None\nwriter.flush()", "writer"),
        ("writer = None if rank else SummaryWriter('x')\nwriter.flush()", "writer"),
        ("writer = None\nfor batch in loader:\n    if rank == 0:\n        writer = batch.x\n    writer.y()", "writer"),
    ],
)  # fmt: skip
def test_what_is_none_on_some_ranks_and_used_as_an_object(body, where):
    text = program(body)
    assert shown(text, SNIPPETS.finding(text)) == where


TRIED = """\
for batch in batches:
    try:
        {tried}
    except {caught}:
        {handled}
"""


@EITHER
@pytest.mark.parametrize(
    ("tried", "caught", "handled", "is_reported"),
    [
        ("args.step(batch)", "RuntimeError", "writer.flush()", True),
        ("args.step(batch)", "Exception as error", "writer.flush()", True),
        ("args.step(batch)", "RuntimeError as error", "if 'memory' in str(error):\n            writer.flush()", True),
        ("args.step(batch)", "RuntimeError as e", "if 'x' in str(e):\n            raise\n        writer.flush()", True),
        ("args.step(batch)\n        writer.flush()", "KeyError", "continue", True),
        ("args.step(batch if args.log else 0)", "RuntimeError", "writer.flush()", True),
        # Not raised on any rank, or it is not known whether on any.
        ("args.step(batch)", "KeyError", "writer.flush()", False),
        ("open(batch).read()", "OSError", "writer.flush()", False),
        ("if rank == 0:\n            args.step(batch)", "RuntimeError", "writer.flush()", False),
        ("args.step(batch if rank == 0 else 0)", "RuntimeError", "writer.flush()", False),
        ("if asked():\n            args.step(batch)", "RuntimeError", "writer.flush()", False),
        ("args.step(batch)", "RuntimeError as error", "if args.asked(error):\n            writer.flush()", False),
        ("args.step(batch)", "RuntimeError as error", "if rank == 0:\n            writer.flush()", False),
        # The rank fails anyway, or goes on after the use has failed.
        ("args.step(batch)", "RuntimeError", "writer.flush()\n        raise", False),
        ("args.step(batch)\n        writer.flush()", "Exception", "continue", False),
        ("os.mkdir(batch)\n        writer.flush()", "FileExistsError", "continue", False),
    ],
)  # fmt: skip
def test_uses_where_errors_are_handled(bound, tried, caught, handled, is_reported):
    text = program(bound + TRIED.format(tried=tried, caught=caught, handled=handled))
    assert bool(SNIPPETS.findings(text)) is is_reported


@EITHER
@pytest.mark.parametrize(
    "use",
    [
        "if rank == 0:\n    writer.flush()",
        "main = rank == 0\nif main and args.log:\n    writer.flush()",
        "if rank == 0 and len(loader) > 3:\n    writer.flush()",
        "if rank != 0:\n    return\nwriter.flush()",
        "if rank != 0:\n    sys.exit(0)\nwriter.flush()",
        "for batch in loader:\n    if rank != 0:\n        continue\n    writer.flush()",
        "writer = args.make()\nwriter.flush()",
        "writer = [writer for writer in args.writers]\nwriter.sort()",
        "try:\n    writer.flush()\nexcept (AttributeError, NameError):\n    pass",
        "try:\n    writer.flush()\nexcept Exception as error:\n    print(error)",
        "if somebody_says():\n    writer.flush()",
        "print([writer for writer in args.writers])",
        "if rank == 0:\n    print([each for each in writer])",
        "print([each for each in writer] if rank == 0 else 0)",
        "rank == 0 and writer.flush()",
        "print(writer.x if rank == 0 else 0)",
    ],
)
def test_uses_that_the_other_ranks_do_not_get_to(bound, use):
    assert SNIPPETS.findings(program(bound + use)) == []


@pytest.mark.parametrize(
    "use",
    [
        "if writer:\n    writer.flush()",
        "if writer is not None:\n    writer.flush()",
        "if not writer:\n    return\nwriter.flush()",
        "if writer is None:\n    return\nwriter.flush()",
        "writer and writer.flush()",
        "print(writer is None or writer.x)",
        "print(writer.x if writer else 0)",
        "there = writer is not None\nif there:\n    writer.flush()",
        "assert writer is not None\nwriter.flush()",
        "print([writer.x for _ in range(3) if writer])",
        "print([each for each in writer or ()])",
        "print([each for each in writer] if writer else [])",
        "print(writer)",
        "print(f'{writer}', writer == 1, writer in [1])",
        "helper(writer)",
        "writers = [writer]\ndist.broadcast_object_list(writers)\nwriter = writers[0]\nwriter.flush()",
        "writers = [writer]\nargs.send(writers)\nwriters[0].flush()",
        "while writer is not None:\n    writer.flush()",
        "if writer is None:\n    writer = SummaryWriter('y')\nwriter.flush()",
        "writer = writer or SummaryWriter('y')\nwriter.flush()",
        "if isinstance(writer, SummaryWriter):\n    writer.flush()",
        "if not isinstance(writer, SummaryWriter):\n    return\nwriter.flush()",
        "if hasattr(writer, 'flush'):\n    writer.flush()",
        "if callable(writer):\n    writer()",
        "if writer != None:\n    writer.flush()",
        "if len([writer]) and args.usable(writer):\n    writer.flush()",
    ],
)
def test_uses_of_what_the_code_knows_may_be_none(use):
    assert (
        SNIPPETS.findings(program(NONE + use, "\n\ndef helper(writer):\n    if writer:\n        writer.flush()\n"))
        == []
    )


@pytest.mark.parametrize(
    "body",
    [
        "if rank == 0:\n    best = 1.0\nelse:\n    best = 0.0\nprint(best)",
        "if rank == 0:\n    best = 1.0\nelif rank == 1:\n    best = 2.0\nelse:\n    best = 0.0\nprint(best)",
        "best = 0.0\nif rank == 0:\n    best = 1.0\nprint(best)",
        "if rank == 0:\n    best = 1.0\nif rank != 0:\n    best = 0.0\nprint(best)",
        "if rank == 0:\n    best = 1.0\nelse:\n    return\nprint(best)",
        "if rank == 0:\n    best = 1.0\nelse:\n    raise ValueError\nprint(best)",
        "if rank == 0 or args.all:\n    best = 1.0\nprint(best)",
        "if (rank == 0 or args.all) and args.best:\n    best = 1.0\nprint(best)",
        "main = False\nif args.ddp:\n    main = rank == 0\nif main:\n    best = 1.0\nprint(best)",
        "if args.ddp:\n    main = rank == 0\nelse:\n    main = args.main\nif main:\n    best = 1.0\nprint(best)",
        "for turn in range(8):\n    if turn == rank:\n        best = 1.0\nprint(best)",
        "for group in batches:\n    if rank in group:\n        best = 1.0\nprint(best)",
        "if somebody_says():\n    best = 1.0\nprint(best)",
        "if args.log:\n    best = 1.0\nprint(best)",
        "if rank == 0:\n    best = 1.0\nif 'best' in locals():\n    print(best)",
        "if rank == 0:\n    best = 1.0\n    del best\nbest = 2.0\nprint(best)",
        # The first rank may make what is missing, and not all have to find what ranks write.
        "if rank == 0:\n    best = 1.0\nif not os.path.exists(args.start):\n    print(best)",
        "if rank == 0:\n    best = 1.0\nif os.path.exists(f'{args.start}/{rank}'):\n    print(best)",
        "if rank == 0:\n    best = 1.0\nname = f'{args.start}/{rank}'\nif os.path.exists(name):\n    print(best)",
        "found = False\nif rank == 0:\n    best = 1\n    found = os.path.exists(args.a)\nif found:\n    print(best)",
        "if dist.get_world_size() == 1:\n    best = 1.0\nelse:\n    best = 2.0\nprint(best)",
        "if rank == 0:\n    for each in loader:\n        print(each)\nfor each in loader:\n    print(each)",
        "if rank == 0:\n    best = 1.0\nprint([best for best in loader])",
        "if rank == 0:\n    best = 1.0\ndef show():\n    print(best)\nif rank == 0:\n    show()",
        "if rank == 0:\n    best = 1.0\n    class Shown:\n        best = best",
    ],
)
def test_what_all_ranks_have_or_may_have(body):
    assert SNIPPETS.findings(program(body)) == []


RESUMED = """\
best = 1.0 if rank == 0 else None
if args.auto_resume:
    found = max(os.listdir(args.folder), key=os.path.getmtime)
    if found:
        args.model.resume = found
if args.model.resume:
    best.item()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_told"),
    [
        ("", "", True),
        ("if args.model.resume:", "if args.show and args.model.resume:", True),
        ("if args.model.resume:", "if rank == 0 and args.model.resume:", False),
        ("if args.model.resume:", "if asked() and args.model.resume:", False),
        ("if args.model.resume:", "if not args.model.resume:", False),
        ("if found:", "if rank == 0:", False),
        ("if args.auto_resume:", "if asked():", False),
        ("    if found:", "    for found in asked():", False),
        ("os.listdir(args.folder)", "os.listdir(f'{args.folder}/{rank}')", False),
        ("= found", "= asked()", False),
        ("best =", "args.model.resume = rank == 0\nbest =", False),
    ],
)
def test_a_setting_that_is_replaced_by_what_all_ranks_find(old, new, is_told):
    assert old in RESUMED
    assert bool(SNIPPETS.findings(program(RESUMED.replace(old, new)))) is is_told


def test_a_name_of_the_module_is_read_by_a_function_that_all_run():
    text = (
        "import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    log = open('x')\n\n\n"
        "def train():\n    dist.barrier()\n    log.write('x')\n"
    )
    assert SNIPPETS.finding(text).start.line == 9
    assert SNIPPETS.findings(text + "\n\ndef set_up():\n    global log\n    log = open('y')\n") == []
    assert SNIPPETS.findings(text.replace("    dist.barrier()\n", "")) == []


# --- through functions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "helper",
    [
        "if dist.get_rank() != 0:\n    return None\nreturn SummaryWriter('x')",
        "if dist.get_rank() == 0:\n    return SummaryWriter('x')",
        "if dist.get_rank() == 0:\n    return SummaryWriter('x')\nelse:\n    return None",
        "writer = None\nif dist.get_rank() == 0:\n    writer = SummaryWriter('x')\nreturn writer",
    ],
)
def test_what_a_function_gives_to_some_ranks_only(helper):
    behind = "\n\ndef make():\n" + indent(helper, "    ") + "\n"
    text = program("writer = make()\nwriter.flush()", behind)
    assert shown(text, SNIPPETS.finding(text)) == "writer"
    assert SNIPPETS.findings(program("writer = make()\nif writer:\n    writer.flush()", behind)) == []
    assert SNIPPETS.findings(program("if rank == 0:\n    writer = make()\n    writer.flush()", behind)) == []


@pytest.mark.parametrize(
    "helper",
    [
        "if dist.get_rank() == 0:\n    if not os.path.exists('x'):\n        return None\nreturn SummaryWriter('x')",
        "if args is None:\n    return None\nreturn SummaryWriter('x')",
    ],
)
def test_a_function_that_may_give_none_to_all(helper):
    behind = "\n\ndef make(args=None):\n" + indent(helper, "    ") + "\n"
    assert SNIPPETS.findings(program("writer = make()\nwriter.flush()", behind)) == []


def test_what_is_handed_to_a_function_is_used_there():
    behind = "\n\ndef show(writer):\n    writer.flush()\n"
    text = program(NONE + "show(writer)", behind)
    assert SNIPPETS.finding(text).start.line == text.splitlines().index("    writer.flush()") + 1
    assert SNIPPETS.findings(program(NONE + "if rank == 0:\n    show(writer)", behind)) == []
    guarded = behind.replace("    writer", "    if writer is not None:\n        writer")
    assert SNIPPETS.findings(program(NONE + "show(writer)", guarded)) == []


# --- attributes -----------------------------------------------------------------------------------------

BARRIER = "def train(self, loader):\n    dist.barrier()\n"
TRAIN = BARRIER + "    self.writer.flush()\n"
OF_SOME = "if self.rank == 0:\n    self.writer = SummaryWriter('x')"


@pytest.mark.parametrize(
    ("init", "methods"),
    [
        (OF_SOME, TRAIN),
        ("self.writer = None\n" + OF_SOME, TRAIN),
        ("self.writer = SummaryWriter('x') if self.rank == 0 else None", TRAIN),
        ("self.writer = None", TRAIN + "\ndef set_up(self):\n" + indent(OF_SOME, "    ")),
        (OF_SOME, BARRIER + "    self.show()\n\ndef show(self):\n    self.writer.flush()"),
    ],
)  # fmt: skip
def test_attributes_that_only_some_ranks_have(init, methods):
    text = run_with(init, methods)
    assert shown(text, SNIPPETS.finding(text)) == "self.writer"


def test_reading_an_attribute_that_is_not_there_fails_and_reading_none_does_not():
    show = "def train(self, loader):\n    dist.barrier()\n    print(self.writer)\n"
    assert SNIPPETS.findings(run_with("self.writer = None\n" + OF_SOME, show)) == []
    assert len(SNIPPETS.findings(run_with(OF_SOME, show))) == 1


@pytest.mark.parametrize(
    ("init", "methods"),
    [
        (OF_SOME + "\nelse:\n    self.writer = args.silent", TRAIN),
        (OF_SOME, TRAIN + "\ndef reset(self):\n    self.writer = SummaryWriter('y')"),
        (OF_SOME, TRAIN + "\ndef __getattr__(self, name):\n    return print"),
        (OF_SOME, TRAIN + "\ndef fill(self, values):\n    self.__dict__.update(values)"),
        (OF_SOME, BARRIER + "    if hasattr(self, 'writer'):\n        self.writer.flush()"),
        (OF_SOME, BARRIER + "    writer = getattr(self, 'writer', None)\n    if writer:\n        writer.flush()"),
        (OF_SOME, BARRIER + "    if self.rank == 0:\n        self.show()\n\ndef show(self):\n    self.writer.flush()"),
        ("self.is_open = False\nself.writer = None\n" + OF_SOME + "\n    self.is_open = True",
         BARRIER + "    if self.is_open:\n        self.writer.flush()"),
        ("self.is_open = False\nself.writer = None",
         "def set_up(self):\n" + indent(OF_SOME + "\n    self.is_open = True", "    ") + "\n\n"
         + BARRIER + "    if self.is_open:\n        self.writer.flush()"),
        ("self.writer = None\n" + OF_SOME + "\n    Run.is_open = True",
         BARRIER + "    if Run.is_open:\n        self.writer.flush()\n\nis_open = False"),
        (OF_SOME, "def show(self):\n    self.writer.flush()"),
        (OF_SOME, "@main_process_only\ndef train(self, loader):\n    self.writer.flush()"),
        ("self.writer = None\n" + OF_SOME,
         BARRIER + "    if self.writer is None:\n        return\n    self.writer.flush()"),
    ],
)  # fmt: skip
def test_attributes_that_all_ranks_may_have_or_that_some_use(init, methods):
    assert SNIPPETS.findings(run_with(init, methods)) == []


@pytest.mark.parametrize(
    ("base", "is_told"), [("(nn.Module)", True), ("(ABC)", True), ("(Somebodys)", False), ("(Trainer)", False)]
)
def test_a_base_out_of_sight_may_have_the_attribute(base, is_told):
    text = run_with(OF_SOME, TRAIN).replace("class Run:", f"class Run{base}:")
    imports = (
        "from abc import ABC\nfrom somewhere import Somebodys\nfrom torch import nn\nfrom transformers import Trainer\n"
    )
    assert bool(SNIPPETS.findings(imports + text)) is is_told


def test_what_other_code_gives_an_object_it_has():
    text = run_with(OF_SOME, TRAIN) + "\n\ndef main(args):\n    run = Run(args)\n    run.writer = SummaryWriter('y')\n"
    assert SNIPPETS.findings(text) == []


CONTEXT = """\
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


class Context:
    def __init__(self):
        self.steps = 0


def show(context):
    {use}


def main():
    context = Context()
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        context.writer = SummaryWriter("x")
    {after}
    show(context)


main()
"""


@pytest.mark.parametrize(
    ("use", "after", "is_told"),
    [
        ("context.writer.flush()", "pass", True),
        ("print(context.writer)", "dist.barrier()", True),
        ("if context.writer is not None:\n        context.writer.flush()", "pass", True),  # reading it fails already
        ("if hasattr(context, 'writer'):\n        context.writer.flush()", "pass", False),
        ("if dist.get_rank() == 0:\n        context.writer.flush()", "pass", False),
        ("context.writer.flush()", "else:\n        context.writer = None", False),  # two places are not compared
        ("context.writer.flush()", "else:\n        context.writer = SummaryWriter('y')", False),
        ("context.writer.flush()", "context.writer = SummaryWriter('y')", False),
        (
            "context.writer.flush()",
            "other = Context()\n    other.writer = print",
            False,
        ),  # which object gets it is unknown
        ("context.writer.flush()", "setattr(context, 'writer', print)", False),
    ],
)
def test_what_some_ranks_give_an_object(use, after, is_told):
    assert bool(SNIPPETS.findings(CONTEXT.format(use=use, after=after))) is is_told


def test_what_a_class_has_its_objects_have():
    text = run_with(OF_SOME, TRAIN)
    assert SNIPPETS.findings(text.replace("class Run:\n", "class Run:\n    writer = print\n\n")) == []
    assert len(SNIPPETS.findings(text.replace("class Run:\n", "class Run:\n    writer = None\n\n"))) == 1


def test_a_base_in_sight_binds_it_for_all():
    base = "class Base:\n    def __init__(self):\n        self.writer = print\n\n\n"
    text = run_with("super().__init__()\n" + OF_SOME, TRAIN).replace("class Run:", base + "class Run(Base):")
    assert SNIPPETS.findings(text) == []


OLD_MODULE = """\
import torch
from pytorch_lightning import LightningModule


class Module(LightningModule):
    def prepare_data(self):
        self.rows = load()

    def train_dataloader(self):
        return torch.utils.data.DataLoader(self.rows)
"""


@pytest.mark.parametrize(("release", "count"), [(None, 1), ("0", 0), ("1", 1), ("2", 1)])
def test_lightning_before_0_8_prepares_in_each_process(release, count):
    snippets = Snippets("TRL017", Settings(lightning=release))
    assert len(snippets.findings(OLD_MODULE)) == count


CALLS_IT = """\
import pytorch_lightning
from module import Module

def test_rows():
    module = Module()
    module.prepare_data()
"""


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("test_module.py", CALLS_IT, 1),
        ("tune.py", CALLS_IT, 0),
        ("test_module.py", CALLS_IT + "\nif __name__ == '__main__':\n    test_rows()\n", 0),
    ],
)
def test_a_unit_test_that_prepares_data_says_nothing_of_a_training(name, text, count, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(OLD_MODULE)
    (tmp_path / name).write_text(text)
    linter = Linter(replace(SETTINGS, root=tmp_path), (tmp_path,), (find_rule("TRL017"),))
    linter.prepare((path, path.read_bytes()) for path in sorted(tmp_path.glob("*.py")))
    assert len(linter.check(module, module.read_bytes())) == count


@pytest.mark.parametrize("also", ["args.best", "(args.best or args.all)", "(args.best and not args.all)"])
def test_a_condition_on_the_rank_and_others(also):
    assert SNIPPETS.findings(program(f"if rank == 0 and {also}:\n    best = 1.0\nprint(best)"))


# --- a checkpoint to go on from ---------------------------------------------------------------------------

RESUMES = """\
import os

from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint


def main(args: TrainingArguments, model, rows):
    trainer = Trainer(model=model, args=args, train_dataset=rows)
    last = None
    if trainer.is_world_process_zero() and os.path.isdir(args.output_dir):
        last = get_last_checkpoint(args.output_dir)
    trainer.train(resume_from_checkpoint=last)


main(TrainingArguments("out"), AutoModelForCausalLM.from_pretrained("gpt2"), [1, 2])
"""
TESTED = "trainer.is_world_process_zero() and os.path.isdir(args.output_dir)"


def test_a_checkpoint_that_one_rank_goes_on_from():
    finding = SNIPPETS.finding(RESUMES)
    assert shown(RESUMES, finding) == "last"
    assert finding.message == (
        f"`last` is None on ranks where `{TESTED[:57]}...` is false, and all ranks train from it: with several "
        "processes, those without it begin with the first step, and in their last steps wait for the others, which "
        "have fewer left"
    )
    assert finding.consequence is Consequence.DEADLOCK
    assert finding.help == "look for the checkpoint on all ranks, or send what one has found: `broadcast_object_list`"


@pytest.mark.parametrize(
    ("old", "new", "is_reported"),
    [
        ("resume_from_checkpoint=last", "last", True),
        ("resume_from_checkpoint=last", "resume_from_checkpoint=last or None", True),
        ("resume_from_checkpoint=last", "resume_from_checkpoint=agreed(last)", False),
        ("    trainer.train(", "    last = broadcast_object_list([last])[0]\n    trainer.train(", False),
        ("    trainer.train(", "    if last is not None:\n        trainer.train(", False),
        ("trainer.is_world_process_zero() and ", "", False),
        ("trainer.train(resume_from_checkpoint=last)", "trainer.train()\n    print(last)", False),
        ("    last = None\n", "    last = args.resume_from_checkpoint\n", False),
    ],
)
def test_what_a_training_goes_on_from(old, new, is_reported):
    assert old in RESUMES
    assert bool(SNIPPETS.findings(RESUMES.replace(old, new))) is is_reported


# --- what a search for hyper-parameters returns -----------------------------------------------------------

SEARCH = """\
from transformers import Trainer, TrainingArguments


def main(make, space):
    trainer = Trainer(model_init=make, args=TrainingArguments("out"), train_dataset=[1], eval_dataset=[1])
    best = trainer.hyperparameter_search(hp_space=space)
    trainer.args.learning_rate = best.hyperparameters["learning_rate"]
    trainer.train()


main(read(), read())
"""
BEST = 'trainer.args.learning_rate = best.hyperparameters["learning_rate"]'


def test_the_others_do_not_get_the_best_run(tmp_path):
    (tmp_path / "search.py").write_text(SEARCH)
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 4 search.py\n")
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, replace(SETTINGS, root=tmp_path))
    assert [(each.code, shown(SEARCH, each)) for each in findings] == [("TRL017", "best")]
    assert findings[0].message == (
        "`best` is None on all ranks but the first, and all ranks use it: with several processes, those without it "
        "fail here"
    )


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("hp_space=space", "hp_space=space, backend='optuna'", 1),
        ("hp_space=space", "hp_space=space, backend='ray'", 0),
        ("hp_space=space", "hp_space=space, backend=chosen", 0),
        ("hp_space=space", "hp_space=space, **others", 0),
        (BEST, f"if best is not None:\n        {BEST}", 0),
        (BEST, f"if best:\n        {BEST}", 0),
        (BEST, f"if trainer.is_world_process_zero():\n        {BEST}", 0),
        (BEST, f"best = share(best)\n    {BEST}", 0),
        (BEST, "print(best)", 0),
    ],
)
def test_which_searches_and_which_uses(old, new, count):
    text = SEARCH.replace(old, new)
    assert text != SEARCH
    findings = SNIPPETS.findings(text)
    assert len(findings) == count
    assert not any(each.by_default for each in findings)  # nothing shows that there are several processes
