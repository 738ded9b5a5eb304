"""Scripts that use plain torch.distributed: the rules' findings, and that their help uses its terms."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import Snippets, shown

HEAD = """\
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("nccl", rank=rank, world_size=world_size)

def train(rank, world_size, data):
    setup(rank, world_size)
    model = DDP(torch.nn.Linear(2, 2).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    scaler = torch.cuda.amp.GradScaler()
    total, count, scores = 0, 0, []
    for batch in loader:
"""
TAIL = """\

if __name__ == "__main__":
    mp.spawn(train, args=(2, torch.load("data.pt")), nprocs=2)
"""
STEP = "loss = model(batch['x']).mean()\nloss.backward()\noptimizer.step()\n"
EVALUATION = """\
with torch.no_grad():
    for batch in loader:
        out = model(batch["x"])
        total += (out.argmax(-1) == batch["y"]).sum().item()
        count += len(batch["y"])
        scores.append(out.mean().item())
"""


def script(step: str, after: str = "") -> str:
    return HEAD + indent(step, " " * 8) + indent(after, " " * 4) + TAIL


def found(code: str, step: str, after: str = "") -> list[str]:
    text = script(step, after)
    return [shown(text, finding) for finding in Snippets(code).findings(text)]


# --- the rank of a process ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "place"),
    [
        ("if rank == 0:\n    dist.barrier()", "dist.barrier()"),
        ("if rank == 0:\n    model(batch['x'])", "model(batch['x'])"),
        ("if rank == 0:\n    other = DDP(torch.nn.Linear(2, 2))", "DDP(torch.nn.Linear(2, 2))"),
    ],
)
def test_a_spawned_process_knows_its_rank(after, place):
    assert found("TRL006", STEP, after) == [place]
    assert found("TRL006", STEP, after.replace("rank == 0", "world_size == 2")) == []


def test_what_the_group_is_told_is_the_rank():
    text = (
        "import torch.distributed as dist\n\ndef run(rank, size):\n"
        "    dist.init_process_group('gloo', rank=rank, world_size=size)\n    if rank == 0:\n        dist.barrier()\n"
    )
    assert len(Snippets("TRL006").findings(text)) == 1
    assert Snippets("TRL006").findings(text.replace("if rank", "if size")) == []


def test_who_calls_what_starts_the_processes_is_run_by_each_of_them():
    finding = Snippets("TRL008").finding(script(STEP, 'torch.save(model.state_dict(), "model.pt")'))
    assert finding.help == "do it on the main process only: `if dist.get_rank() == 0:`"
    assert found("TRL008", STEP, 'if rank == 0:\n    torch.save(model.state_dict(), "model.pt")') == []
    text = script(STEP, 'torch.save(model.state_dict(), "model.pt")').replace(
        "    setup(rank, world_size)\n", "    if world_size is None:\n        setup(rank, world_size)\n"
    )
    text = text.replace('mp.spawn(train, args=(2, torch.load("data.pt")), nprocs=2)', "train(0, 2, None)")
    assert len(Snippets("TRL008").findings(text)) == 1, "a model in DDP says it as well"
    assert Snippets("TRL008").findings(text.replace("DDP(torch", "given(torch")) == []


@pytest.mark.parametrize("guard", ["args.rank == 0", "args.rank % 8 == 0", "args.gpu == 0"])
def test_a_field_that_is_the_rank_is_a_guard(guard):
    text = (
        "import torch\nfrom argparse import ArgumentParser\nfrom job import start\n\n"
        "args = ArgumentParser().parse_args()\nstart(args)\ntorch.distributed.init_process_group('nccl')\n"
        f"if {guard}:\n    torch.save(torch.zeros(1), 'x.pt')\n"
    )
    assert Snippets("TRL008").findings(text) == []
    assert len(Snippets("TRL008").findings(text.replace(guard, "args.epochs == 8"))) == 1


# --- what a rank catches --------------------------------------------------------------------------------

CAUGHT = "try:\n" + indent(STEP.replace("optimizer.step()\n", ""), " " * 4)


@pytest.mark.parametrize(
    ("handler", "place"),
    [
        ("except RuntimeError:\n    optimizer.zero_grad()\n    continue\n", "continue"),
        ("except torch.cuda.OutOfMemoryError:\n    torch.cuda.empty_cache()\n", "except torch.cuda.OutOfMemoryError"),
        ("except RuntimeError as error:\n    if 'memory' in str(error):\n        continue\n    raise\n", "continue"),
        ("except:\n    pass\n", "except"),
    ],
)
def test_a_rank_that_skips_its_backward_pass(handler, place):
    text = script(CAUGHT + handler + "optimizer.step()\n")
    finding = Snippets("TRL006").finding(text)
    assert shown(text, finding) == place
    assert finding.message == (
        "ranks where the `try` fails skip `backward`: "
        "with several processes the others wait for them until the time-out"
    )
    assert finding.help.startswith("let all ranks skip the step together")
    scaled = text.replace("loss.backward()", "scaler.scale(loss).backward()")
    assert len(Snippets("TRL006").findings(scaled)) == 1


@pytest.mark.parametrize(
    "step",
    [
        CAUGHT + "except RuntimeError as error:\n    raise ValueError(batch) from error\n",
        CAUGHT + "except KeyboardInterrupt:\n    continue\n",
        CAUGHT + "except ValueError:\n    continue\n",
        "try:\n    loss = model(batch['x']).mean()\n    fine = 1\nexcept RuntimeError:\n    fine = 0\n"
        "flag = torch.tensor(fine)\ndist.all_reduce(flag)\nif flag == 2:\n    loss.backward()\n",
    ],
)
def test_what_all_ranks_do_when_one_fails(step):
    assert found("TRL006", step) == []


def test_a_backward_pass_under_a_condition_on_the_loss():
    assert found("TRL006", "loss = model(batch['x']).mean()\nif loss.isnan():\n    continue\nloss.backward()\n") == [
        "continue"
    ]
    assert found("TRL006", "loss = model(batch['x']).mean()\nif count:\n    continue\nloss.backward()\n") == []


# --- exits ----------------------------------------------------------------------------------------------

ALIKE = "if not alike and rank != 0:\n    return\nif {test}:\n    dist.barrier()\n"


@pytest.mark.parametrize(("test", "is_reported"), [("alike", False), ("not alike", True), ("world_size", True)])
def test_an_exit_that_excludes_what_comes_later(test, is_reported):
    after = "alike = os.environ.get('MODE') == 'all'\n" + ALIKE.format(test=test)
    assert bool(found("TRL006", STEP, after)) is is_reported


# --- the output of an evaluation ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("print(f'accuracy {total / count:.2f}')", "total / count"),
        ("print('accuracy', total / count)", "total / count"),
        ("print('accuracy %.2f' % (total / count))", "(total / count)"),
        ("print('accuracy {}'.format(total / count))", "total / count"),
        ("print(sum(scores) / len(scores))", "sum(scores) / len(scores)"),
    ],
)
def test_a_figure_of_an_evaluation_is_shown(call, named):
    text = script(STEP, EVALUATION + call)
    finding = Snippets("TRL003").finding(text)
    assert shown(text, finding) == call
    assert finding.message == (
        f"`{named}` is computed from this rank's own data and reaches `print` unreduced: "
        "on several GPUs each process shows its own value"
    )
    assert "dist.all_reduce" in finding.help


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from loguru import logger", "logger.info(f'accuracy {total / count}')"),
        ("from loguru import logger", "logger.success(f'accuracy {total / count}')"),
        ("from absl import logging", "logging.info('accuracy %.2f', total / count)"),
        ("import rich", "rich.print(total / count)"),
    ],
)
def test_what_else_shows_a_metric(imported: str, call: str) -> None:
    assert len(found("TRL003", STEP, f"{EVALUATION}{imported}\n{call}")) == 1


def test_shown_by_one_rank_it_is_that_of_the_main_process():
    finding = Snippets("TRL003").finding(script(STEP, EVALUATION + "if rank == 0:\n    print(total / count)"))
    assert finding.message.endswith("only the main process's value is shown")


@pytest.mark.parametrize(
    "call",
    [
        "print(rank, total / count)",
        "print('samples', count)",
        "both = torch.tensor([total, count])\ndist.all_reduce(both)\nprint(both[0] / both[1])",
        "print(world_size)",
        "both = torch.tensor([total, count])\nif data.several:\n    dist.all_reduce(both)\nprint(total / count)",
    ],
)
def test_what_an_evaluation_may_show(call):
    assert found("TRL003", STEP, EVALUATION + call) == []


def test_a_training_and_one_batch_of_an_evaluation_may_be_shown():
    assert (
        found("TRL003", STEP + "print(loss.item())\nscores.append(loss.item())\n", "print(sum(scores) / len(scores))")
        == []
    )
    assert found("TRL003", STEP, EVALUATION + "        print(out.mean().item())\n") == []


def test_a_figure_is_told_once():
    assert len(found("TRL003", STEP, EVALUATION + "score = total / count\nprint(score)\nprint('again', score)")) == 1
    tracked = EVALUATION + "import wandb\nscore = total / count\nprint(score)\nwandb.log({'score': score})"
    assert found("TRL003", STEP, tracked) == ["wandb.log({'score': score})"]
