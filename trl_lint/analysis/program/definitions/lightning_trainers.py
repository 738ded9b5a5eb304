"""What an object of unknown class is by how it is used: a Trainer of Lightning; and whether a file's trainers use one
device, start processes that make nothing again, or share no data out.

For example, nothing else takes this keyword:

    trainer = instantiate(settings.trainer)
    trainer.fit(model, datamodule=data)

    trainer = Trainer(gpus=1)              one device, whoever starts the program
    trainer = Trainer(devices=find_usable_cuda_devices(1))   the same
    cfg.trainer.devices = 1; trainer = Trainer(**cfg.trainer)   the same
    trainer = Trainer(devices=args.gpus)   as many as its user wants
    trainer = Trainer(strategy="ddp_spawn")   the others get what this process has made
    trainer = Trainer(use_distributed_sampler=False)   each process gets what the loader has, which may be everything
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

import libcst as cst

from trl_lint.analysis.program.definitions.gradient_waits import waits_for_all
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors, assignments, keyword_value, last_name, names_in, of_class
from trl_lint.domain.kinds import LibraryInstance
from trl_lint.knowledge.lightning import (
    ACCELERATOR_KEYWORD,
    BEFORE_2,
    CHOOSES_STRATEGY,
    COUNTS_DEVICES,
    FIND_DEVICES,
    IMPORTS,
    MAKE_TRAINERS,
    NODES,
    OLD_TRAINER,
    ONLY_TRAINERS_TAKE,
    RUNS_OF_TRAINER,
    SHARE_DATA_OUT,
    STRATEGY_KEYWORD,
    STRATEGY_OF_DDP,
    VALIDATION_DATA,
    WAIT_FOR_ALL,
    WITHOUT_DDP,
)
from trl_lint.knowledge.lightning_runs import PLAIN_LOADER
from trl_lint.knowledge.process_starts import ELSEWHERE, OF_PROCESSES, STRATEGIES
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER, RANKS_OF_SAMPLER


def trainer_by_use(module: Module, root: cst.CSTNode, name: str) -> LibraryInstance | None:
    """The Trainer that a name in a piece of code is, if the file imports Lightning and it is used as one."""
    found = imported_trainer(module)
    return LibraryInstance(found) if found and runs_models(root, {name}) else None


def imported_trainer(module: Module) -> str:
    """The class of Trainer of the package that a file imports; "" if it imports neither."""
    return next((trainer for imports, trainer in IMPORTS.items() if module.mentions(imports)), "")


def runs_models(root: cst.CSTNode, names: set[str]) -> bool:
    """Whether a method of an object with one of these names is passed what only a Trainer takes."""
    return any(
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value in RUNS_OF_TRAINER
        and last_name(call.func.value) in names
        and any(each.keyword is not None and each.keyword.value in ONLY_TRAINERS_TAKE for each in call.args)
        for call in of_class(root, cst.Call)
    )


def trains_on_one_device(module: Module) -> bool:
    """Whether all Trainers of Lightning that a file creates have one device, as a number in the code."""
    calls = _makers(module)
    return bool(calls) and all(_is_of_one_device(module, each) for each in calls)


def has_parts_of_one_process(module: Module) -> bool:
    """Whether one process alone makes the parts of all Trainers of Lightning that a file creates.

    They have one device, or a strategy that hands over to the other processes what this one has made: "ddp_spawn".
    """
    calls = _makers(module)
    is_old = module.mentions(BEFORE_2)
    return bool(calls) and all(_is_of_one_device(module, each) or _hands_parts_over(each, is_old) for each in calls)


def _makers(module: Module) -> list[cst.Call]:
    """The calls that make a Trainer in a file that imports Lightning."""
    if not imported_trainer(module):
        return []
    return [call for call in of_class(module.tree, cst.Call) if last_name(call.func) in MAKE_TRAINERS]


def _is_of_one_device(module: Module, call: cst.Call) -> bool:
    return has_one_device(call) or _gets_one_device(module.tree, call)


def _hands_parts_over(call: cst.Call, is_old: bool) -> bool:
    """Whether a Trainer starts its processes for a function: by its strategy, or as it did before 2.0 without one."""
    given = [each.value for each in call.args if each.keyword is not None and each.keyword.value in STRATEGIES]
    names = set[str]().union(*map(names_in, given))
    texts = {str(each.evaluated_value) for value in given for each in of_class(value, cst.SimpleString)}
    if any(part in each.lower() for part in ELSEWHERE for each in names | texts):
        return True
    if not is_old or last_name(call.func) != _TRAINER or any(each.star for each in call.args):
        return False
    return not names and not any(each.startswith(OF_PROCESSES) for each in texts)


_TRAINER = OLD_TRAINER.rpartition(".")[2]


def _gets_one_device(tree: cst.Module, call: cst.Call) -> bool:
    """Whether a Trainer is made of settings to which the file gives one device, under no condition, and no other.

    cfg.trainer.devices = 1; options = OmegaConf.to_container(cfg.trainer); Trainer(**options)
    """
    if not any(each.star == "**" for each in call.args):
        return False
    given = [(target, value) for target, value in assignments(tree) if _option_of(target) in COUNTS_DEVICES]
    keywords = [each for one in of_class(tree, cst.Call) for each in one.args if each.keyword is not None]
    named = [each.value for each in keywords if each.keyword is not None and each.keyword.value in COUNTS_DEVICES]
    is_sure = any(not any(isinstance(each, _BRANCHES) for each in ancestors(tree, value)) for _, value in given)
    return is_sure and all(map(_is_one, (*named, *(value for _, value in given))))


# What may leave out the code inside it.
_BRANCHES = (cst.If, cst.For, cst.While, cst.Try, cst.Match)


def _option_of(target: cst.BaseExpression) -> str:
    """The setting that an assignment changes: `cfg.trainer.devices`, `options["devices"]`."""
    match target:
        case cst.Attribute(attr=cst.Name(value=name)):
            return name
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            return str(key.evaluated_value)
    return ""


def share_data_out(programs: Iterable[cst.Module], parts: Iterable[cst.Module] = ()) -> bool:
    """Whether each process gets a share of the data where these programs have Trainers of Lightning run a module.

    Unless all of them say otherwise, and no program names a sampler that does it instead, nor does one of the files
    that they import, for all that a module is validated on.
    """
    trees = tuple(programs)
    makers = [
        (tree, call) for tree in trees for call in of_class(tree, cst.Call) if last_name(call.func) in MAKE_TRAINERS
    ]
    if not makers or not all(_shares_nothing_out(call) or _turns_it_off(tree) for tree, call in makers):
        return True
    return any(_SAMPLER in names_in(tree) for tree in trees) or any(map(_deals_all, parts))


_SAMPLER = DISTRIBUTED_SAMPLER.rpartition(".")[2]
# What a file names that deals rows to the ranks by hand: torch's sampler, or how many of them its own is told of.
DEALS_ROWS = re.compile(rb"\b(?:%b|%b)\b" % (_SAMPLER.encode(), RANKS_OF_SAMPLER[1].encode()))
_DEALERS = frozenset({"batch_sampler", "sampler"})


def _deals_all(part: cst.Module) -> bool:
    """Whether the data of a file that deals rows are dealt for a validation, too, as far as its methods show it.

    def val_dataloader(self): return DataLoader(self.rows, batch_size=8)     each process has all of these
    """
    loaders = (each for each in of_class(part, cst.FunctionDef) if each.name.value == VALIDATION_DATA)
    return not any(_makes_plain_loader(each) for each in loaders)


def _makes_plain_loader(function: cst.FunctionDef) -> bool:
    made = [call for call in of_class(function, cst.Call) if last_name(call.func) == PLAIN_LOADER]
    return any(
        not any(
            each.star == "**" or (each.keyword is not None and each.keyword.value in _DEALERS) for each in call.args
        )
        for call in made
    )


def _shares_nothing_out(call: cst.Call) -> bool:
    return any(
        each.keyword is not None
        and each.keyword.value in SHARE_DATA_OUT
        and isinstance(each.value, cst.Name)
        and each.value.value == "False"
        for each in call.args
    )


def _turns_it_off(program: cst.Module) -> bool:
    """Whether a program sets the option of a Trainer that it makes of settings, or does not go on unless it is off.

    assert args.replace_sampler_ddp == False; trainer = Trainer.from_argparse_args(args)
    """
    asserted = (each.test for each in of_class(program, cst.Assert))
    return any(_is_off(target, value) for target, value in assignments(program)) or any(map(_says_off, asserted))


def _is_off(option: cst.BaseExpression, value: cst.BaseExpression) -> bool:
    is_option = isinstance(option, cst.Attribute) and option.attr.value in SHARE_DATA_OUT
    return is_option and isinstance(value, cst.Name) and value.value == "False"


def _says_off(test: cst.BaseExpression) -> bool:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=cst.Attribute(attr=cst.Name(name))):
            return name in SHARE_DATA_OUT
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(cst.Equal() | cst.Is(), right)]):
            return _is_off(left, right)
    return False


def waits_for_all_gradients(call: cst.Call) -> bool:
    """Whether a call makes a Trainer, since 2.0, whose DDP waits for the gradients of all parameters of a module.

    Trainer(devices=4, strategy="ddp"); Trainer(strategy=DDPStrategy(find_unused_parameters=False)); Trainer(devices=4)
    """
    if last_name(call.func) != _TRAINER or any(each.star for each in call.args) or has_one_device(call):
        return False
    strategy = keyword_value(call, STRATEGY_KEYWORD)
    if strategy is None or _says(strategy, frozenset({CHOOSES_STRATEGY})):
        return _may_use_gpus(keyword_value(call, ACCELERATOR_KEYWORD)) and not _asks_for_at_most_one(call)
    match strategy:
        case cst.SimpleString():
            return _says(strategy, WAIT_FOR_ALL)
        case cst.Call(func=func) if last_name(func) == STRATEGY_OF_DDP:
            return waits_for_all(strategy)
    return False


def _may_use_gpus(accelerator: cst.BaseExpression | None) -> bool:
    """Whether a Trainer is told to use GPUs, or of no other kind: `accelerator="cpu" if args.cpu else "gpu"`."""
    texts = () if accelerator is None else of_class(accelerator, cst.SimpleString)
    said = {str(each.evaluated_value) for each in texts}
    return accelerator is None or (bool(said) and not said <= WITHOUT_DDP)


def _asks_for_at_most_one(call: cst.Call) -> bool:
    """Whether the code chooses one device at least sometimes: `min(1, device_count())`, `1 if cuda else None`."""
    counts = [
        each.value for each in call.args if each.keyword is not None and each.keyword.value in COUNTS_DEVICES - {NODES}
    ]
    chosen = [each for each in counts if isinstance(each, (cst.Call, cst.IfExp, cst.SimpleString))]
    numbers = [each.value for count in chosen for each in of_class(count, cst.Integer)]
    texts = [str(each.evaluated_value) for count in chosen for each in of_class(count, cst.SimpleString)]
    return "1" in numbers or not {"1", "0,"}.isdisjoint(texts)


def _says(option: cst.BaseExpression | None, texts: Container[str]) -> bool:
    return isinstance(option, cst.SimpleString) and str(option.evaluated_value) in texts


def has_one_device(call: cst.Call) -> bool:
    """Whether a call that makes a Trainer asks for one device, as a number in the code."""
    counts = [each.value for each in call.args if each.keyword is not None and each.keyword.value in COUNTS_DEVICES]
    return bool(counts) and all(map(_is_one, counts))


def _is_one(count: cst.BaseExpression) -> bool:
    """Whether a number of devices, or a list of their numbers, is that of one; or as many as a helper finds."""
    match count:
        case cst.Integer(value="1") | cst.List(elements=[cst.Element(value=cst.Integer())]):
            return True
        case cst.Call(func, [cst.Arg(value=cst.Integer(value="1"))]):
            return last_name(func) in FIND_DEVICES
    return False
