"""TRL008: functions that the command line, a known decorator or a library calls are run by every process, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from snippets import Snippets

from trl_lint import api
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL008")

COMMAND = """\
import click
import fire
import jsonargparse
import typer
from accelerate import Accelerator

app = typer.Typer()

{}
def main(folder, epoch: int = 1, save=True):
    accelerator = Accelerator()
    if save and epoch % 2:
        open(f"{{folder}}/x", "w")

if __name__ == "__main__":
    {}
"""


@pytest.mark.parametrize(
    ("decorators", "called", "is_reported"),
    [
        ('@click.command()\n@click.option("--folder")', "main()", True),
        ("@app.command()", "app()", True),
        ("", "fire.Fire(main)", True),
        ("", "typer.run(main)", True),
        ("", "jsonargparse.CLI(main)", True),
        ("", "somebody.calls(main)", False),
        ("@somebody.decorates()", "main()", False),
    ],
)
def test_the_options_of_a_command_are_settings(decorators, called, is_reported):
    text = COMMAND.format(decorators, called)
    assert bool(SNIPPETS.findings(text)) is is_reported
    assert not SNIPPETS.findings(text.replace("folder", "local_rank"))


FILLED_IN = """\
import draccus
import gin
import pyrallis
from accelerate import Accelerator
from loguru import logger

@{}
def main(cfg):
    accelerator = Accelerator()
    open(f"{{cfg.folder}}/x", "w")

main()
"""


@pytest.mark.parametrize(
    ("decorator", "is_reported"),
    [
        ("draccus.wrap()", True),
        ("pyrallis.wrap()", True),
        ("draccus.asks(0)", False),
        ("other.wrap()", False),
        ("experiment.automain", True),
        ("gin.configurable", True),
        ('gin.configurable("main")', True),
        ("gin.register", False),
        ("logger.catch", True),
        ("other.catch", False),
    ],
)
def test_a_decorator_may_fill_in_the_settings(decorator, is_reported):
    assert bool(SNIPPETS.findings(FILLED_IN.format(decorator))) is is_reported


DECORATED = """\
import functools
from accelerate import Accelerator, PartialState

def timed(f):
    @functools.wraps(f)
    def inner(*args):
        {}
    return inner

def named(text):
    def decorate(f):
        return timed(f)
    def other(f):
        def inner(*args):
            print(text)
            return f(*args)
        return inner
    return other

@{}
def main():
    accelerator = Accelerator()
    open("x", "w")

main()
"""


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("return f(*args)", True),
        ("with somewhere(): result = f(*args)\n        return result", True),
        ("try: return f(*args)\n        finally: print()", True),
        ("if not args: return f()\n        else: print()\n        return f(*args)", True),
        ("if PartialState().is_main_process: return f(*args)", False),
        ("if not PartialState().is_main_process: return None\n        return f(*args)", False),
        ("return PartialState().is_main_process and f(*args)", False),
        ("for each in rows: f(*args)", False),
        ("pass", False),
    ],
)
def test_a_decorator_in_sight_lets_all_ranks_in_where_it_always_calls(body, is_reported):
    assert bool(SNIPPETS.findings(DECORATED.format(body, "timed"))) is is_reported


def test_a_decorator_that_is_made_by_a_call():
    assert SNIPPETS.findings(DECORATED.format("pass", 'named("x")'))
    assert not SNIPPETS.findings(DECORATED.format("pass", 'somebodys("x")'))


OF_CLASSES = """\
from contextlib import ContextDecorator, contextmanager
from accelerate import Accelerator, PartialState
import torch.distributed as dist

class Reported:
    def __init__(self, where, always=True):
        self.where = where
        self.always = always

    def __call__(self, f):
        def inner(*args):
            try:
                return f(*args)
            except Exception as error:
                print(self.where, error)
                raise
        return inner

class Placed:
    def __call__(self, f):
        def inner(*args):
            print(dist.get_rank())
            return f(*args)
        return inner

class Registered:
    def __call__(self, f):
        f.is_registered = True
        return f

class Guarded(Reported):
    def __call__(self, f):
        def inner(*args):
            if self.always or PartialState().is_main_process:
                return f(*args)
        return inner

class Clock(ContextDecorator):
    def __enter__(self):
        self.start = 0
        return self

    def __exit__(self, *error):
        print(self.start)

class Named(Clock):
    def __call__(self, f):
        self.name = f.__name__
        return super().__call__(f)

class Silent(Clock):
    def __call__(self, f):
        return print

class First(ContextDecorator):
    def __enter__(self):
        if dist.get_rank() != 0:
            dist.barrier()
        return self

    def __exit__(self, *error):
        if dist.get_rank() == 0:
            dist.barrier()

@contextmanager
def clock(name):
    print("begin", name)
    yield
    print("end", name)

@contextmanager
def first(name):
    if dist.get_rank() != 0:
        dist.barrier()
    yield
    if dist.get_rank() == 0:
        dist.barrier()

def wait_for_first():
    if dist.get_rank() != 0:
        dist.barrier()

def note_start():
    if VERBOSE:
        print("begin")

@contextmanager
def waiting():
    wait_for_first()
    yield

@contextmanager
def noting():
    note_start()
    yield

def in_turns(f):
    def inner(*args):
        with waiting():
            return f(*args)
    return inner

def noted(f):
    def inner(*args):
        with noting():
            return f(*args)
    return inner

class Waits(ContextDecorator):
    def __enter__(self):
        wait_for_first()

    def __exit__(self, *error):
        pass

@contextmanager
def counted(name=None):
    if name is None:
        name = "all"
    print(name)
    yield

@{}
def main():
    accelerator = Accelerator()
    open("x", "w")

main()
"""


@pytest.mark.parametrize(
    ("decorator", "is_reported"),
    [
        ("counted()", True),
        ('Reported("main")', True),
        ("Placed()", False),
        ("Registered()", True),
        ('Guarded("main", False)', False),
        ("Clock()", True),
        ("Named()", True),
        ("Silent()", False),
        ("First()", False),
        ('clock("main")', True),
        ('first("main")', False),
        ("waiting()", False),
        ("Waits()", False),
        ("in_turns", False),
        ("noting()", True),
        ("noted", True),
        ("Unknown()", False),
    ],
)
def test_a_decorator_that_is_an_object_or_a_context_of_the_project(decorator, is_reported):
    assert bool(SNIPPETS.findings(OF_CLASSES.format(decorator))) is is_reported


HANDED_BACK = """\
from accelerate import Accelerator, PartialState
from somewhere import on_one_rank

TABLE = {{}}

def register(f):
    {}

def registered_as(name):
    def register_it(f):
        TABLE[name] = f
        {}
    return register_it

@{}
def main():
    accelerator = Accelerator()
    open("x", "w")

main()
"""


@pytest.mark.parametrize("decorator", ["register", "registered_as('x')"])
@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("TABLE[f.__name__] = f; return f", True),
        ("f.is_public = True; return f", True),
        ("f = on_one_rank(f); return f", False),
        ("return on_one_rank(f)", False),
        ("return f if PartialState().is_main_process else print", False),
        ("def f(): pass; return f", False),
        ("print(f)", False),
    ],
)
def test_a_decorator_that_returns_the_function_itself_lets_all_ranks_in(decorator, body, is_reported):
    assert bool(SNIPPETS.findings(HANDED_BACK.format(body, body, decorator))) is is_reported


HANDED = """\
from transformers import Trainer
from trl import GRPOTrainer

class Judge:
    def __init__(self, folder):
        self.folder = folder

    def __call__(self, completions, **kwargs):
        open(f"{{self.folder}}/x", "w")

    def measure(self, prediction):
        open(f"{{self.folder}}/y", "w")

judge = Judge("out")
trainer = {}
"""


@pytest.mark.parametrize(
    ("trainer", "lines"),
    [
        ("GRPOTrainer(reward_funcs=judge)", [9]),
        ("GRPOTrainer(reward_funcs=[other, judge])", [9]),
        ("Trainer(compute_metrics=judge.measure)", [12]),
        ("Trainer(train_dataset=judge)", []),
        ("somebodys(reward_funcs=judge)", []),
    ],
)
def test_objects_and_methods_that_are_handed_to_a_trainer(trainer, lines):
    assert [each.start.line for each in SNIPPETS.findings(HANDED.format(trainer))] == lines


LOADS = """\
from transformers import AutoModelForCausalLM

def load(path):
    return AutoModelForCausalLM.from_pretrained(path, device_map={})
"""
RUNS = """\
from trl import SFTTrainer
from load import load
from save import save

def main(path):
    trainer = SFTTrainer(model=load(path))
    open("x", "w")
    save("y")

main("a")
"""


@pytest.mark.parametrize(("where", "files"), [("None", ["save.py", "train.py"]), ('"auto"', [])])
def test_a_program_whose_helper_spreads_the_model_is_one_process(where, files, tmp_path):
    (tmp_path / "load.py").write_text(LOADS.format(where))
    (tmp_path / "save.py").write_text("def save(path):\n    open(path, 'w')\n")
    (tmp_path / "train.py").write_text(RUNS)
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL008",)))
    assert [Path(each.path).name for each in findings] == files


LATE = """\
Trainer = None
Accelerator = "{unset}"

def load():
    {bind}
    from transformers import Trainer
    from accelerate import Accelerator
    {tell}

def main(model, rows, options):
    load()
    {uses}
    open("x", "w")
"""


@pytest.mark.parametrize(
    ("bind", "tell", "uses", "is_reported"),
    [
        ("global Trainer", "pass", "trainer = Trainer(model)", True),
        ("pass", 'globals().update({"Trainer": Trainer})', "trainer = Trainer(model)", True),
        ("pass", 'globals()["Trainer"] = Trainer', "trainer = Trainer(model)", True),
        # The function's local names stay local, and the module's own names are kept.
        ("pass", "pass", "trainer = Trainer(model)", False),
        ("pass", 'print("Trainer")', "trainer = Trainer(model)", False),
        ("pass", 'globals().update({"Other": Trainer})', "trainer = Trainer(model)", False),
        ("global Accelerator", "pass", "trainer = Trainer(model)", False),
        ("global Accelerator", "pass", "accelerator = Accelerator()", False),
    ],
)
def test_a_function_may_import_names_for_the_whole_module(bind, tell, uses, is_reported):
    assert bool(SNIPPETS.findings(LATE.format(unset="", bind=bind, tell=tell, uses=uses))) is is_reported


STEPS_OF_BASE = """\
import os
import lightning as L


class Base(L.LightningModule):
    def training_step(self, sample, index):
        return self.step(sample, index, True)

    def validation_step(self, sample, index):
        {}

    def step(self, sample, index, is_training):
        raise NotImplementedError

    def show(self, sample):
        pass


class Net(Base):
    def step(self, sample, index, is_training):
        if is_training and index == 0:
            os.mkdir(self.hparams.folder)
        return self.net(sample)

    def show(self, sample):
        os.remove(self.hparams.log_file)

    def helper(self):
        os.mkdir("elsewhere")
"""


@pytest.mark.parametrize(
    ("validation", "found"),
    [
        ("return self.step(sample, index, False)", ["os.mkdir(self.hparams.folder)"]),
        ("self.show(sample)", ["os.mkdir(self.hparams.folder)", "os.remove(self.hparams.log_file)"]),
        ("if self.global_rank == 0:\n            self.show(sample)", ["os.mkdir(self.hparams.folder)"]),
    ],
)
def test_what_a_hook_of_a_base_calls_on_its_heir_is_run_by_each_process(validation, found):
    assert SNIPPETS.places(STEPS_OF_BASE.format(validation)) == found
