"""What one file says about another: files that import others are analysed before these."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_projects import found, written

from trl_lint.analysis.program.project.import_lines import imported_files
from trl_lint.analysis.program.project.project import Project
from trl_lint.linter.files.import_order import importers_first

FILES = {
    "a.py": "import b\n",
    "b.py": "from c import (\n    one,\n    two,\n)\n",
    "c.py": "import a\n",
    "package/__init__.py": "from . import part\n",
    "package/part.py": "from .other import x\n",
    "package/other.py": "x = 1\n",
    "z.py": 'from package import part\nimport os\nr"""\nimport ...\nfrom . import .\n"""\n',
}


def test_who_imports_comes_before_what_it_imports(tmp_path: Path) -> None:
    folder = written(tmp_path, FILES)
    sources = {folder / name: (folder / name).read_bytes() for name in FILES}
    ordered = [path.relative_to(folder).as_posix() for path, _ in importers_first(Project([folder]), sources)]
    assert sorted(ordered) == sorted(FILES)
    place = {name: ordered.index(name) for name in ordered}
    assert place["z.py"] < place["package/__init__.py"] < place["package/part.py"] < place["package/other.py"]
    assert len({"a.py", "b.py", "c.py"} & set(ordered)) == 3  # a cycle


def test_files_that_need_no_analysis_say_who_imports_whom(tmp_path: Path) -> None:
    folder = written(tmp_path, FILES)
    sources = {folder / name: (folder / name).read_bytes() for name in ("package/other.py", "z.py")}
    assert [path.name for path, _ in importers_first(Project([folder]), sources)] == ["z.py", "other.py"]


def test_tests_come_last(tmp_path: Path) -> None:
    files = {"a_test.py": "import pytest\nimport b\n", "b.py": "x = 1\n", "c.py": "import b\n# import pytest\n"}
    folder = written(tmp_path, files)
    sources = {folder / name: text.encode() for name, text in files.items()}
    assert [path.name for path, _ in importers_first(Project([folder]), sources)] == ["c.py", "b.py", "a_test.py"]


MAKER = """\
from accelerate import Accelerator
from {kept} import Saver

def main(args):
    accelerator = Accelerator()
    saver = Saver(accelerator)
    if accelerator.is_main_process:
        saver.save()

main(0)
"""
KEPT = """\
import accelerate

class Saver:
    def __init__(self, accelerator):
        self.accelerator = accelerator

    def save(self):
        self.accelerator.wait_for_everyone()
"""


@pytest.mark.parametrize("kept", ["a_saver", "z_saver"])
def test_what_an_object_is_made_of_is_said_by_those_who_make_one(kept: str, tmp_path: Path) -> None:
    folder = written(tmp_path, {"main.py": MAKER.format(kept=kept), f"{kept}.py": KEPT})
    assert found(folder) == [("main.py", 8, "TRL006")]


TRAINS = """\
from accelerate import Accelerator
from families import FAMILIES

class Trains:
    def __init__(self, args):
        self.accelerator = Accelerator()
        self.network = FAMILIES[args.family](args)

    def prepare(self, optimizer):
        results = self.accelerator.prepare(self.network.part(), optimizer)
        self.network.set_prepared({given})
"""
FAMILY = """\
import accelerate

class Base:
    def __init__(self, args):
        self.model = None

    def set_prepared(self, model):
        self.model = model

    def setup(self):
        return self.model.config

class Net(Base):
    def predict(self, x):
        return self.model(x, self.model.config.scale)

    def bare(self, x):
        return self.model.module(x, self.model.module.config.scale)
"""
OTHER = "import accelerate\n\nclass Other:\n    def set_prepared(self, model):\n        pass\n"


@pytest.mark.parametrize(
    ("given", "more", "wanted"),
    [
        ("results[0]", {}, [("base.py", 15, "TRL002")]),
        ("args", {}, []),
        ("results[0]", {"other.py": OTHER}, []),
    ],
)
def test_a_wrapped_model_that_is_handed_to_an_object_of_no_known_class(given, more, wanted, tmp_path: Path) -> None:
    files = {
        "base.py": FAMILY,
        "families.py": 'from base import Net\n\nFAMILIES = load({"net": Net})\n',
        "train.py": TRAINS.format(given=given),
    }
    assert found(written(tmp_path, files | more)) == wanted


SETS = """\
import torch.distributed as dist
from loop import train

def main(args):
    dist.init_process_group("nccl")
    {field} = args.logs and {by}
    train(args)

main(parser.parse_args())
"""
LOOP = """\
import torch

def train(args):
    torch.distributed.barrier()
    if {field} and args.every > 0:
        torch.save({{}}, "last.pt")
"""


@pytest.mark.parametrize("field", ["args.writes", "args.JOB.writes"])
@pytest.mark.parametrize(("by", "wanted"), [("is_master(args)", []), ("bool(args.every)", [("loop.py", 6, "TRL008")])])
def test_what_another_file_puts_into_settings_by_the_rank(field: str, by: str, wanted, tmp_path: Path) -> None:
    imports = "from argparse import ArgumentParser\nparser = ArgumentParser()\n"
    files = {"main.py": imports + SETS.format(field=field, by=by), "loop.py": LOOP.format(field=field)}
    assert found(written(tmp_path, files)) == wanted


OPTIONS = """\
class Options:
    prompts = None

def parse(raw):
    made = Options()
    made.{name} = load(raw)
    made.{name} = [each.strip() for each in made.{name}]
    return made
"""
ASKS = """\
from accelerate import Accelerator
from accelerate.utils import gather_object
from options import Options, parse

class Trains:
    def __init__(self, args: Options):
        self.args = args
        self.accelerator = Accelerator()

    def validate(self):
        if len(self.args.{name}) == 0:
            return
        gather_object([1])

    def train(self):
        if self.accelerator.is_main_process:
            self.validate()

Trains(parse(raw)).train()
"""


@pytest.mark.parametrize(("name", "wanted"), [("prompts", [("main.py", 17, "TRL006")]), ("local_prompts", [])])
def test_how_long_a_list_of_settings_is_from_another_file(name: str, wanted, tmp_path: Path) -> None:
    files = {"options.py": OPTIONS.format(name=name), "main.py": ASKS.format(name=name)}
    assert found(written(tmp_path, files)) == wanted


@pytest.mark.parametrize(
    ("importer", "dotted", "meant"),
    [
        ("medical/data/rows.py", "data.transform", "medical/data/transform.py"),
        ("medical/data/rows.py", "util.losses", "medical/util/losses.py"),
        ("medical/train.py", "util.losses", "medical/util/losses.py"),
        ("train.py", "util.losses", "util/losses.py"),
        ("data/rows.py", "util.losses", "util/losses.py"),
        ("other/run/train.py", "util.losses", "util/losses.py"),
        # There is no such name at the top: a folder in between may contain anything.
        ("medical/data/rows.py", "only_here", None),
    ],
)
def test_a_project_below_has_its_own_files_first(importer, dotted, meant, tmp_path):
    names = ("data/transform.py", "util/losses.py")
    files = {f"{folder}{name}": "" for folder in ("", "medical/") for name in names}
    written(tmp_path, files | {"medical/only_here.py": "", importer: ""})
    found = Project((tmp_path,)).find_from(dotted, tmp_path / importer)
    assert found == (tmp_path / meant if meant else None)


ADDS = "import os\nimport sys\n{}\nfrom helpers import save\n"


@pytest.mark.parametrize(
    ("importer", "adds", "meant"),
    [
        ("run.py", 'sys.path.append("lib")', "lib/helpers.py"),
        ("run.py", "sys.path.insert(0, os.path.join(os.getcwd(), 'lib'))", "lib/helpers.py"),
        ("tools/run.py", 'sys.path.append(os.path.join(os.path.dirname(__file__), "..", "lib"))', "lib/helpers.py"),
        ("tools/run.py", 'sys.path.insert(1, str(Path(__file__).parent.parent / "lib"))', "lib/helpers.py"),
        ("medical/run.py", 'sys.path.append("./lib/")', "medical/lib/helpers.py"),
        ("medical/run.py", 'sys.path.append("lib"); sys.path.append("..")', "medical/lib/helpers.py"),
        ("run.py", 'sys.path.append("deep/lib")', "deep/lib/helpers.py"),
        # What lies beside the file comes first, where it is found without this.
        ("near/run.py", 'sys.path.append("lib")', "near/helpers.py"),
        ("tools/run.py", 'lib = os.path.join(here, "..", "lib")\nsys.path.insert(0, str(lib))', "lib/helpers.py"),
        ("tools/run.py", 'def add(path):\n    sys.path.append(path)\nadd(here / "lib")', "lib/helpers.py"),
        # A folder around the file.
        ("lib/part/run.py", 'sys.path.append("..")', "lib/helpers.py"),
        ("lib/part/deep/run.py", 'sys.path.insert(0, os.path.join(here, "../.."))', "lib/helpers.py"),
        ("lib/part/run.py", "sys.path.append(\n    join(dirname(file), os.pardir)\n)", "lib/helpers.py"),
        ("lib/part/run.py", "above = Path(file).parents[1]\nsys.path.append(str(above))", "lib/helpers.py"),
        ("lib/part/run.py", "sys.path.append(os.path.dirname(os.path.dirname(file)))", "lib/helpers.py"),
        ("lib/part/run.py", "sys.path.append(os.path.dirname(file))", None),
        ("lib/part/run.py", 'sys.path.append(".")', None),
        ("lib/part/run.py", "", None),
        ("run.py", 'lib = "/home/me/lib"\nsys.path.append(lib)', None),
        ("run.py", 'lib = "lib"\ndef add(path):\n    sys.path.append(path)\nadd(other)', None),
        ("run.py", 'sys.path.append("/home/me/lib")', None),
        ("run.py", '# sys.path.append("lib")', None),
        ("run.py", 'sys.path.append("..")', None),
        ("run.py", "sys.path.append(here)", None),
        ("run.py", 'sys.path.append("other")', None),
    ],
)
def test_a_file_adds_folders_to_the_search_path(importer, adds, meant, tmp_path):
    folders = ("lib", "medical/lib", "deep/lib", "near")
    files = {f"{folder}/helpers.py": "" for folder in folders} | {"other/more.py": "", importer: ADDS.format(adds)}
    written(tmp_path, files)
    project = Project((tmp_path,))
    module = project.module(tmp_path / importer)
    assert project.find("helpers", module) == (tmp_path / meant if meant else None)
    found = list(imported_files(project, module.path, module.source))
    assert found == ([tmp_path / meant] if meant else [])


SAVED_BY_HELPER = """\
import sys
sys.path.append({folder!r})
import torch.distributed as dist
from helpers import save

def train(net, args):
    dist.init_process_group("nccl")
    save(net, args.path)
"""
SAVES = "import torch\n\ndef save(net, path):\n    torch.save(net, path)\n"


@pytest.mark.parametrize(("folder", "wanted"), [("lib", [("lib/helpers.py", 4, "TRL008")]), ("library", [])])
def test_a_helper_in_an_added_folder_is_followed(folder, wanted, tmp_path):
    files = {"train.py": SAVED_BY_HELPER.format(folder=folder), "lib/helpers.py": SAVES}
    assert found(written(tmp_path, files)) == wanted


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("import _paths", [("lib/helpers.py", 4, "TRL008")]),
        ("if True:\n    import _paths", []),  # perhaps not
        ("import other", []),
    ],
)
def test_a_file_that_is_imported_first_adds_the_folder(statement, wanted, tmp_path):
    adds = SAVED_BY_HELPER.partition("import torch")[0].format(folder="../lib")
    program = SAVED_BY_HELPER.replace("import sys\nsys.path.append({folder!r})", statement)
    files = {"tools/_paths.py": adds, "tools/train.py": program, "lib/helpers.py": SAVES, "tools/other.py": ""}
    assert found(written(tmp_path, files)) == wanted


BEGINS = """\
import torch.distributed as dist
from base import Base
from lookup import find

def begin(trainer: Base, weights):
    if weights is not None:
        if not trainer.was_initialized:
            trainer.initialize()
        load(trainer.network, weights)
    trainer.train()

def main(name, weights):
    dist.init_process_group("nccl")
    begin(find(name)(), weights)
"""
BASE = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Base:
    def __init__(self):
        self.is_ddp = dist.is_available() and dist.is_initialized()
        self.network = None
        self.was_initialized = False
        self.silent = False

    def initialize(self):
        self.network = self.build().to("cuda")
        if self.is_ddp:
            self.network = DDP(self.network)
        self.was_initialized = True

    def train(self):
        if not self.was_initialized:
            self.initialize()
        self.save("last.pt")

    def save(self, path):
        if not self.silent:
            print(self.network.training)
"""
MIDDLE = """\
from torch.nn.parallel import DistributedDataParallel as DDP
from base import Base

class Middle(Base):
    def initialize(self):
        self.network = self.build().to("cuda")
        if self.is_ddp:
            self.network = DDP(self.network, find_unused_parameters=True)
        self.was_initialized = True
"""
DERIVED = """\
from torch import nn
from middle import Middle

class Derived(Middle):
    def build(self):
        return nn.Linear(2, 2)

    def save(self, path):
        if not self.silent:
            if self.is_ddp:
                print(self.network{inner}.weight)
"""


@pytest.mark.parametrize(("inner", "wanted"), [("", [("derived.py", 11, "TRL002")]), (".module", [])])
@pytest.mark.parametrize("main", [None, "a_main", "z_main"])
def test_an_object_that_no_file_makes_is_made_before_its_methods_run(main, inner, wanted, tmp_path):
    files = {"base.py": BASE, "middle.py": MIDDLE, "derived.py": DERIVED.format(inner=inner)}
    main_file = {} if main is None else {f"{main}.py": BEGINS}
    assert found(written(tmp_path, files | main_file)) == wanted


MAKES = """\
import torch.distributed as dist
from base import Base

dist.init_process_group("nccl")
Base().train()
"""


@pytest.mark.parametrize("uses", ["a_uses", "z_uses"])
def test_a_method_that_ran_before_any_file_makes_an_object_runs_again(uses, tmp_path):
    files = {"base.py": BASE, "middle.py": MIDDLE, "derived.py": DERIVED.format(inner=""), "makes.py": MAKES}
    assert found(written(tmp_path, files | {f"{uses}.py": BEGINS})) == [("derived.py", 11, "TRL002")]


METERS = """\
class Meter:
    def __init__(self):
        self.last = 0.0

    def update(self, value):
        self.last = value

    def get(self):
        return self.last
"""
PROGRAM = """\
import wandb
from accelerate import Accelerator
from elsewhere import measured
from meters import Meter

def main(args, model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    {others}
    meter = Meter()
    for batch in loader:
        loss = model(batch).mean()
        meter.update({value})
        accelerator.log({{"loss": meter.get()}})

main(parse(), build(), load())
"""
OWN, NOT_KNOWN = "loss.item()", "measured(loss)"


@pytest.mark.parametrize(("own", "others"), [("a", "bcdefgh"), ("h", "abcdefg"), ("d", "abcefgh")])
def test_objects_of_each_program_are_distinguished_whichever_comes_first(own, others, tmp_path):
    more = "; ".join(f"meter_{index} = Meter(); meter_{index}.update({{value}})" for index in range(4))
    values = {f"{name}.py": (NOT_KNOWN, f"measured({index})") for index, name in enumerate(others)}
    files = {
        name: PROGRAM.format(value=value, others=more.format(value=other))
        for name, (value, other) in (values | {f"{own}.py": (OWN, "-1.0")}).items()
    }
    assert found(written(tmp_path, files | {"meters.py": METERS})) == [(f"{own}.py", 14, "TRL003")]
