"""TRL003: metrics of an evaluation that helpers print, or that are written to files by hand."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets

from trl_lint.findings import Applicability

SNIPPETS = Snippets("TRL003")

EVALUATION = """\
import codecs, csv, json, os
import numpy as np
import torch
import torch.distributed as dist
import yaml
from accelerate import Accelerator
from pathlib import Path
from mine import Network, options, rows

accelerator = Accelerator()
args = options()
model, loader = accelerator.prepare(Network(), torch.utils.data.DataLoader(rows))
rank = dist.get_rank()

{helper}


@torch.no_grad()
def evaluate():
    losses = []
    for batch in loader:
        losses.append(model(batch).loss.item())
    loss = np.mean(losses)
{shown}


evaluate()
"""


def program(shown: str, helper: str = "") -> str:
    indented = "".join(f"    {line}\n" for line in shown.splitlines())
    return EVALUATION.format(helper=helper, shown=indented)


def reported(text: str) -> list[str]:
    """The lines with a finding."""
    lines = text.splitlines()
    return [lines[finding.start.line - 1].strip() for finding in SNIPPETS.findings(text)]


PRINT0 = "def print0(*texts):\n    if rank == 0:\n        print(*texts)"
LOG = """\
def log(text):
    if rank == 0:
        with open("log.txt", "a") as file:
            file.write(text + "\\n")
"""
CONSOLE = "class Console:\n    def say(self, text):\n        print0(text)"


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ("if loss > 1:", "each process shows its own value"),
        ("if rank == 0:", "only the main process's value is shown"),
        ("if rank == 0 and loss > 1:", "only the main process's value is shown"),
    ],
)
def test_the_message_says_who_shows_a_metric(condition, outcome):
    (finding,) = SNIPPETS.findings(program(f"{condition}\n    print('loss', loss)"))
    assert finding.message.endswith(outcome)


REPLACED = """\
def setup_for_distributed(is_master):
    import builtins
    builtin_print = builtins.print

    def print(*args, force=False):
        if is_master or force:
            builtin_print(*args)

    builtins.print = print
"""


@pytest.mark.parametrize(
    ("helper", "call", "outcome"),
    [
        (REPLACED, "print('loss', loss)", "only the main process's value is shown"),
        (REPLACED, "print('loss', loss, force=True)", "each process shows its own value"),
        (REPLACED.replace("builtins.print = print", "pass"), "print('loss', loss)", "each process shows its own value"),
    ],
)
def test_the_message_knows_a_print_of_the_main_process(helper, call, outcome):
    (finding,) = SNIPPETS.findings(program(call, helper))
    assert finding.message.endswith(outcome)


LEVELS = """\
import logging
import torch
import torch.distributed as dist

logger = logging.getLogger(__name__)
other = logging.getLogger("other")

@torch.no_grad()
def evaluate(model, loader):
    losses = []
    for batch in loader:
        losses.append(model(batch).loss.item())
    {shown}("loss %s", sum(losses) / len(losses))

def main(args, model, dataset):
    rank = dist.get_rank()
    {level}
    sampler = torch.utils.data.distributed.DistributedSampler(dataset)
    loader = torch.utils.data.DataLoader(dataset, sampler=sampler)
    evaluate(torch.nn.parallel.DistributedDataParallel(model), loader)
"""
OF_MAIN, OF_EACH = "only the main process's value is shown", "each process shows its own value"


@pytest.mark.parametrize(
    ("level", "shown", "outcome"),
    [
        ("logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARN)", "logger.info", OF_MAIN),
        ("logging.basicConfig(level=logging.INFO if args.local_rank in [-1, 0] else logging.WARN)", "logging.info",
         OF_MAIN),
        ("level = logging.INFO if rank == 0 else logging.WARN; logging.basicConfig(level=level)", "logger.info",
         OF_MAIN),
        ("logger.setLevel(logging.INFO if rank == 0 else logging.ERROR)", "logger.info", OF_MAIN),
        ("if rank == 0: logging.basicConfig(level=logging.INFO)", "logger.info", OF_MAIN),
        ("other.setLevel(logging.INFO if rank == 0 else logging.ERROR)", "logger.info", OF_EACH),
        ("logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARN)", "logger.warning", OF_EACH),
        ("logging.basicConfig(level=logging.INFO if args.verbose else logging.WARN)", "logger.info", OF_EACH),
        ("logging.basicConfig(level=logging.INFO)", "logger.info", OF_EACH),
    ],
)  # fmt: skip
def test_a_log_whose_level_is_set_by_the_rank_shows_the_value_of_the_main_process(level, shown, outcome):
    finding = SNIPPETS.finding(LEVELS.format(level=level, shown=shown))
    assert finding.message.endswith(outcome)


@pytest.mark.parametrize(
    ("logger", "given", "outcome"),
    [
        ("accelerate.logging", "", OF_MAIN),
        ("accelerate.logging", ", main_process_only=True", OF_MAIN),
        ("accelerate.logging", ", main_process_only=False", OF_EACH),
        ("accelerate.logging", ", main_process_only=False, in_order=True", OF_EACH),
        ("accelerate.logging", ", main_process_only=args.quiet", OF_EACH),
        ("transformers.utils.logging", "", OF_EACH),
    ],
)
@pytest.mark.parametrize("level", ["info", "warning"])
def test_a_logger_of_accelerate_shows_the_value_of_the_main_process(logger, given, outcome, level):
    helper = f"from {logger} import get_logger\nlogger = get_logger(__name__)"
    finding = SNIPPETS.finding(program(f'logger.{level}(f"loss {{loss}}"{given})', helper))
    assert finding.message.endswith(outcome)


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        (PRINT0, 'print0(f"loss {loss}")'),
        (PRINT0, 'print0("loss", loss)'),
        (LOG, 'log(f"loss {loss}")'),
        (LOG, 'log(text="loss %f" % loss)'),
        (LOG + "\n\ndef log_value(name, value):\n    log(f'{name}: {value}')", 'log_value("loss", loss)'),
        (f"{PRINT0}\n\n{CONSOLE}", 'Console().say(f"loss {loss}")'),
        ("def show(text):\n    import logging\n    logging.info(text)", 'show(f"loss {loss}")'),
    ],
)
def test_a_helper_prints_what_it_gets(helper, call):
    assert reported(program(call, helper)) == [call]


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        ("def show(text):\n    print(f'[{rank}] {text}')", 'show(f"loss {loss}")'),
        ("def show(value):\n    value = accelerator.gather(value).mean()\n    print(value)", "show(loss)"),
        ("def show(text):\n    with open(f'{rank}.txt', 'a') as file:\n        file.write(text)", "show(str(loss))"),
        ("def show(text):\n    return text", 'show(f"loss {loss}")'),
        (PRINT0, 'print0(f"{rank}: loss {loss}")'),
        (PRINT0, "print0(len(losses), loss.dtype)"),
    ],
)
def test_a_helper_that_shows_no_metric_of_one_rank_as_that_of_all(helper, call):
    assert reported(program(call, helper)) == []


def test_the_message_says_who_shows_it():
    (finding,) = SNIPPETS.findings(program('print0(f"loss {loss}")', PRINT0))
    assert finding.message == (
        "`loss` is computed from this rank's own data and reaches `print0` unreduced: "
        "on several GPUs only the main process's value is shown"
    )
    assert finding.fix is not None
    assert finding.fix.reason == "it is only shown here; the values that it is computed from have to be gathered first"


@pytest.mark.parametrize(
    "write",
    [
        'file.write(f"loss {loss}")',
        'file.write("loss " + str(loss) + "\\n")',
        'print("loss", loss, file=file)',
        'json.dump({"loss": loss}, file)',
        'json.dump(obj={"loss": loss}, fp=file)',
        'yaml.dump({"loss": loss}, file)',
        "csv.writer(file).writerow([1, loss])",
        'csv.DictWriter(file, ["loss"]).writerow({"loss": loss})',
    ],
)
@pytest.mark.parametrize(
    ("place", "count"),
    [
        ('with open("log.txt", "a") as file:', 1),
        ('with open(os.path.join(args.folder, "log.txt"), mode="w") as file:', 1),
        ('with Path(args.folder, "log.txt").open("w") as file:', 1),
        ('with codecs.open("log.txt", mode="w") as file:', 1),
        ('with open(f"log{rank}.txt", "w") as file:', 0),
        ('with codecs.open(f"log{rank}.txt", mode="w") as file:', 0),
        ("with open(args.path_of(rank), 'w') as file:", 0),
        ('with open("log.txt", "ab") as file:', 0),
    ],
)
def test_a_metric_is_written_to_a_file_of_all_ranks(write, place, count):
    assert reported(program(f"{place}\n    {write}")) == [write] * count


@pytest.mark.parametrize(
    "lines",
    [
        'Path("log.txt").write_text(f"loss {loss}")',
        'text = f"loss {loss}"\nopen("log.txt", "w").write(text)',
        'if rank == 0:\n    args.log.write(f"loss {loss}")',
        'file = open("log.txt", "a")\nwriter = csv.writer(file)\nwriter.writerow(("loss", loss))',
    ],
)
def test_other_ways_to_write_it(lines):
    assert reported(program(lines)) == [lines.splitlines()[-1].strip()]


@pytest.mark.parametrize(
    "lines",
    [
        'args.log.write(f"loss {loss}")',
        'if args.own:\n    text = f"{rank}: {loss}"\nelse:\n    text = str(loss)\nopen("log.txt", "w").write(text)',
        'with open("log.txt", "w") as file:\n    json.dump(losses, file)',
        'with open("log.txt", "w") as file:\n    file.write(args.name)',
        "import sys\nprint(rank, loss, file=sys.stderr)",
    ],
)
def test_what_is_written_and_right_or_unknown(lines):
    assert reported(program(lines)) == []


def test_a_metric_that_is_shown_in_several_ways_is_one_finding():
    shown = (
        'print(f"loss {loss}")\nprint0(loss)\nlog(f"loss {100 * loss:.2f}")\n'
        'with open("log.txt", "a") as file:\n    file.write(str(loss))'
    )
    assert reported(program(shown, f"{PRINT0}\n\n{LOG}")) == ['print(f"loss {loss}")']


def test_a_dict_that_is_written_after_its_entries_are_printed_is_one_finding():
    shown = 'figures = {"loss": loss, "rows": 5}\nprint(figures["loss"])\nwith open("log.txt", "a") as file:\n'
    assert reported(program(f"{shown}    json.dump(figures, file)")) == ['print(figures["loss"])']
    entry = "for key in figures:\n    print(key, figures[key])\n"
    assert reported(program(shown.replace('print(figures["loss"])\n', entry) + "    file.write(str(figures))")) == [
        "print(key, figures[key])"
    ]


def test_what_a_caller_writes_is_reported_where_it_is_printed():
    text = program('print(f"loss {loss}")\nreturn loss').replace(
        "\nevaluate()\n", '\nmean = evaluate()\nwith open("log.txt", "a") as file:\n    file.write(str(mean))\n'
    )
    assert reported(text) == ['print(f"loss {loss}")']
    assert reported(text.replace('    print(f"loss {loss}")\n', "")) == ["file.write(str(mean))"]


ASKED = program("print(loss)").replace("for batch in loader:", "for _ in range(args.steps):\n        batch = {}")


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ("next(batches)", 1),
        ("next(iter(loader))", 1),
        ("fetch(batches)", 1),
        ("rows[0]", 0),
        ("accelerator.gather(next(batches))", 0),
    ],
)
def test_batches_that_an_evaluation_asks_for(asked, count):
    text = ASKED.replace("{}", asked).replace("losses = []", "losses, batches = [], iter(loader)")
    text = text.replace("@torch.no_grad()", "def fetch(batches):\n    return next(batches)\n\n\n@torch.no_grad()")
    assert len(reported(text)) == count
    in_while = text.replace("for _ in range(args.steps):", "while len(losses) < 5:")
    assert len(reported(in_while)) == count


def test_what_is_asked_for_to_train_on_is_no_evaluation():
    text = ASKED.replace("{}", "next(batches)").replace("losses = []", "losses, batches = [], iter(loader)")
    training = text.replace(
        "        losses.append(", "        accelerator.backward(model(batch).loss)\n        losses.append("
    )
    assert reported(training.replace("@torch.no_grad()\n", "")) == []
    assert len(reported(text)) == 1


OWN = """\
import torch
import torch.distributed as dist
import wandb
from mine import Network, tokens

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
model = torch.nn.parallel.DistributedDataParallel(Network().cuda())


def batch_of(step):
    place = (step * size + rank) * 64
    rows = torch.tensor(tokens[place : place + 65])
    return rows[:-1].cuda(), rows[1:].cuda()


with torch.no_grad():
    loss = 0.0
    for step in range(10):
        x, y = batch_of(step)
        loss += {call}.item()
if rank == 0:
    wandb.log({{"loss": loss / 10}})
"""


@pytest.mark.parametrize(
    ("call", "count"),
    [
        ("model(x)", 1),
        ("model(x, y)", 1),
        ("model(x, targets=y)", 1),
        ("model(x, y, return_logits=False)[1]", 1),
        ("model(tokens, y)", 0),
        ("model(torch.zeros(3), y)", 0),
        ("model(rank)", 0),
    ],
)
def test_what_a_model_computes_of_tensors_that_the_rank_cuts(call, count):
    findings = SNIPPETS.findings(OWN.format(call=call))
    assert len(findings) == count
    assert all(finding.fix.applicability is Applicability.DISPLAY for finding in findings)


@pytest.mark.parametrize(
    ("shown", "sink"),
    [
        ('Path("log.v1.json").write_text(f"loss {loss}")', 'Path("log.v1.json").write_text'),
        ('(Path("out") / "log.json").write_text(f"loss {loss}")', '(Path("out") / "log.json").write_text'),
        ('open(f"{args.out}/log.txt", "w").write(f"loss {loss}")', 'open(f"{args.out}/log.txt", "w").write'),
        ('Path("log").write_text(f"loss {loss}")', 'Path("log").write_text'),
        ('args.files = open("log.txt", "w")\nargs.files.write(f"loss {loss}")', "files.write"),
    ],
)
def test_what_it_reaches_is_named_in_full_if_it_is_more_than_names(shown, sink):
    finding = SNIPPETS.finding(program(f"if rank == 0:\n{indent(shown, '    ')}"))
    assert f"reaches `{sink}` unreduced" in finding.message
