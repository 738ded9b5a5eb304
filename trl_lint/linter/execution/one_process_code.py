"""Code that shows by itself that a single process runs it.

For example:

    get_ipython().run_line_magic("autoreload", "2")               exported from a notebook; only its kernel has this
    policy, reference = make().to("cuda:0"), make().to("cuda:1")  GPUs by number: another process would take the same
    prompt = input("Prompt: ")                                    typed by a user, in one terminal
    train_single_gpu.py                                           the name of the file
    class TrainTest(unittest.TestCase): …                         a test, unless it starts other processes
    class Predictor(cog.BasePredictor): …                         what a server runs, likewise
    run([..., "torch.distributed.launch", script])                a function that starts the processes
    pl.Trainer(gpus=1).fit(model)                                 a number, in a program that no other imports,
    pl.Trainer(gpus=1).validate(Finder.load_from_checkpoint(a))   or of a class that no other file takes
    fabric = Fabric(precision="bf16-true")                        which is not launched, nor handed on to be launched
    if device.type == "mps": torch.save(weights, path)            on Apple's GPU, of which a machine has one
"""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.events import Event
from trl_lint.analysis.program.definitions.launchers import is_launcher
from trl_lint.analysis.program.definitions.lightning_trainers import trains_on_one_device
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.path_conditions import ifs_around
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors, last_name, of_class
from trl_lint.knowledge.backends import ONLY_DEVICE
from trl_lint.knowledge.engines import SPAWNS
from trl_lint.launch.judge.file_names import is_for_one_gpu

_KERNEL = rb"(?m)^get_ipython\(\)"
_STARTS_OTHERS = b"(?m)" + SPAWNS.pattern
_TYPED = rb"(?m)^[^#\n\"']*(?<![\w.])(?<!def )input\("
_MAKES_FABRIC = rb"\bFabric\("
_GPU = re.compile(rb"""["']cuda:(\d)["']""")
# How programs of several processes distinguish them, or get this from a library that starts them.
_NUMBERS = rb"process_index|is_global_zero|is_\w*main_process|num_processes|world_size"
RANKS = rb"(?i)\b(?:\w+_)?rank\b|" + _NUMBERS
_SEVERAL = RANKS + rb"|\.prepare\(|accelerator\.|DistributedDataParallel|DistributedSampler"
# A rank that is counted, `rank += 1`, is a position in an order: if no other such word occurs, it says nothing about
# processes.
_COUNTED = rb"(?m)^\s*rank\s*\+=\s*1\b"
_OTHER_RANKS = rb"(?i)\b\w+_rank\b|\.rank\b|[\"']RANK[\"']|" + _NUMBERS


def is_of_one_process(module: Module, event: Event) -> bool:
    """Whether a file is run by one process, and starts no others, or the place of an event in it is."""
    if is_launcher(event.function):
        return True
    if trains_on_one_device(module) and (not module.engines().imported or _is_only_used_here(module, event)):
        return True
    if _launches_no_fabric(module, event) or _is_for_only_device(module, event.node):
        return True
    if module.mentions(_STARTS_OTHERS):
        return False
    if is_test(event.function):
        return True
    if is_for_one_gpu(module.path) or module.mentions(_KERNEL):
        return True
    if module.mentions(_TYPED) and not _tells_ranks_apart(module):
        return True
    return not module.mentions(_SEVERAL) and _is_spread_by_hand(module)


def _is_only_used_here(module: Module, event: Event) -> bool:
    """Whether an event is in a class that its file makes an object of, and that no other file takes from it.

    One that has heirs is more than its own objects.
    """
    cls = None if event.function is None else event.function.cls
    taken = module.engines().taken
    if cls is None or taken is None or cls.name in taken:
        return False
    bases = (last_name(base.value) for each in of_class(module.tree, cst.ClassDef) for base in each.bases)
    if cls.name in bases:
        return False
    return any(cls.name in _names_in(call.func) for call in of_class(module.tree, cst.Call))


def _names_in(func: cst.BaseExpression) -> tuple[str, str]:
    """The last two names of what is called: `Model(…)`, `Model.load_from_checkpoint(…)`."""
    return last_name(func), last_name(func.value) if isinstance(func, cst.Attribute) else ""


def _is_for_only_device(module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is in a branch for the type of device of which a machine has one."""
    if not module.mentions(ONLY_DEVICE.encode()):
        return False
    return any(holds and _is_only(branch.test) for branch, holds in ifs_around(module.tree, node))


def _is_only(test: cst.BaseExpression) -> bool:
    """Whether a condition requires this type: `device == "mps"`, `kind == Kind.mps`, `torch.mps.is_available()`."""
    match test:
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return _is_only(left) or _is_only(right)
        case cst.Comparison(left, [cst.ComparisonTarget(cst.Equal() | cst.Is(), right)]):
            return any(map(_names_only_device, (left, right)))
        case cst.Call(cst.Attribute(value, cst.Name("is_available"))):
            return last_name(value) == ONLY_DEVICE
    return False


def _names_only_device(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.SimpleString):
        return value.raw_value == ONLY_DEVICE
    return isinstance(value, cst.Attribute) and value.attr.value.lower() == ONLY_DEVICE


def _launches_no_fabric(module: Module, event: Event) -> bool:
    """Whether a Fabric is made in the function of an event, and starts nothing: neither the code nor a command does.

    Source: lightning/fabric/fabric.py `Fabric.launch`, `_is_using_cli`
    """
    if event.function is None or not module.mentions(_MAKES_FABRIC) or module.mentions(_SEVERAL):
        return False
    function = event.function.node
    made = [each for each in of_class(function, cst.Call) if last_name(each.func) == "Fabric"]
    return bool(made) and all(_is_kept(function, each) for each in made) and not module.engines().launched


def _is_kept(function: cst.CSTNode, made: cst.Call) -> bool:
    """Whether an object has a name, of which a function only uses attributes, and not `launch`."""
    match ancestors(function, made)[-1:]:
        case [cst.Assign([cst.AssignTarget(cst.Name(name))])]:
            uses = [each for each in of_class(function, cst.Name) if each.value == name]
            return all(_starts_nothing(function, each) for each in uses)
    return False


def _starts_nothing(function: cst.CSTNode, use: cst.Name) -> bool:
    match ancestors(function, use)[-1]:
        case cst.Attribute(value, cst.Name(attribute)):
            return value is use and attribute != "launch"
        case cst.AssignTarget():
            return True
    return False


def _tells_ranks_apart(module: Module) -> bool:
    """Whether a file mentions ranks of processes; a counted position in an order is not one."""
    return module.mentions(_OTHER_RANKS if module.mentions(_COUNTED) else RANKS)


def _is_spread_by_hand(module: Module) -> bool:
    """Whether a file names several GPUs by number."""
    return len(set(_GPU.findall(module.code))) > 1
