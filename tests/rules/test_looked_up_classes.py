"""Objects of a class, and methods, that the program looks up by a name: in registries, tables of a class, lists."""

import pytest
from small_projects import found, written

TRAIN = """\
import argparse

import torch.distributed as dist
import kinds
from finding import find
from kinds import Base, Entered, KINDS, Runner, Task, build_from_cfg, build_other, make_hooks

def train():
    args = argparse.ArgumentParser().parse_args()
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    RUN


train()
"""
KINDS = """\
import torch
import torch.distributed as dist
from registries import *


class Base:
    def __init__(self, args):
        self.args = args

    def save(self):
        raise NotImplementedError


class Task:
    kinds = {}
    entered = {}
    others = {}

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.kinds[cls.__name__] = cls

    @classmethod
    def make(cls, args):
        return cls.kinds[args.kind](args)


class Entered:
    table = {}
    others = {}

    @classmethod
    def register(cls, name):
        def enter(each):
            cls.table[name] = each
            return each

        return enter

    @classmethod
    def note(cls, name):
        return lambda each: each

    @classmethod
    def make(cls, args):
        return cls.table[args.kind](args)


KINDS = Registry()


def build_from_cfg(cfg, registry, default_args=None):
    return registry.get(cfg.pop("type"))(**cfg)


def build_other(cfg, others):
    return others.last(**cfg)


class Runner:
    def save_model(self):
        torch.save({}, f"out/model_{dist.get_world_size()}.pt")

    def load_model(self):
        pass

    def go(self, args):
        getattr(self, f"{args.mode}_model")()

    def go_by_rank(self):
        getattr(self, f"{['save', 'load'][min(dist.get_rank(), 1)]}_model")()


def make_hooks(args):
    return [Plain(args), args.hook]


DECORATOR
class Plain(BASES):
    def __init__(self, args=None, **options):
        self.args = args

    def save(self):
        torch.save({"plain": dist.get_world_size()}, "out/plain.pt")
"""
REGISTRIES = """\
class Registry:
    def __init__(self):
        self.entries = {}

    def __call__(self, name):
        return self.register(name)

    def register(self, name):
        def enter(cls):
            self.entries[name] = cls
            return cls

        return enter

    def get(self, name):
        return self.entries[name]
"""


def is_found(folder, run, decorator="", bases="Base", more="", own="Plain", method="save"):
    """Whether the method of a class is reported that writes a file."""
    kinds = KINDS.replace("DECORATOR\n", decorator + "\n" if decorator else "").replace("BASES", bases) + more
    files = {"train.py": TRAIN.replace("RUN", run), "kinds.py": kinds, "registries.py": REGISTRIES}
    text = kinds[kinds.index(f"class {own}") :]
    line = kinds[: kinds.index(f"class {own}") + text.index("torch.save")].count("\n") + 1
    return ("kinds.py", line, "TRL008") in found(written(folder, files))


@pytest.mark.parametrize(
    ("run", "decorator", "expected"),
    [
        ("KINDS.get(args.kind)(args).save()", '@KINDS("plain")', True),
        ("build_from_cfg(args.kind, KINDS).save()", '@KINDS.register("plain")', True),
        ("build_from_cfg(args.kind, registry=KINDS).save()", '@KINDS.register("plain")', True),
        ("Entered.make(args).save()", '@Entered.register("plain")', True),
        ("Entered.table[args.kind](args).save()", '@Entered.register("plain")', True),
        (
            "Entered.make(args).save()",
            '@Entered.register("f")\ndef f(args):\n    pass\n@Entered.register("plain")',
            True,
        ),
        ("KINDS.get(args.kind)(args).save()", '@KINDS.register("f")\ndef f(args):\n    return Plain(args)\n', True),
        # No registration, in another table, or by another decorator.
        ("KINDS.get(args.kind)(args).save()", '@KINDS.note("f")\ndef f(args):\n    return Plain(args)\n', False),
        ("KINDS.get(args.kind)(args).save()", '@KINDS.note("plain")', False),
        ("build_other(args.kind, KINDS).save()", '@KINDS.register("plain")', False),
        ("build_from_cfg(args.kind, OTHERS).save()", '@KINDS.register("plain")', False),
        ("Entered.make(args).save()", '@Entered.note("plain")', False),
        ("Entered.make(args).save()", '@Others.register("plain")', False),
        ("Entered.others[args.kind](args).save()", '@Entered.register("plain")', False),
        # Each rank chooses for itself.
        ("Entered.table[rank](args).save()", '@Entered.register("plain")', False),
        ("build_from_cfg({'type': rank}.get('type'), KINDS).save()", '@KINDS.register("plain")', False),
        ("if rank == 0:\n        KINDS.get(args.kind)(args).save()", '@KINDS("plain")', False),
    ],
)
def test_classes_that_decorators_enter(tmp_path, run, decorator, expected):
    assert is_found(tmp_path, run, decorator) is expected


@pytest.mark.parametrize(
    ("run", "bases", "expected"),
    [
        ("Task.make(args).save()", "Task", True),
        ("Task.make(args).save()", "Base, Task", True),
        ("Task.kinds[args.kind](args).save()", "Task", True),
        ("Task.make(args).save()", "Base", False),
        ("Task.others[args.kind](args).save()", "Task", False),
        ("Task.kinds[rank](args).save()", "Task", False),
        ("if rank == 0:\n        Task.make(args).save()", "Task", False),
    ],
)
def test_heirs_that_a_class_enters_itself(tmp_path, run, bases, expected):
    assert is_found(tmp_path, run, bases=bases) is expected


def test_the_heirs_of_heirs_are_entered_too(tmp_path):
    last = "\n\nclass Last(Plain):\n    def save(self):\n        torch.save({}, f'out/{dist.get_world_size()}.pt')\n"
    assert is_found(tmp_path, "Task.make(args).save()", bases="Task", more=last, own="Last")


@pytest.mark.parametrize(("number", "expected"), [(7, True), (20, True), (40, False)])
def test_each_of_many_registered_classes_is_followed(tmp_path, number, expected):
    more = "".join(f'\n\n@KINDS("plain{each}")\nclass Plain{each}(Base):\n    pass\n' for each in range(number))
    assert is_found(tmp_path, "KINDS.get(args.kind)(args).save()", '@KINDS("plain")', more=more) is expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("for hook in make_hooks(args):\n        hook.save()", True),
        ('for hook in make_hooks(args):\n        getattr(hook, "save")()', True),
        ("for hook in make_hooks(args):\n        hook.load()", False),
        ("make_hooks(args)[min(rank, 1)].save()", False),
        ("for hook in make_hooks(args):\n        if rank == 0:\n            hook.save()", False),
    ],
)
def test_the_methods_of_the_known_among_unknown_objects_are_run(tmp_path, run, expected):
    assert is_found(tmp_path, run) is expected


@pytest.mark.parametrize(("run", "expected"), [("Runner().go(args)", True), ("Runner().go_by_rank()", False)])
def test_a_method_of_which_a_part_of_the_name_is_known(tmp_path, run, expected):
    assert is_found(tmp_path, run, own="Runner") is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("config.saver", True),
        ("config['saver']", True),
        ("dict(type='saver', out=f'out/{rank}.pt')", False),
        ("made(config)", False),
        ("None", False),
    ],
)
def test_what_settings_say_is_what_the_class_is_made_with(tmp_path, given, expected):
    saver = """\
import torch
from kinds import KINDS


@KINDS.register("saver")
class Saver:
    def __init__(self, out):
        torch.save({}, out)
"""
    train = f"""\
import torch.distributed as dist
import saver
from kinds import KINDS
from others import made


def train(config):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    KINDS.build({given})
"""
    kinds = "from registries import Registry\n\nKINDS = Registry()\n"
    registries = REGISTRIES + '\n    def build(self, cfg):\n        return self.entries[cfg.pop("type")](**cfg)\n'
    files = {"train.py": train, "kinds.py": kinds, "registries.py": registries, "saver.py": saver}
    assert found(written(tmp_path, files)) == ([("saver.py", 8, "TRL008")] if expected else [])


MORE = "".join(f"\n\nclass Plain{each}(Base):\n    def save(self):\n        return {each}\n" for each in range(8))


@pytest.mark.parametrize(
    ("run", "bases", "more", "expected"),
    [
        ("thing: Base = find(args)\n    thing.save()", "Base", "", True),
        ("thing: Base = find(args)\n    if rank == 0:\n        thing.save()", "Base", "", False),
        ("thing: Base = find(args)\n    thing.load()", "Base", "", False),
        ("thing: Runner = find(args)\n    thing.save()", "Base", "", False),
        # It may be the class itself, no heir of it, one of too many, or one that some ranks have.
        ("thing: Base = find(args) or Base(args)\n    thing.save()", "Base", "", False),
        ("thing: Base = find(args)\n    thing.save()", "Task", "", False),
        ("thing: Base = find(args)\n    thing.save()", "Base", MORE, False),
        (
            "made = kinds.Plain(args) if rank == 0 else None\n    thing: Base = find(args)\n    thing.save()",
            "Base",
            "",
            False,
        ),
    ],
)
def test_what_a_class_leaves_to_its_heirs_is_what_these_do(tmp_path, run, bases, more, expected):
    assert is_found(tmp_path, run, bases=bases, more=more) is expected


PROGRAM = """import torch
from kinds import Base, KINDS


DECORATOR
class Exported(Base):
    def save(self):
        torch.save({}, "exported.pt")


def export():
    Exported().save()
"""
MAIN = '\n\nif __name__ == "__main__":\n    export()\n'


@pytest.mark.parametrize(
    ("run", "decorator", "imports", "expected"),
    [
        ("thing: Base = find(args)\n    thing.save()", "", "", False),
        ("thing: Base = find(args)\n    thing.save()", "", "import export\n", True),
        ("KINDS.get(args.kind)(args).save()", '@KINDS.register("exported")', "", False),
        ("KINDS.get(args.kind)(args).save()", '@KINDS.register("exported")', "import export\n", True),
    ],
)
def test_what_another_program_has_is_not_looked_up(tmp_path, run, decorator, imports, expected):
    kinds = KINDS.replace("DECORATOR\n", '@KINDS.register("plain")\n').replace("BASES", "Base")
    other = PROGRAM.replace("DECORATOR\n", decorator + "\n" if decorator else "") + MAIN
    train = imports + TRAIN.replace("RUN", run)
    files = {"train.py": train, "kinds.py": kinds, "registries.py": REGISTRIES, "export.py": other}
    line = other[: other.index("torch.save")].count("\n") + 1
    assert (("export.py", line, "TRL008") in found(written(tmp_path, files))) is expected
