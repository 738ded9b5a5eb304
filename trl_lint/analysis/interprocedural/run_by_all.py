"""The methods of a class that every process runs: what a library calls on each, and the constructors of such objects.

For example:

    class Saves(pl.Callback):
        def __init__(self, folder): os.makedirs(folder)                run by all: each process makes its callbacks,
                                                                       modules and data modules
        def on_train_end(self, trainer, pl_module): ...                run by all: a hook
        def helper(self): ...                                          run by those who call it

    class Table(pl.loggers.Logger):
        def finalize(self, status): ...                                run by all, unless `rank_zero_only` decorates it

    if rank == 0: callbacks.append(Saves("out"))                       the only place that makes one: none of them is
    Trainer(devices=1, callbacks=[Saves("out")])                       the same of its constructor: one process
    Loop(devices=1).run()                                              the same of its `run`, if it is a Fabric
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trl_lint.analysis.program.definitions import creations, runners
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.state.event_trace import called_traces
from trl_lint.analysis.transfer.processes import before_fits
from trl_lint.knowledge import lightning
from trl_lint.knowledge.python import RANK_DECORATORS

if TYPE_CHECKING:
    from trl_lint.analysis.interprocedural.summaries import Summary
    from trl_lint.analysis.state.interpreter import Interpreter

_MAKES = "__init__"


def note(engine: Interpreter, cls: ClassInfo) -> None:
    """Mark the runs of the methods of a class, once it is analysed, that each process makes."""
    constructor = cls.methods.get(_MAKES)
    if constructor is not None:
        _note_created(engine, cls, constructor)
    bases = cls.library_bases()
    is_logger = lightning.is_logger(bases)
    is_called = lightning.is_callback(bases) or is_logger
    if is_called and creations.is_of_some_ranks(engine.project, cls):
        return
    if is_logger and creations.is_of_one_process(engine.project, cls):
        return
    is_part = lightning.prepares_on_one(bases)
    if (is_part or is_called) and not creations.is_of_one_process(engine.project, cls):
        _launch(_own_runs(cls, _MAKES))
    if is_part and constructor is not None:
        for run in _own_runs(cls, _MAKES):
            before_fits.note_made(engine, constructor, run.trace)
    if lightning.is_fabric(bases) and creations.asks_for_one_device(engine.project, cls):
        return
    for name in lightning.hooks_of(bases) | _of_old_release(engine, cls) | _of_runners(engine, cls):
        _launch(cls.methods[name].summaries.values() if name in cls.methods else _own_runs(cls, name))


def runs_of_constructor(cls: ClassInfo) -> list[Summary]:
    """The runs of the constructor of a module or a data module of Lightning, which each process makes, by other code.

    That code need not show that there are several processes.
    """
    if not lightning.prepares_on_one(cls.library_bases()):
        return []
    return [run for run in _own_runs(cls, _MAKES) if run.is_current()]


def _of_old_release(engine: Interpreter, cls: ClassInfo) -> frozenset[str]:
    """The methods of a class that Lightning calls before 1.8, by what the project pins, or by what the file uses."""
    hooks = lightning.old_hooks_of(cls.library_bases())
    if not hooks:
        return hooks
    release = engine.versions.get(lightning.OLD_PACKAGE, "")
    is_old = release.startswith(("0", "1")) if release else cls.module.mentions(lightning.BEFORE_2)
    return hooks if is_old else frozenset()


def _of_runners(engine: Interpreter, cls: ClassInfo) -> frozenset[str]:
    """The methods of a class whose objects a runner has and calls, on every process."""
    names = runners.run_by_all(cls)
    return frozenset() if names and creations.is_of_some_ranks(engine.project, cls) else names


def _note_created(engine: Interpreter, cls: ClassInfo, constructor: FunctionInfo) -> None:
    """An object whose methods all ranks call, or a library calls, was created by each of them, and the reverse."""
    runs = [run for method in cls.methods.values() for run in method.summaries.values()]
    if any(run.trace.launched for run in constructor.summaries.values()):
        # An object that starts the group of processes when it is created trains on each of them.
        _launch(run for run in runs if any(each.backward for each in called_traces(run.trace)))
    # A method whose decorator lets only some ranks run it is called by all of them.
    lets_some_in = any(method.decorators & RANK_DECORATORS for method in cls.methods.values())
    if lets_some_in or engine.is_entry_class(cls) or any(run.trace.of_all_ranks for run in runs):
        _launch(constructor.summaries.values())


def _own_runs(cls: ClassInfo, name: str) -> Iterator[Summary]:
    """The runs of a method, which may be inherited, on objects of this very class, and not on those of its heirs."""
    method = cls.find(name)
    if method is None or not method.parameters:
        return
    for run in method.summaries.values():
        receiver = run.names.get(method.parameters[0].name)
        if isinstance(receiver, ProjectInstance) and receiver.cls.origin is cls.origin:
            yield run


def _launch(runs: Iterable[Summary]) -> None:
    for run in runs:
        run.trace.launch(None)
