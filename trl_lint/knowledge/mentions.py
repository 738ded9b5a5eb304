"""What a file has to mention for an event to be possible in it, derived from the rows that the event is about.

A `Group` holds names of which a file must have one, a `Mentions` groups of which it must have each. A name is in the
code as it is imported (`gather`), after a dot (`.log`), or before a bracket (`sample(`): a short name that is a common
word says nothing without these. If names contain each other, the shortest is sufficient.
"""

from __future__ import annotations

from collections.abc import Iterable

from trl_lint.domain.devices import GLOBAL_RANK
from trl_lint.domain.values import Value
from trl_lint.knowledge import (
    control_flags,
    effects,
    file_systems,
    heuristics,
    library,
    loggers,
    models,
    one_folder,
    openmmlab,
    random_draws,
    schedules,
    sharding,
    shell_commands,
    speechbrain,
    torch,
    torch_distributed,
)
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.launcher_variables import GLOBAL_RANK_VARIABLES, REQUIRED_VARIABLES
from trl_lint.knowledge.lightning import PREPARES, TRAINS
from trl_lint.knowledge.python import RANK_DECORATORS
from trl_lint.knowledge.schema import Attribute, Collective, Function, Hook, Preparation, Row, Sink, Store, Transfer

Group = tuple[bytes, ...]
Mentions = tuple[Group, ...]


def named(names: Iterable[str], form: str = "{}") -> Group:
    """The last parts of names, in the form in which they are in code."""
    last_parts = {form.format(_last_part(name)) for name in names}
    return either([text.encode() for text in last_parts])


def either(*groups: Iterable[bytes]) -> Group:
    """The union of groups, without names that contain another one."""
    found: list[bytes] = []
    for name in sorted({name for group in groups for name in group}, key=lambda each: (len(each), each)):
        if not any(known in name for known in found):
            found.append(name)
    return tuple(sorted(found))


def _last_part(name: str) -> str:
    """The last part of a name; for a method that Python's containers have as well (`update`), its class."""
    *_, owner, last = ("", *name.split("."))
    is_common = owner[:1].isupper() and any(hasattr(kind, last) for kind in (dict, list, set))
    return owner if is_common else last


def _words(names: Iterable[str], form: str) -> Group:
    """Single words in this form, and other names as they are."""
    known = list(names)
    single = [name for name in known if "_" not in _last_part(name)]
    return either(named(single, form), named(name for name in known if name not in single))


def _rows(kind: type[Row]) -> list[str]:
    return [row.name for row in library.ROWS if isinstance(row, kind)]


# A file with code for several ranks names one of these, or a helper that starts the process group for it, such as
# `dist_util.setup_dist()` in guided-diffusion and the many programs that began as copies of it.
LIBRARIES = tuple(
    b"accelerate accelerator Accelerator Trainer colossalai composer detectron2 distributed DataParallel deepspeed "
    b"fastai Fabric horovod ignite init_dist lightning Lightning megatron mpi4py setup_dist wandb trl".split()
)

# A file whose program is started elsewhere tests the rank, reads the variables of a launcher, or has classes of which a
# runner makes objects on each process.
ASKS_FOR_RANK = named((*heuristics.MAIN_PROCESS.words, *heuristics.RANK_NUMBER.words, *RANK_DECORATORS))
STARTED = either(
    LIBRARIES, ASKS_FOR_RANK, named(REQUIRED_VARIABLES), openmmlab.HAVE_RUN_BY_ALL, speechbrain.HAVE_RUN_BY_ALL
)
# Names by which files distinguish ranks.
TELLS_RANKS_APART = either(ASKS_FOR_RANK, (b"rank", b"RANK", b"process_index", b"gpu", PREPARES.encode()))

GATHERS = named(row.name for row in library.ROWS if isinstance(row, Collective) and row.result == "gathered")
COLLECTIVES = named(row.name for row in library.ROWS if isinstance(row, Collective) and row.result != "barrier")
WRAPPED = models.WRAPPED_BY
_SYNCHRONISING = [row.synchronises.given or row.name for row in library.ROWS if row.synchronises is not None]
_PREPARING = [row.name for row in library.ROWS if isinstance(row, Function) and row.returns == Transfer.PREPARED]
SYNC_POINTS = either(
    named(_rows(Collective)),
    _words(_SYNCHRONISING, ".{}"),
    _words(_PREPARING, ".{}"),
    WRAPPED,
    named([TRAINS]),
)
PREPARES_SCHEDULES = named({*(name for _, name in schedules.SCHEDULES), *schedules.OF_EPOCHS})
ACCUMULATES = named([schedules.ACCUMULATES], ".{}(")
STEPS = named([schedules.STEP], ".{}(")
SETS_RATES = named([schedules.GROUPS], ".{}")
KEEPS_GRADIENTS = either(
    named([models.KEEPS_GRADIENTS, models.KEEPS_GRADIENTS_OF], ".{}("),
    named([models.REDUCES_GRADIENTS, models.SETS_REDUCTION], ".{}"),
)
PARAMETERS = named(models.PARAMETERS)
CLIPS_BY_NORM = named(torch.CLIPS_BY_NORM)
TELLS_TRAINER = named(control_flags.NAMES, ".{}")
TAKES_WEIGHTS = named([torch.TAKES_WEIGHTS], ".{}")
SAVES_MODELS = named([torch.GIVES_WEIGHTS, models.SAVES_ITSELF], ".{}(")
FOR_GENERATION = named(models.FOR_GENERATION)
PIPELINES = (b"Pipeline",)
AVERAGES = (b"AVG", b"average", b"avg", b"mean", b"sum")
SINKS = either(
    _words(_rows(Sink), ".{}"),
    named(_rows(Store)),
    named(row.name for row in library.ROWS if isinstance(row, Hook) and row.stored is not None),
)
EVALUATIONS = named((*torch.WITHOUT_GRADIENTS, torch.SETS_GRADIENTS, *models.GENERATES))
SHOWN = named((*loggers.SHOWS, *loggers.DUMPS, *effects.WRITE_TEXTS), "{}(")
GATHERED_HOOKS = named(row.name for row in library.ROWS if isinstance(row, Hook) and row.gathered)


def _returns_global_rank(row: Row) -> bool:
    value = row.value if isinstance(row, Attribute) else row.returns if isinstance(row, Function) else None
    return isinstance(value, Value) and value.device == GLOBAL_RANK


GLOBAL_RANKS = either(
    named(row.name for row in library.ROWS if _returns_global_rank(row)), named(GLOBAL_RANK_VARIABLES)
)
# A file that chooses a device contains these.
DEVICES = (b"cuda", b"device")
WRAPS_FOR_PROCESSES = named((torch_distributed.DDP, torch_distributed.FSDP))
PREPARATIONS = named(_rows(Preparation), ".{}")
DATASETS = (b"atasets", b"dataset")
TRAINED_ON = named(random_draws.TRAINED_ON)
# A draw from another file arrives as one of these, or in a dict that is passed as `**data_module`.
DRAWS = either(
    _words(random_draws.DRAWS, "{}("),
    _words((*random_draws.DRAWS, *random_draws.DRAWN_BY_METHODS, *random_draws.DRAW_FRACTIONS), ".{}"),
    named(random_draws.FOLDS),
    TRAINED_ON,
    (b"data_module", random_draws.INJECTED.encode()),
)
SHARERS = either(named((*random_draws.SHARDS, random_draws.TRAINER, "accelerate.Accelerator")), (b"accelerate",))
# Rows that are dealt by hand are a slice whose step is the number of processes: `rows[rank::self.world_size]`.
SHARERS_OF_ROWS = either(
    SHARERS,
    (
        f"::{space}{owner}{name}".encode()
        for space in ("", " ")
        for owner in ("", "args.", "cfg.", "config.", "dist.", "opt.", "self.")
        for name in ("get_world", "ngpu", "nproc", "num_gpu", "num_proc", "num_replicas", "num_shards", "world")
    ),
)
LOADERS = named([torch_distributed.DATA_LOADER])
# A file in which rows are dealt, or that has a loader prepared, passes data to a trainer, or makes loaders for one.
DEALERS = either(
    named((*sharding.SAMPLER_HOOKS, *sharding.SPLITS, "torch.utils.data.DataLoader", PREPARE, *random_draws.SHARDS)),
    TRAINED_ON,
)
# For `log` and `update` the library's name is required, as these words are common.
# What needs one folder for all ranks: as its argument, as a field, or by the name of a call.
ONE_FOLDER = either(named(one_folder.SAVED_TOGETHER), (one_folder.FOLDER[1].encode(), b"Arguments(", b"Config("))
_CHANGES = [row.name for row in library.ROWS if row.effect is not None]
_OF_SYSTEMS = [row.name for row in file_systems.ROWS if row.name.endswith(file_systems.COMMON)]
_BY_LIBRARY = tuple(f".{name}" for name in ("log", "update"))
SIDE_EFFECTS = either(
    named(
        name
        for name in (*_CHANGES, *effects.METHODS, *effects.OF_MODELS)
        if not name.endswith(_BY_LIBRARY) and name not in _OF_SYSTEMS
    ),
    file_systems.NAMED,
    shell_commands.MENTIONED,
    named(effects.ONLY_PATHS_HAVE),
    (name.partition(".")[0].encode() for name in _CHANGES if name.endswith(_BY_LIBRARY)),
    named(effects.OPENERS, "{}("),
    (b".dump(", b".save("),
)
