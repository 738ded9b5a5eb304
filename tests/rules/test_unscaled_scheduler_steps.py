"""TRL020: which lengths of schedules count the processes, which loops they belong to, and the fix."""

from __future__ import annotations

import pytest
from snippets import Snippets
from started import by_default_in

from trl_lint.findings import Applicability, Consequence, Finding

SNIPPETS = Snippets("TRL020")
HEAD = """\
import math
import os
import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from diffusers.optimization import get_scheduler
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, OneCycleLR, PolynomialLR
from transformers import get_linear_schedule_with_warmup

"""
MAIN = """\
def main(args):
    accelerator = Accelerator(ACCELERATOR)
    BEFORE
    schedule = MADE
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    global_step = 0
    for epoch in range(args.epochs):
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            global_step += 1
            if global_step >= args.max_steps:
                break
"""
START = "\n\nif __name__ == '__main__':\n    main(parse())\n"
LINEAR = "get_linear_schedule_with_warmup(optimizer, 10, args.max_steps)"
IN_STEPS = MAIN.replace("MADE", LINEAR)
PREPARED = "model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)"
ACCUMULATED = """\
def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    schedule = get_scheduler("cosine", optimizer, num_warmup_steps=WARMUP, num_training_steps=LENGTH)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    global_step = 0
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            global_step += 1
        if global_step >= args.max_steps:
            break
"""


def linted(text: str) -> tuple[str, list[Finding]]:
    text = HEAD + text.replace("    BEFORE\n", "").replace("ACCELERATOR", "") + START
    return text, SNIPPETS.findings(text)


def findings(text: str) -> list[Finding]:
    return linted(text)[1]


def of_call(call: str) -> list[Finding]:
    return findings(MAIN.replace("MADE", call))


def fixed(text: str, *, unsafe: bool = False) -> str:
    return SNIPPETS.fix(linted(text)[0].encode(), unsafe=unsafe).source.decode()


def test_a_finding_is_at_the_call_that_makes_the_schedule():
    text, (finding,) = linted(IN_STEPS)
    assert text.splitlines()[finding.start.line - 1] == f"    schedule = {LINEAR}"
    assert finding.message == (
        "once prepared, this schedule makes a step for each process: on N processes `args.max_steps` steps are over "
        "after 1/N of the training"
    )
    assert [each.text for each in finding.because] == [
        "`prepare` wraps it here, so that it steps for each process",
        "the loop steps it here, once in each step",
    ]
    assert finding.help == "multiply the steps of the warm-up and of the training by `accelerator.num_processes`"
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default
    assert finding.fix is not None and finding.fix.applicability is Applicability.SAFE


@pytest.mark.parametrize(
    "call",
    [
        "CosineAnnealingLR(optimizer, args.max_steps)",
        "CosineAnnealingLR(optimizer, T_max=args.max_steps)",
        "torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=args.max_steps)",
        "LinearLR(optimizer, total_iters=args.max_steps)",
        "PolynomialLR(optimizer, total_iters=args.max_steps)",
        'get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=args.max_steps)',
        "get_scheduler(args.kind, optimizer, None, 0, args.max_steps)",
        "get_linear_schedule_with_warmup(optimizer, 10, int(args.max_steps))",
    ],
)
def test_schedules_of_a_given_length(call):
    assert len(of_call(call)) == 1


@pytest.mark.parametrize(
    "call",
    [
        "get_linear_schedule_with_warmup(optimizer, 10, args.max_steps * accelerator.num_processes)",
        'get_linear_schedule_with_warmup(optimizer, 10, args.max_steps * int(os.environ["WORLD_SIZE"]))',
        "get_linear_schedule_with_warmup(optimizer, 10, args.max_steps * torch.distributed.get_world_size())",
        "get_linear_schedule_with_warmup(optimizer, 10, args.epochs * len(loader))",
        "get_linear_schedule_with_warmup(optimizer, 10, length_of(args))",
        "get_linear_schedule_with_warmup(optimizer, 10, args.other_steps)",
        "get_linear_schedule_with_warmup(optimizer, 10, args.max_steps // 2)",
        "get_linear_schedule_with_warmup(**options)",
        'get_scheduler("constant", optimizer, num_warmup_steps=0, num_training_steps=args.max_steps)',
        "torch.optim.lr_scheduler.StepLR(optimizer, args.max_steps)",
        "LinearLR(optimizer, total_iters=100)",
    ],
)
def test_other_lengths(call):
    assert of_call(call) == []


@pytest.mark.parametrize(
    ("before", "number"),
    [
        ("total = args.max_steps", 1),
        ("total = args.max_steps * accelerator.num_processes", 0),
        ("total = args.max_steps\n    total *= accelerator.num_processes", 0),
        ("processes = accelerator.num_processes\n    total = args.max_steps * processes", 0),
        ("total = args.epochs * len(loader)", 0),
        ("total = args.max_steps if args.given else args.max_steps * accelerator.num_processes", 0),
        ("if args.scaled:\n        total = args.max_steps * accelerator.num_processes\n"
         "    else:\n        total = args.max_steps", 0),
        ("if args.max_steps is None:\n        args.max_steps = args.epochs * len(loader)\n"
         "    total = args.max_steps", 1),
        ("if args.max_steps is None:\n        args.max_steps = math.ceil(len(loader) / accelerator.num_processes)\n"
         "    total = args.max_steps", 1),
        ("if args.max_steps is None:\n        args.max_steps = args.epochs * len(loader) * accelerator.num_processes\n"
         "    total = args.max_steps", 0),
        ("args.max_steps = args.epochs * len(loader)\n    total = args.max_steps", 0),
    ],
)  # fmt: skip
def test_a_length_is_followed_to_where_it_is_assigned(before, number):
    made = LINEAR.replace("args.max_steps", "total")
    assert len(findings(MAIN.replace("MADE", made).replace("BEFORE", before))) == number


def test_workers_of_a_loader_are_no_processes():
    before = "loader = DataLoader(rows, num_workers=args.num_workers)\n    if args.max_steps is None:\n"
    text = IN_STEPS.replace("BEFORE", before + "        args.max_steps = args.epochs * len(loader)")
    assert len(findings(text)) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The settings of the Accelerator.
        ("ACCELERATOR", "split_batches=True"),
        ("ACCELERATOR", "split_batches=args.split"),
        ("ACCELERATOR", "dataloader_config=DataLoaderConfiguration(split_batches=True)"),
        ("ACCELERATOR", "step_scheduler_with_optimizer=False"),
        ("ACCELERATOR", "**args.options"),
        ("ACCELERATOR", '**{"split_batches": True}'),
        ("accelerator = Accelerator(ACCELERATOR)", "accelerator = args.accelerator"),
        # What is prepared.
        (PREPARED, "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"),
        (PREPARED, PREPARED.replace("accelerator.prepare", "prepare_all")),
        # How the loop counts, and how it ends.
        ("global_step += 1", "global_step += accelerator.num_processes"),
        ("global_step += 1", "global_step += len(batch)"),
        ("            if global_step >= args.max_steps:\n                break\n", ""),
        ("if global_step >= args.max_steps:\n                break", "print(global_step >= args.max_steps)"),
        ("            schedule.step()\n", ""),
        # It makes a step in some turns.
        ("schedule.step()", "if generator_turn:\n                schedule.step()"),
    ],
)
def test_other_loops(old, new):
    assert old in IN_STEPS
    assert findings(IN_STEPS.replace(old, new)) == []


def test_a_schedule_that_makes_a_step_for_each_epoch():
    text = IN_STEPS.replace("            schedule.step()\n", "")
    assert findings(text + "        schedule.step()\n") == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for epoch in range(args.epochs):", "while global_step < args.max_steps:"),
        ("args.max_steps", 'args["max_steps"]'),
        ("args.max_steps", "args.train.max_steps"),
        ("def main(args):", "def main(args, max_steps=100):\n    args.max_steps = max_steps"),
        ("ACCELERATOR", 'mixed_precision="bf16"'),
        ("accelerator = Accelerator(ACCELERATOR)", "options = {}\n    accelerator = Accelerator(**options)"),
        ("schedule.step()", "if not accelerator.optimizer_step_was_skipped:\n                schedule.step()"),
        ("schedule.step()", "if schedule is not None:\n                schedule.step()"),
    ],
)
def test_loops_that_end_with_the_schedule(old, new):
    assert len(findings(IN_STEPS.replace(old, new))) == 1


def test_a_loop_over_a_range():
    head, _, _ = IN_STEPS.partition("    global_step = 0")
    loop = "    for step in tqdm(range(args.max_steps)):\n        optimizer.step()\n        schedule.step()\n"
    assert len(findings(head + loop)) == 1
    assert findings(head + loop.replace("args.max_steps", "args.others")) == []


def test_a_schedule_on_an_object():
    text = """\
class Trainer:
    def __init__(self, config):
        self.accelerator = Accelerator()
        self.total = config.max_steps
        schedule = OneCycleLR(self.optimizer, 0.1, total_steps=self.total)
        self.optimizer, self.schedule = self.accelerator.prepare(self.optimizer, schedule)
        self.step = 0

    def train(self):
        while self.step < self.total:
            self.optimizer.step()
            self.schedule.step()
            self.step += 1
"""
    (finding,) = findings(text)
    assert finding.fix is not None and finding.fix.applicability is Applicability.SAFE
    assert "total_steps=self.total * self.accelerator.num_processes" in fixed(text)
    assert findings(text.replace("config.max_steps", "config.epochs * len(config.loader)")) == []


def test_an_option_that_is_constant_by_default_is_not_in_the_default_set():
    option = '    parser.add_argument("--kind", default="{}")\n'
    made = "get_scheduler(args.kind, optimizer, num_warmup_steps=10, num_training_steps=args.max_steps)"
    parse = "def parse(parser):\n" + option
    for default, by_default in (("constant", False), ("linear", True), ("constant_with_warmup", True)):
        (finding,) = findings(parse.format(default) + MAIN.replace("MADE", made))
        assert finding.by_default is by_default
        assert finding.message.endswith(", unless it is constant") is not by_default


@pytest.mark.parametrize(
    "declares",
    [
        '@dataclass\nclass Config:\n    kind: str = "{}"\n\n',
        '@dataclass\nclass Config:\n    kind: str = field(default="{}")\n\n',
    ],
)
def test_other_settings_that_are_constant_by_default(declares):
    made = "get_scheduler(args.kind, optimizer, num_warmup_steps=10, num_training_steps=args.max_steps)"
    text = MAIN.replace("MADE", made)
    for default, by_default in (("constant", False), ("linear", True)):
        (finding,) = findings(declares.format(default) + text)
        assert finding.by_default is by_default


def test_a_parameter_that_is_constant_by_default():
    made = "get_scheduler(kind, optimizer, num_warmup_steps=10, num_training_steps=args.max_steps)"
    text = MAIN.replace("MADE", made).replace("def main(args):", 'def main(args, kind="constant"):')
    assert findings(text) == []
    (finding,) = findings(text + "\n\ndef run(options):\n    main(parse(), **options)\n\n\nrun(options())\n")
    assert not finding.by_default


def test_an_option_of_another_file(tmp_path):
    made = "get_scheduler(args.kind, optimizer, num_warmup_steps=10, num_training_steps=args.max_steps)"
    text = HEAD + "from options import parse\n" + MAIN.replace("MADE", made).replace("    BEFORE\n", "")
    parse = 'def parse():\n    parser.add_argument("--kind", default="{}")\n    return parser.parse_args()\n'
    for default, by_default in (("constant", False), ("linear", True)):
        files = {"options.py": parse.format(default), "train.py": text.replace("ACCELERATOR", "") + START}
        folder = tmp_path / default
        folder.mkdir()
        assert by_default_in(folder, files, "train.py", "TRL020") is by_default


@pytest.mark.parametrize(
    ("length", "number"),
    [
        ("args.max_steps", 1),
        ("args.max_steps * args.accumulation", 1),
        ("args.accumulation * args.max_steps", 1),
        ("args.max_steps * accelerator.num_processes", 0),
        ("args.max_steps * args.accumulation * accelerator.num_processes", 0),
        ("args.max_steps * args.factor", 0),
    ],
)
def test_lengths_of_accumulated_steps(length, number):
    found = findings(ACCUMULATED.replace("WARMUP", "0").replace("LENGTH", length))
    assert len(found) == number
    for finding in found:
        is_multiplied = "accumulation" in length
        assert (
            "N of the `" in finding.message and "training, not args.accumulation: it is" in finding.message
        ) is is_multiplied


def test_a_loop_that_counts_batches_is_not_one_that_counts_steps():
    text = ACCUMULATED.replace("WARMUP", "0").replace("LENGTH", "args.max_steps")
    assert findings(text.replace("if accelerator.sync_gradients:", "if True:")) == []


@pytest.mark.parametrize(
    ("left", "number"),
    [
        ("not accelerator.sync_gradients", 1),
        ("global_step % 4 != 0", 1),
        # These turns are no others.
        ("accelerator.sync_gradients", 0),
        ("not batch", 0),
    ],
)
def test_turns_that_are_left_before_the_step_is_counted(left, number):
    text = ACCUMULATED.replace("WARMUP", "0").replace("LENGTH", "args.max_steps")
    counted = f"if {left}:\n            continue\n        global_step += 1\n"
    text = text.replace("if accelerator.sync_gradients:\n            global_step += 1\n", counted)
    assert "continue" in text
    assert len(findings(text)) == number


def test_the_fix_multiplies_the_warmup_as_well():
    made = "get_linear_schedule_with_warmup(optimizer, {}, {})"
    for warmup, new in (("10", f"10 * {COUNT}"), ("args.warmup", f"args.warmup * {COUNT}"), ("0", "0"),
                        (f"{COUNT} * 5", f"{COUNT} * 5")):  # fmt: skip
        text = MAIN.replace("MADE", made.format(warmup, "args.max_steps"))
        assert made.format(new, f"args.max_steps * {COUNT}") in fixed(text)


COUNT = "accelerator.num_processes"


def test_the_fix_replaces_the_factor_for_accumulation_only_where_it_may_be_unsafe():
    text = ACCUMULATED.replace("WARMUP", "args.warmup * args.accumulation")
    text = text.replace("LENGTH", "args.max_steps * args.accumulation")
    assert fixed(text) == linted(text)[0]
    assert f"num_warmup_steps=args.warmup * {COUNT}, num_training_steps=args.max_steps * {COUNT})" in fixed(
        text, unsafe=True
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (IN_STEPS.replace("BEFORE", "if args.max_steps is None:\n        args.max_steps = len(loader)"),
         "where the number is not given, it is computed, and that one may count the batches of all processes"),
        (IN_STEPS.replace("10, ", "int(args.max_steps * 0.1), "),
         "not all numbers of steps are written in the call as they are in the settings"),
        (ACCUMULATED.replace("WARMUP", "args.warmup").replace("LENGTH", "args.max_steps * args.accumulation"),
         "not all numbers of steps are written in the call as they are in the settings"),
    ],
)  # fmt: skip
def test_what_is_left_to_the_author(text, reason):
    (finding,) = findings(text)
    assert finding.fix is not None
    assert (finding.fix.applicability, finding.fix.reason) == (Applicability.DISPLAY, reason)
    assert fixed(text, unsafe=True) == linted(text)[0]


def test_a_number_that_is_computed_if_none_is_given_is_said():
    (finding,) = findings(IN_STEPS.replace("BEFORE", "if not args.max_steps:\n        args.max_steps = len(loader)"))
    assert finding.message.endswith("of the training, if that setting is given")


def test_a_range_of_accumulated_batches():
    head, _, rest = ACCUMULATED.replace("WARMUP", "0").replace("LENGTH", "args.max_steps").partition("    global_step")
    body = rest[rest.index("        with") : rest.index("        if accelerator")]
    for end, number in (
        ("args.max_steps * args.accumulation", 1),
        ("(args.max_steps - args.start) * args.accumulation", 1),
        ("args.accumulation * args.max_steps", 1),
        ("args.max_steps", 0),
        ("args.max_steps * args.epochs", 0),
        ("args.others * args.accumulation", 0),
    ):
        assert len(findings(f"{head}    for step in range({end}):\n{body}")) == number


HELPER = "def made(optimizer, args, steps):\n    {}\n\n\n"


@pytest.mark.parametrize(
    ("body", "passed", "number"),
    [
        ("return LinearLR(optimizer, total_iters=args.max_steps)", "0", 1),
        ("schedule = LinearLR(optimizer, total_iters=args.max_steps)\n    return schedule", "0", 1),
        ("return LinearLR(optimizer, total_iters=args.max_steps, **args.others)", "0", 1),
        ("return LinearLR(optimizer, total_iters=args.max_steps * args.num_processes)", "0", 0),
        ("return wrapped(LinearLR(optimizer, total_iters=args.max_steps))", "0", 0),
        ("unused = LinearLR(optimizer, total_iters=args.max_steps)\n    return unused.optimizer", "0", 0),
        ("return LinearLR(optimizer, total_iters=steps)", "args.max_steps", 1),
        ("return LinearLR(optimizer, total_iters=steps)", "steps=args.max_steps", 1),
        ("return LinearLR(optimizer, total_iters=steps)", "args.max_steps * accelerator.num_processes", 0),
        ("return LinearLR(optimizer, total_iters=steps)", "len(loader)", 0),
        ("return LinearLR(optimizer, total_iters=steps)", "*others", 0),
    ],
)
def test_a_schedule_that_a_function_returns(body, passed, number):
    text = HELPER.format(body) + MAIN.replace("MADE", f"made(optimizer, args, {passed})")
    found = findings(text)
    assert len(found) == number
    for finding in found:
        assert finding.by_default
        # Others may call the function.
        assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize(
    ("default", "tests", "by_default"),
    [
        ("linear", 'if args.kind == "linear":', True),
        ("constant", 'if args.kind == "linear":', False),
        ("cosine", 'if args.kind == "constant":\n        return None\n    elif args.kind == "cosine":', True),
        ("linear", 'if args.kind == "constant":\n        return None\n    else:', True),
        ("constant", 'if args.kind == "constant":\n        return None\n    else:', False),
        ("linear", "if args.kind in others:", False),
    ],
)
def test_a_schedule_that_a_function_returns_for_a_setting(default, tests, by_default):
    option = f'def parse(parser):\n    parser.add_argument("--kind", default="{default}")\n\n\n'
    body = f"{tests}\n        return LinearLR(optimizer, total_iters=args.max_steps)\n    return None"
    text = option + HELPER.format(body) + MAIN.replace("MADE", "made(optimizer, args, 0)")
    (finding,) = findings(text)
    assert finding.by_default is by_default


UPDATES = """\
def update(accelerator, model, batch, optimizer, schedule):
    accelerator.backward(model(**batch).loss)
    optimizer.step()
    optimizer.zero_grad()
    STEP


def main(args):
    accelerator = Accelerator()
    schedule = get_linear_schedule_with_warmup(optimizer, 10, args.max_steps)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    batches = iter(loader)
    for _ in range(args.LAST):
        update(accelerator, model, next(batches), optimizer, schedule)
        AFTER
"""


@pytest.mark.parametrize(
    ("step", "last", "after", "number"),
    [
        ("schedule.step()", "max_steps", "pass", 1),
        ("schedule.step()", "epochs", "pass", 0),
        ("if args.decays:\n        schedule.step()", "max_steps", "pass", 0),
        ("for _ in range(accelerator.num_processes):\n        schedule.step()", "max_steps", "pass", 0),
        # It makes two steps in each turn.
        ("schedule.step()", "max_steps", "update(accelerator, model, next(batches), optimizer, schedule)", 0),
    ],
)
def test_a_function_that_makes_the_step(step, last, after, number):
    text = HEAD + UPDATES.replace("STEP", step).replace("LAST", last).replace("AFTER", after)
    assert len(findings(text)) == number


BY_LOADER = """\
def main(args):
    accelerator = Accelerator()
    loader = DataLoader(rows(), shuffle=True)
    FIRST
    each = math.ceil(len(loader) / args.accumulation)
    schedule = get_linear_schedule_with_warmup(optimizer, 10, LENGTH)
    LAST
    schedule = accelerator.prepare(schedule)
    for epoch in range(args.epochs):
        for number, batch in enumerate(loader):
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss)
                optimizer.step()
                schedule.step()
"""
_PREPARES = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"


@pytest.mark.parametrize(
    ("first", "length", "last", "is_found"),
    [
        (_PREPARES, "args.epochs * each", "pass", True),
        ("pass", "args.epochs * each", _PREPARES, False),
        (_PREPARES, "args.epochs * each * accelerator.num_processes", "pass", False),
        (_PREPARES, "args.epochs * len(loader)", "pass", False),  # accumulating may make up for it
        (_PREPARES, "args.epochs * len(others)", "pass", False),
        # All batches, divided by the number of processes, are those of one process, too.
        ("pass", "args.epochs * each // accelerator.num_processes", _PREPARES, True),
        ("pass", "args.epochs * math.ceil(each / accelerator.num_processes)", _PREPARES, True),
        ("pass", "args.epochs * (len(loader) // (args.accumulation * dist.get_world_size()))", _PREPARES, True),
        ("pass", "args.epochs * len(loader) // accelerator.num_processes", _PREPARES, False),
        ("pass", "args.epochs * each // 2", _PREPARES, False),
        ("pass", "args.epochs * (each // accelerator.num_processes) * accelerator.num_processes", _PREPARES, False),
        ("pass", "args.epochs * len(others) // (args.accumulation * world_size)", _PREPARES, False),
    ],
)
def test_the_batches_of_a_prepared_loader_are_those_of_one_process(first: str, length: str, last: str, is_found: bool):
    made = BY_LOADER.replace("FIRST", first).replace("LENGTH", length).replace("LAST", last)
    found = findings("from torch.utils.data import DataLoader\n" + made)
    assert len(found) == is_found
    split = made.replace("Accelerator()", "Accelerator(split_batches=True)")
    assert not findings("from torch.utils.data import DataLoader\n" + split)
    outside = made.replace("        for number, batch in enumerate(loader):\n", "        for batch in other:\n")
    assert not findings("from torch.utils.data import DataLoader\n" + outside)


# A step in each epoch

EPOCHS = """\
def main(args):
    accelerator = Accelerator(ACCELERATOR)
    schedule = MADE
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for epoch in range(args.epochs):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
        schedule.step()
"""


def in_epochs(made: str = "StepLR(optimizer, step_size=30)", **changed: str) -> str:
    text = EPOCHS.replace("MADE", made)
    for old, new in changed.values():
        assert old in text
        text = text.replace(old, new)
    return "from torch.optim.lr_scheduler import *\nfrom torch.optim.lr_scheduler import ExponentialLR, StepLR\n" + text


@pytest.mark.parametrize(
    "made",
    [
        "StepLR(optimizer, step_size=args.lr_step)",
        "StepLR(optimizer, 30)",
        "ExponentialLR(optimizer, 0.9)",
        "CosineAnnealingLR(optimizer, T_max=90)",
        "LinearLR(optimizer, 1.0, 0.1, total_iters=20)",
    ],
)
def test_a_prepared_schedule_of_epochs(made):
    (found,) = findings(in_epochs(made))
    assert found.consequence is Consequence.WRONG_TRAINING and "N in each epoch" in found.message
    assert [each.text for each in found.because] == [
        "`prepare` wraps it here, so that it steps for each process",
        "the loop steps it here, once in each epoch",
    ]
    assert found.fix is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # It counts the processes, or the batches.
        ("step_size=30", "step_size=30 * accelerator.num_processes"),
        ("step_size=30", "step_size=len(loader) * 30"),
        (
            "StepLR(optimizer, step_size=30)",
            "MultiStepLR(optimizer, [at * accelerator.num_processes for at in (30, 60)])",
        ),
        ("StepLR(optimizer, step_size=30)", "LambdaLR(optimizer, lambda at: 0.9 ** (at // accelerator.num_processes))"),
        ("StepLR(optimizer, step_size=30)", "LambdaLR(optimizer, rate_at)"),
        ("StepLR(optimizer, step_size=30)", "SequentialLR(optimizer, [LinearLR(optimizer), second], [every])"),
        # It is not prepared, or with settings by which it makes one step.
        (PREPARED, "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"),
        ("ACCELERATOR", "step_scheduler_with_optimizer=False"),
        ("ACCELERATOR", "split_batches=True"),
        # The number of the epoch is set, however often.
        ("schedule.step()", "schedule.step(epoch)"),
        # The schedule that is wrapped makes one step.
        ("schedule.step()", "schedule.scheduler.step()"),
        # The loop is over batches, or over steps that accumulate, so the numbers are those of the batches.
        (
            "for epoch in range(args.epochs):\n        for batch in loader:",
            "for batch in loader:\n        for turn in range(4):",
        ),
        ("for batch in loader:", "for part in range(args.accumulation):"),
        # It makes a step in each batch, or in some epochs.
        ("            optimizer.zero_grad()\n", "            optimizer.zero_grad()\n            schedule.step()\n"),
        ("schedule.step()", "if epoch > 5:\n            schedule.step()"),
        # Nothing is trained beside it.
        ("            accelerator.backward(model(**batch).loss)\n", ""),
        # The result of `prepare` is dropped.
        (PREPARED, "accelerator.prepare(model, optimizer, loader, schedule)"),
    ],
)
def test_other_schedules_beside_epochs(old, new):
    counted = """\


def rate_at(step):
    return 0.9 ** (step // accelerator.num_processes)


every = 5 * torch.cuda.device_count()
"""
    assert findings(in_epochs(change=(old, new)) + counted) == []


@pytest.mark.parametrize(
    "made", ["LambdaLR(optimizer, lambda at: 0.9**at)", "SequentialLR(optimizer, [one, two], [5])"]
)
def test_a_rate_that_counts_the_processes_says_nothing_of_epochs(made):
    text = in_epochs(
        made, change=("    schedule =", "    optimizer = SGD(params, args.lr * args.world_size)\n    schedule =")
    )
    assert len(findings(text)) == 1


def test_a_schedule_of_epochs_on_an_object():
    text = """\
class Training:
    def __init__(self, model, optimizer, loader):
        self.accelerator = Accelerator()
        self.schedule = ExponentialLR(optimizer, 0.9)
        self.model, self.optimizer, self.loader, self.schedule = self.accelerator.prepare(
            model, optimizer, loader, self.schedule
        )

    def train(self, epochs):
        for epoch in range(epochs):
            for batch in self.loader:
                self.accelerator.backward(self.model(batch).mean())
                self.optimizer.step()
            self.schedule.step()
"""
    assert len(findings("from torch.optim.lr_scheduler import ExponentialLR\n" + text)) == 1


def test_a_schedule_of_epochs_that_a_function_returns():
    text = """\
def schedule_of(optimizer):
    made = ExponentialLR(optimizer, 0.9)
    return made


""" + EPOCHS.replace("MADE", "schedule_of(optimizer)")
    assert len(findings("from torch.optim.lr_scheduler import ExponentialLR\n" + text)) == 1
