"""Objects whose class is chosen when the program runs: what holds for each class that it may be."""

import pytest
from small_projects import found, written

KINDS = """\
import torch


class Base:
    def __init__(self, args):
        self.args = args


class Plain(Base):
    def save(self, path):
        torch.save({"plain": 1}, path)


class Large(Base):
    def save(self, path):
        torch.save({"large": 1}, path)


class Quiet(Base):
    def save(self, path):
        pass
"""
TRAIN = """\
import argparse

import torch.distributed as dist
from kinds import Base, Large, Plain, Quiet


def build(args, main):
    if main:
        return Plain(args)
    return Quiet(args)


def train():
    args = argparse.ArgumentParser().parse_args()
    dist.init_process_group("nccl")
    saved = CHOICE
    saved.save("out/model.pt")


train()
"""
PLAIN = ("kinds.py", 11, "TRL008")
LARGE = ("kinds.py", 16, "TRL008")


def found_with(folder, choice, kinds=KINDS):
    return found(written(folder, {"train.py": TRAIN.replace("CHOICE", choice), "kinds.py": kinds}))


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("Plain(args)", [PLAIN]),
        ("Quiet(args)", []),
        ("Plain(args) if args.small else Large(args)", [PLAIN, LARGE]),
        ("Plain(args) if args.small else Quiet(args)", [PLAIN]),
        ("(Plain if args.small else Large)(args)", [PLAIN, LARGE]),
        ('{"plain": Plain, "large": Large}[args.kind](args)', [PLAIN, LARGE]),
        ('{"plain": Plain, "large": Large}.get(args.kind)(args)', [PLAIN, LARGE]),
        ("build(args, args.main)", [PLAIN]),
    ],
)
def test_methods_of_each_class_that_a_setting_selects_are_run(tmp_path, choice, expected):
    assert found_with(tmp_path, choice) == expected


@pytest.mark.parametrize(
    "choice",
    [
        "Plain(args) if dist.get_rank() == 0 else Quiet(args)",
        "(Plain if dist.get_rank() == 0 else Quiet)(args)",
        "{True: Plain, False: Quiet}[dist.get_rank() == 0](args)",
        "[Plain, Quiet, Quiet][dist.get_rank()](args)",
        "build(args, dist.get_rank() == 0)",
        "(Plain(args) if dist.get_rank() == 0 else Quiet(args)) if args.saved else Large(args)",
    ],
)
def test_of_an_object_that_is_another_one_on_each_rank_nothing_is_known(tmp_path, choice):
    assert found_with(tmp_path, choice) == []


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("getattr(kinds, args.kind)(args)", [PLAIN, LARGE]),
        ('getattr(kinds, f"La{args.kind}")(args)', [LARGE]),
        ('getattr(kinds, f"{args.kind}et")(args)', []),
        ("vars(kinds)[args.kind](args)", [PLAIN, LARGE]),
        ("kinds.__dict__.get(args.kind)(args)", [PLAIN, LARGE]),
        ("globals()[args.kind](args)", [PLAIN, LARGE]),
        ('getattr(importlib.import_module("kinds"), args.kind)(args)', [PLAIN, LARGE]),
        ('importlib.import_module("kinds").Large(args)', [LARGE]),
        ("named(args)(args)", [PLAIN, LARGE]),
        # Which class it is depends on the rank, or is not known at all.
        ("getattr(kinds, ['Plain', 'Quiet'][dist.get_rank()])(args)", []),
        ("globals()['Plain' if dist.get_rank() == 0 else 'Quiet'](args)", []),
        ("getattr(others, args.kind)(args)", []),
        ('getattr(importlib.import_module("others"), args.kind)(args)', []),
        # No class of the file can be made of these arguments.
        ("getattr(kinds, args.kind)(args, args)", []),
    ],
)
def test_a_class_of_a_module_may_be_named_by_a_setting(tmp_path, choice, expected):
    names = """\
import importlib
import kinds
import others

def named(args):
    cls = None
    for name, each in kinds.__dict__.items():
        if name.lower() == args.kind and issubclass(each, Base):
            cls = each
    if cls is None:
        raise NotImplementedError(args.kind)
    return cls

def build"""
    train = TRAIN.replace("def build", names, 1).replace("CHOICE", choice)
    assert found(written(tmp_path, {"train.py": train, "kinds.py": KINDS})) == expected


def test_a_module_that_a_setting_names_is_one_of_the_files_with_such_a_name(tmp_path):
    started = "import torch.distributed as dist\n" + KINDS
    plain, others = started.split("class Large")[0], started.split("class Plain")[0]
    large = others + "class Large" + KINDS.split("class Large")[1].split("class Quiet")[0]
    choice = 'getattr(importlib.import_module(f"nets.{args.kind}_net"), args.cls)(args)'
    files = {
        "train.py": "import importlib\n" + TRAIN.replace("CHOICE", choice),
        "kinds.py": KINDS,
        "nets/__init__.py": "",
        "nets/plain_net.py": plain,
        "nets/large_net.py": large,
        "nets/other.py": plain.replace("plain", "other"),
    }
    assert found(written(tmp_path, files)) == [("nets/large_net.py", 12, "TRL008"), ("nets/plain_net.py", 12, "TRL008")]


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        # `nets` has no such file: this import raises.
        ("nets.default", [("nets/plain_net.py", 12, "TRL008")]),
        # A module that another project installs, or that is compiled, may be there.
        ("others.default", []),
        ("nets._compiled", []),
    ],
)
def test_a_module_that_the_project_lacks_is_no_choice(default, expected, tmp_path):
    started = "import torch.distributed as dist\n" + KINDS
    pick = f"""\
import importlib


def pick(name):
    try:
        module = importlib.import_module(f"nets.{{name}}_net")
    except ModuleNotFoundError:
        module = importlib.import_module("{default}")
    return getattr(module, "Plain")
"""
    train = "from nets import pick\n" + TRAIN.replace("CHOICE", "pick(args.kind)(args)")
    plain = started.split("class Large")[0]
    files = {"train.py": train, "kinds.py": KINDS, "nets/__init__.py": pick, "nets/plain_net.py": plain}
    assert found(written(tmp_path, files)) == expected


def test_of_too_many_classes_nothing_is_known(tmp_path):
    more = "".join(f"\n\nclass Plain{number}(Plain):\n    pass\n" for number in range(8))
    train = TRAIN.replace("def build", "import kinds\n\ndef build", 1)
    for choice, expected in [
        ("getattr(kinds, args.kind)(args)", []),
        ('getattr(kinds, f"La{args.kind}")(args)', [LARGE]),
    ]:
        files = {"train.py": train.replace("CHOICE", choice), "kinds.py": KINDS + more}
        assert found(written(tmp_path, files)) == expected


def test_functions_that_a_name_may_mean_outweigh_the_classes(tmp_path):
    functions = "".join(f"\n\ndef make{number}(args):\n    return args.made\n" for number in range(5))
    train = TRAIN.replace("def build", "import kinds\n\ndef build", 1).replace(
        "CHOICE", "getattr(kinds, args.kind)(args)"
    )
    assert found(written(tmp_path, {"train.py": train, "kinds.py": KINDS + functions})) == []


REGISTRY = """\
class Registry:
    def __init__(self, name):
        self.name = name
        self.entries = {}

    def register(self, name):
        def enter(cls):
            self.entries[name] = cls
            return cls

        return enter

    def get(self, name):
        return self.entries[name]

    def build(self, config):
        return self.entries[config.kind](config)


SAVERS = Registry("savers")
TABLE = {}


def register_saver(name):
    def enter(cls):
        TABLE[name] = cls
        return cls

    return enter
"""
SAVER = """\
import torch
import torch.distributed as dist
from registry import SAVERS, register_saver


DECORATOR
class Plain:
    def __init__(self, args):
        self.args = args

    def save(self, path):
        torch.save({"plain": dist.get_world_size()}, path)
"""
SAVED = ("saver.py", 12, "TRL008")
MADE = ("saver.py", 16, "TRL008")


@pytest.mark.parametrize(
    ("decorator", "choice", "expected"),
    [
        ('@SAVERS.register("plain")', "SAVERS.get(args.kind)(args)", [SAVED]),
        ('@SAVERS.register("plain")', "SAVERS.build(args)", [SAVED]),
        ("@SAVERS.register", "registry.SAVERS.get(args.kind)(args)", [SAVED]),
        ('@register_saver("plain")', "TABLE[args.kind](args)", [SAVED]),
        ('@register_saver("plain")', "registry.TABLE[args.kind](args)", [SAVED]),
        # Another registry, another decorator, a name that each rank chooses for itself.
        ('@OTHERS.register("plain")', "SAVERS.get(args.kind)(args)", []),
        ("@SAVERS.note", "SAVERS.get(args.kind)(args)", []),
        ('@noted("plain")', "TABLE[args.kind](args)", []),
        (
            '@SAVERS.register("made")\ndef made(args):\n    return Plain(args)\n\n',
            "SAVERS.get(args.kind)(args)",
            [MADE],
        ),
        ('@SAVERS.register("plain")', 'SAVERS.get(["plain", "none"][dist.get_rank()])(args)', []),
        ('@register_saver("plain")', "TABLE[dist.get_rank()](args)", []),
    ],
)
def test_classes_that_decorators_put_into_a_registry(tmp_path, decorator, choice, expected):
    imports = "import registry\nimport saver\nfrom registry import SAVERS, TABLE\n\n\ndef build"
    train = TRAIN.replace("def build", imports, 1).replace("CHOICE", choice)
    files = {"train.py": train, "kinds.py": KINDS, "registry.py": REGISTRY}
    assert found(written(tmp_path, {**files, "saver.py": SAVER.replace("DECORATOR", decorator)})) == expected


def test_registries_of_one_name_are_told_apart(tmp_path):
    imports = "import saver\nfrom registry import SAVERS\n\n\ndef build"
    choice = "SAVERS.get(args.kind)(args)"
    files = {
        "train.py": TRAIN.replace("def build", imports, 1).replace("CHOICE", choice),
        "kinds.py": KINDS,
        "registry.py": REGISTRY,
        "others.py": REGISTRY,
        "registries.py": "from registry import SAVERS, register_saver\n",
    }
    saver = SAVER.replace("DECORATOR", '@SAVERS.register("plain")')
    for module, expected in [("registry", [SAVED]), ("registries", [SAVED]), ("others", [])]:
        text = saver.replace("from registry", f"from {module}")
        assert found(written(tmp_path, {**files, "saver.py": text})) == expected


@pytest.mark.parametrize("imported", [True, False])
def test_a_registered_class_may_be_in_a_file_that_names_no_library(tmp_path, imported):
    imports = "import savers\nfrom registry import SAVERS\n\n\ndef build"
    saver = SAVER.replace("DECORATOR", '@SAVERS.register("plain")').replace("import torch.distributed as dist\n", "")
    files = {
        "train.py": TRAIN.replace("def build", imports, 1).replace("CHOICE", "SAVERS.get(args.kind)(args)"),
        "kinds.py": KINDS,
        "registry.py": REGISTRY,
        "savers/__init__.py": "from .plain import Plain\n" if imported else "",
        "savers/plain.py": saver.replace("dist.get_world_size()", "1").replace("\n", "\r\n"),
    }
    assert found(written(tmp_path, files)) == ([("savers/plain.py", 11, "TRL008")] if imported else [])


@pytest.mark.parametrize(
    ("choice", "is_found"),
    [
        ('SAVERS.build(args, out="out/last.pt")', True),
        # What stands in settings is unknown, and so is an argument that a registry takes for itself.
        ("SAVERS.build(args)", False),
        ('SAVERS.build(args, name="out/last.pt")', False),
    ],
)
def test_named_arguments_of_a_registry_are_those_of_the_class(tmp_path, choice, is_found):
    saver = """\
import torch
from registry import SAVERS


@SAVERS.register("plain")
class Plain:
    def __init__(self, args, out, name):
        self.path = KEPT

    def save(self, path):
        torch.save({}, self.path)
"""
    saver = saver.replace("KEPT", "name" if "name=" in choice else "out")
    imports = "import saver\nfrom registry import SAVERS\n\n\ndef build"
    files = {
        "train.py": TRAIN.replace("def build", imports, 1).replace("CHOICE", choice),
        "kinds.py": KINDS,
        "registry.py": REGISTRY,
        "saver.py": saver,
    }
    assert found(written(tmp_path, files)) == ([("saver.py", 11, "TRL008")] if is_found else [])
