"""How the cost of a lint grows with the size of its input: families of programs, each doubled six times.

    python -m bench.growth [--only TEXT]

The exponent is that of a power law through CPU seconds over size (least squares of the logarithms), over the sizes that
take longer than the clock's precision. Exit code 1 when one is above 1.3.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evaluation.common import FAILED, PASSED, new_linter, run, table

LIMIT = 1.3
DOUBLED = 6
# Seconds below which a measurement is too inexact.
EXACT = 0.05
HEAD = """from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
"""
LOOP = """
def main(model, data, optimizer):
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data))
    for batch in loader:
        loss = model(**batch).loss
"""


def in_loop(lines: Sequence[str]) -> str:
    return HEAD + LOOP + "".join(f"        {line}\n" for line in lines)


def helpers(size: int) -> str:
    """A chain of functions, each of which calls the next one."""
    chain = [f"def f{number}(x):\n    return f{number + 1}(x) + 1\n" for number in range(size)]
    return "\n".join([*chain, f"def f{size}(x):\n    return x.mean()\n", in_loop(["accelerator.log({'m': f0(loss)})"])])


def classes(size: int) -> str:
    """Classes that inherit from one another, each with a method that calls the one above."""
    first = "class C0:\n    def step(self, x):\n        self.last = x\n        return x\n"
    rest = [
        f"class C{number}(C{number - 1}):\n    def step(self, x):\n        return super().step(x) + {number}\n"
        for number in range(1, size)
    ]
    return "\n".join([first, *rest, in_loop([f"accelerator.log({{'m': C{size - 1}().step(loss)}})"])])


def branches(size: int) -> str:
    lines = [f"if batch['n'] > {number}:\n            loss = loss + {number}" for number in range(size)]
    return in_loop([*lines, "accelerator.log({'m': loss})"])


def nested(size: int) -> str:
    """Nested conditions, as deep as Python's parser allows, one such block after the other."""
    deep = 12
    block = "\n".join("    " * (each + 2) + f"if batch['n'] > {each}:" for each in range(deep)).lstrip()
    block += "\n" + "    " * (deep + 2) + "loss = loss + 1"
    return in_loop([*[block] * max(1, size // deep), "accelerator.log({'m': loss})"])


def call_sites(size: int) -> str:
    helper = "\n\ndef scaled(x, factor):\n    return x * factor\n"
    return HEAD + helper + LOOP + "".join(f"        v{number} = scaled(loss, {number})\n" for number in range(size))


def keys(size: int) -> str:
    return in_loop(
        ["metrics = {}", *(f"metrics['m{number}'] = loss" for number in range(size)), "accelerator.log(metrics)"]
    )


def copies(size: int) -> str:
    """Dictionaries, each built from the one before and one more entry."""
    lines = [f"m{number + 1} = {{**m{number}, 'k{number}': loss}}" for number in range(size)]
    return in_loop(["m0 = {}", *lines, f"accelerator.log(m{size})"])


def statements(size: int) -> str:
    return in_loop(
        [*(f"v{number} = loss.detach() * {number}" for number in range(size)), "accelerator.log({'m': loss})"]
    )


def tuples(size: int) -> str:
    """Tuples, each with the one before twice."""
    return in_loop(["t0 = (loss, loss)", *(f"t{number + 1} = (t{number}, t{number})" for number in range(size))])


def functions(size: int) -> str:
    """A larger code base: the same loop again and again, in separate functions."""
    return HEAD + "".join(
        LOOP.replace("main", f"main{number}") + "        accelerator.log({'m': loss})\n" for number in range(size)
    )


def files(size: int) -> dict[str, str]:
    """A larger code base: the same script again and again, in files of their own that import the same helper."""
    helper = "def mean_of(loss):\n    return loss.mean()\n"
    head = f"from helper import mean_of\n{HEAD}"
    log = "class Log:\n    def write(self, loss):\n        accelerator.log({'m': mean_of(loss)})\n\n"
    script = f"{head}\n{log}{LOOP}        Log().write(loss)\n"
    names = (f"{number:b}".translate({ord("0"): "a", ord("1"): "b"}) for number in range(size))  # no versions of one
    return {"helper.py": helper, **{f"{name}.py": script for name in names}}


def commands(size: int) -> dict[str, str]:
    """A code base of programs of the same name in folders of their own, with a launch command for each."""
    script = f"{HEAD}{LOOP}        accelerator.log({{'m': loss}})\n\n\nif __name__ == '__main__':\n    main()\n"
    folders = [f"{number:b}".translate({ord("0"): "a", ord("1"): "b"}) for number in range(size)]
    launches = {f"{each}/scripts/run.sh": "torchrun --nproc_per_node 2 train.py\n" for each in folders}
    return {**{f"{each}/train.py": script for each in folders}, **launches}


def recipes(size: int) -> dict[str, str]:
    """A collection of programs, each in a folder of its own, whose functions have the same names in all of them."""
    script = f"""{HEAD}import torch
import torch.multiprocessing as mp
from torch.utils.data.distributed import DistributedSampler


def compute_loss(model, batch):
    loss = model(**batch).loss
    accelerator.log({{'m': loss}})
    return loss


def train_one_epoch(model, loader, optimizer):
    for batch in loader:
        compute_loss(model, batch).backward()
        optimizer.step()


def make_loader(data, spread):
    return DataLoader(data, sampler=DistributedSampler(data) if spread else None)


def run(rank, world_size, args):
    train_one_epoch(args.model, make_loader(args.data, world_size > 1), args.optimizer)


def main(args):
    if torch.cuda.device_count() > 1:
        mp.spawn(run, args=(2, args), nprocs=2)
    else:
        run(0, 1, args)
"""
    folders = [f"{number:b}".translate({ord("0"): "a", ord("1"): "b"}) for number in range(size)]
    return {f"{each}/train.py": script for each in folders}


# By what grows: the program of a given size, or its files by their names, and the first size.
FAMILIES: Mapping[str, tuple[Callable[[int], str | dict[str, str]], int]] = {
    "files": (files, 8),
    "launch commands": (commands, 4),
    "recipes": (recipes, 4),
    "functions": (functions, 4),
    "chain of helpers": (helpers, 4),
    "class depth": (classes, 2),
    "branches": (branches, 16),
    "nested branches": (nested, 24),
    "call sites": (call_sites, 32),
    "dictionary keys": (keys, 32),
    "dictionary copies": (copies, 8),
    "nested tuples": (tuples, 4),
    "statements": (statements, 64),
}


def texts_of(program: str | dict[str, str]) -> dict[str, str]:
    """The files of a program, by their names."""
    return {"grown.py": program} if isinstance(program, str) else program


def seconds(program: str | dict[str, str]) -> float:
    """CPU seconds of a lint of one program, without what is loaded once; the best of two."""
    texts = texts_of(program)

    def once() -> float:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.items():
                Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
                Path(folder, name).write_text(text, encoding="utf-8")
            sources = [(Path(folder, name), text.encode()) for name, text in texts.items() if name.endswith(".py")]
            linter = new_linter(Path(folder))
            linter.overlay.update(sources)
            begun = time.process_time()
            linter.prepare(sources)
            for path, source in sources:
                linter.check(path, source)
            return time.process_time() - begun

    return min(once(), once())


def exponent(sizes: Sequence[int], spent: Sequence[float]) -> float:
    """The slope of a line through the logarithms; NaN if there is too little to measure."""
    points = [(math.log(size), math.log(each)) for size, each in zip(sizes, spent, strict=True) if each > EXACT]
    if len(points) < 3:
        return math.nan
    x, y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="families with this text in their name")
    chosen = parser.parse_args(arguments)
    seconds(statements(4))  # load what is loaded only once
    rows: list[tuple[object, ...]] = [("what grows", "sizes", "CPU s", "exponent")]
    worst = 0.0
    for name, (program, first) in FAMILIES.items():
        if chosen.only not in name:
            continue
        sizes = [first << step for step in range(DOUBLED + 1)]
        spent = [seconds(program(size)) for size in sizes]
        slope = exponent(sizes, spent)
        worst = max(worst, 0.0 if math.isnan(slope) else slope)
        shown = "too fast to say" if math.isnan(slope) else f"{slope:.2f}"
        rows.append((name, f"{sizes[0]} … {sizes[-1]}", " ".join(f"{each:.2f}" for each in spent), shown))
        print(f"… {name}", file=sys.stderr)
    print(table(rows))
    return PASSED if worst <= LIMIT else FAILED


if __name__ == "__main__":
    run(main)
