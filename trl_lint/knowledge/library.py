"""The index over the tables: what is known of a canonical name, a class's method, an attribute.

Every look-up takes canonical names (`canonical` converts import spellings to them) and, as rows may hold for a span of
releases only, the releases in use: a mapping from a distribution (`trl`) to its version. A row whose span excludes a
known version is omitted; if the version is unknown, all rows are returned, to be joined.

`Extended` is such a mapping that also holds the configured rows of the project.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeVar, overload

from trl_lint.domain.ranks import Rank
from trl_lint.domain.values import Value
from trl_lint.knowledge import (
    accelerate,
    composer,
    computing_libraries,
    datasets,
    detectron2,
    engines,
    evaluation,
    fastai,
    file_systems,
    heuristics,
    hub,
    ignite,
    lightning,
    loggers,
    model_libraries,
    monai,
    openmmlab,
    optuna,
    other_launchers,
    peft,
    python,
    ray_train,
    speechbrain,
    thread_pools,
    tokenizers,
    torch,
    torch_distributed,
    transformers,
    trl,
    writers,
    written_objects,
)
from trl_lint.knowledge.models import PLAIN_CLASSES
from trl_lint.knowledge.schema import (
    BARE_MODEL,
    LOADED,
    PURE,
    SAME,
    Attribute,
    Class,
    Collective,
    Function,
    Hook,
    OpaqueCall,
    Row,
    Sink,
    Store,
    Transfer,
    instance,
)
from trl_lint.knowledge.torch_distributed import (
    NOT_OF_DATA_PARALLEL,
    OPTIMIZER_LOADER_ATTRIBUTES,
    WRAPPER_ATTRIBUTES,
)

__all__ = [
    "LIBRARY_ROOTS",
    "NOT_OF_DATA_PARALLEL",
    "NO_VERSIONS",
    "OPTIMIZER_LOADER_ATTRIBUTES",
    "ROWS",
    "TRAINING_HOOKS",
    "WRAPPER_ATTRIBUTES",
    "Extended",
    "are_plain_models",
    "attribute",
    "canonical",
    "constructor",
    "function",
    "holding",
    "hook",
    "hooks_of",
    "in_span",
    "is_model_class",
    "is_pure",
    "is_subclass",
    "maker",
    "members",
    "method",
    "mro",
    "of_any_release",
    "order_of",
    "origin",
    "reduces",
    "rows",
    "shown_only_in",
    "store",
    "stores",
    "unique_method",
]

ROWS: tuple[Row, ...] = (
    *accelerate.ROWS, *composer.ROWS, *datasets.ROWS, *detectron2.ROWS, *engines.ROWS, *evaluation.ROWS, *fastai.ROWS,
    *file_systems.ROWS, *hub.ROWS, *ignite.ROWS, *lightning.ROWS, *loggers.ROWS, *model_libraries.ROWS, *openmmlab.ROWS,
    *optuna.ROWS,
    *other_launchers.ROWS, *peft.ROWS, *python.ROWS, *ray_train.ROWS, *speechbrain.ROWS, *torch.ROWS,
    *monai.ROWS, *thread_pools.ROWS, *torch_distributed.ROWS,
    *tokenizers.ROWS, *transformers.ROWS, *trl.ROWS, *writers.ROWS, *written_objects.ROWS,
)  # fmt: skip
# Methods of trainers whose result a training step trains with, without their class.
TRAINING_HOOKS = frozenset(row.name.rpartition(".")[2] for row in ROWS if isinstance(row, Hook) and row.trains)
# The functions and methods that give the model inside a wrapper, without their modules and classes.
UNWRAPS = frozenset(
    row.name.rpartition(".")[2] for row in ROWS if isinstance(row, Function) and row.returns == Transfer.UNWRAPPED
)
# Methods that call functions which were registered for them.
RUNNING_HOOKS = frozenset(row.registers for row in ROWS if isinstance(row, Function) and row.registers)
NO_VERSIONS: Mapping[str, str] = {}

_ByName = dict[str, tuple[Row, ...]]
_BY_NAME: _ByName = {}
_HOOKS: dict[str, dict[str, tuple[Hook, ...]]] = {}
_STORES: dict[str, tuple[Store, ...]] = {}
# Library functions by root and last part of the name: re-exports differ between releases, names do not.
_FUNCTION_HOMES: dict[str, dict[str, str]] = {}
_UNIQUE: dict[str, str] = (
    accelerate.UNIQUE | datasets.UNIQUE | engines.UNIQUE | fastai.UNIQUE | loggers.UNIQUE | transformers.UNIQUE
)
# Libraries whose classes keep their name wherever they are imported from.
_FLAT_ROOTS = frozenset({
    "accelerate", "datasets", "fastai", "peft", "sentence_transformers", "tokenizers", "transformers", "trl",
})  # fmt: skip
_R = TypeVar("_R", bound=Row)
_T = TypeVar("_T")


def _add(rows: Iterable[Row]) -> None:
    for row in rows:
        _BY_NAME[row.name] = (*_BY_NAME.get(row.name, ()), row)
        owner, _, last = row.name.rpartition(".")
        if isinstance(row, Hook):
            named = _HOOKS.setdefault(owner, {})
            named[last] = (*named.get(last, ()), row)
        elif isinstance(row, Store):
            _STORES[owner] = (*_STORES.get(owner, ()), row)
        root = row.name.partition(".")[0]
        if root in _FLAT_ROOTS and isinstance(row, (Collective, Function, Sink)) and not _has_class(owner):
            _FUNCTION_HOMES.setdefault(root, {})[last] = row.name


def _has_class(dotted: str) -> bool:
    return any(part[:1].isupper() for part in dotted.split("."))


class Extended(Mapping[str, str]):
    """The releases in use, and the configured rows of the project, which replace the tables' rows of the same name.

    All look-ups accept it as `versions`. It affects only look-ups that it is passed to. Hooks and stores cannot be
    configured; a class has those of its bases.
    """

    def __init__(self, versions: Mapping[str, str], custom: Iterable[Row]) -> None:
        self.versions = versions
        self.custom: _ByName = {}
        for row in custom:
            self.custom[row.name] = (*self.custom.get(row.name, ()), row)
        self.rows: _ByName = _BY_NAME | self.custom

    def __getitem__(self, name: str) -> str:
        return self.versions[name]

    @overload
    def get(self, name: str, /) -> str | None: ...
    @overload
    def get(self, name: str, default: str, /) -> str: ...
    @overload
    def get(self, name: str, default: _T, /) -> str | _T: ...
    def get(self, name: str, default: object = None, /) -> object:
        return self.versions.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.versions)

    def __len__(self) -> int:
        return len(self.versions)


def of_any_release(versions: Mapping[str, str]) -> Mapping[str, str]:
    """The same knowledge with no release known."""
    if isinstance(versions, Extended):
        return Extended(NO_VERSIONS, (row for rows in versions.custom.values() for row in rows))
    return NO_VERSIONS


def _rows_by_name(versions: Mapping[str, str]) -> _ByName:
    return versions.rows if type(versions) is Extended else _BY_NAME  # isinstance is slow for a Mapping


# --- names ----------------------------------------------------------------------------------------------

# Import spellings by their longest prefix.
_ALIASES: dict[str, str] = {
    **{
        f"batchgenerators.utilities.file_and_folder_operations.{name}": target
        for name, target in {
            "isdir": "os.path.isdir",
            "isfile": "os.path.isfile",
            "join": "os.path.join",
            "listdir": "os.listdir",
            "load_json": "json.load",
            "load_pickle": "pickle.load",
            "os_split_path": "os.path.split",
        }.items()
    },
    **file_systems.ALIASES,
    "apex.parallel.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "apex.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "comet_ml.experiment.CometExperiment": "comet_ml.CometExperiment",
    "composer.trainer.Trainer": "composer.Trainer",
    "composer.trainer.trainer.Trainer": "composer.Trainer",
    "deepspeed.comm": "torch.distributed",
    "detectron2.engine.hooks": "detectron2.engine",
    "detectron2.engine.train_loop": "detectron2.engine",
    "ignite.distributed.auto": "ignite.distributed",
    "ignite.distributed.utils": "ignite.distributed",
    "imageio.v2": "imageio",
    "imageio.v3": "imageio",
    "lightning.Fabric": "lightning.fabric.Fabric",
    "lightning.Trainer": "lightning.pytorch.Trainer",
    "lightning.fabric.fabric": "lightning.fabric",
    "lightning.lite": "lightning_lite",
    "lightning.pytorch.lite": "lightning_lite",
    "lightning.pytorch.loggers.wandb": "lightning.pytorch.loggers",
    "lightning.pytorch.trainer.Trainer": "lightning.pytorch.Trainer",
    "lightning_fabric.Fabric": "lightning.fabric.Fabric",
    "lightning_fabric.fabric": "lightning.fabric",
    "lightning_lite.lite": "lightning_lite",
    "mlflow.client": "mlflow",
    "mlflow.tracking": "mlflow",
    "mlflow.tracking.client": "mlflow",
    "mlflow.tracking.fluent": "mlflow",
    "mmcv.engine.test": "mmcv.engine",
    "mmcv.parallel.distributed": "mmcv.parallel",
    "mmcv.runner.dist_utils": "mmcv.runner",
    "mmengine.dist.dist": "mmengine.dist",
    "mmengine.dist.utils": "mmengine.dist",
    "mmengine.model.wrappers": "mmengine.model",
    "mmengine.model.wrappers.distributed": "mmengine.model",
    "modulus.distributed": "physicsnemo.distributed",
    "modulus.distributed.manager": "physicsnemo.distributed",
    "monai.data.DataLoader": "torch.utils.data.DataLoader",
    "monai.data.ThreadDataLoader": "torch.utils.data.DataLoader",
    "monai.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "monai.data.thread_buffer.ThreadDataLoader": "torch.utils.data.DataLoader",
    "physicsnemo.distributed.manager": "physicsnemo.distributed",
    "pytorch_lightning.lite": "lightning_lite",
    "pytorch_lightning.lite.lite": "lightning_lite",
    "pytorch_lightning.loggers.wandb": "pytorch_lightning.loggers",
    "pytorch_lightning.trainer.Trainer": "pytorch_lightning.Trainer",
    "speechbrain.core": "speechbrain",
    "swanlab.data.run.main.SwanLabRun": "swanlab.Run",
    "tensorboardX.writer": "tensorboardX",
    "torch.cuda.memory": "torch.cuda",
    "torch.distributed._composable.fsdp": "torch.distributed.fsdp",
    "torch.distributed._composable.fsdp.fully_shard": "torch.distributed.fsdp.fully_shard",
    "torch.distributed._tensor": "torch.distributed.tensor",
    "torch.distributed._tensor.init_device_mesh": "torch.distributed.device_mesh.init_device_mesh",
    "torch.distributed.DeviceMesh": "torch.distributed.device_mesh.DeviceMesh",
    "torch.distributed.algorithms.join": "torch.distributed.algorithms",
    "torch.distributed.deprecated": "torch.distributed",  # of PyTorch 1.0, beside the new one
    "torch.distributed.distributed_c10d": "torch.distributed",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "torch.distributed.fsdp",
    "torch.distributed.init_device_mesh": "torch.distributed.device_mesh.init_device_mesh",
    "torch.distributed.nn": "torch.distributed.nn.functional",
    "torch.distributed.nn.functional": "torch.distributed.nn.functional",
    "torch.functional": "torch",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.deprecated": "torch.nn.parallel",
    "torch.nn.parallel.distributed": "torch.nn.parallel",
    "torch.nn.utils.clip_grad": "torch.nn.utils",
    "torch.optim.lr_scheduler._LRScheduler": "torch.optim.lr_scheduler.LRScheduler",
    "torch.optim.optimizer": "torch.optim",
    "torch.utils.data.dataloader": "torch.utils.data",
    "torch.utils.data.distributed": "torch.utils.data",
    "torch.utils.data.sampler": "torch.utils.data",
    "torch.utils.tensorboard.writer": "torch.utils.tensorboard",
    "torch_geometric.data.DataLoader": "torch.utils.data.DataLoader",
    "torch_geometric.loader.DataLoader": "torch.utils.data.DataLoader",
    "torch_geometric.loader.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torchdata.stateful_dataloader.StatefulDataLoader": "torch.utils.data.DataLoader",
    "torchdata.stateful_dataloader.stateful_dataloader.StatefulDataLoader": "torch.utils.data.DataLoader",
    "torchmetrics.collections": "torchmetrics",
    "torchmetrics.metric": "torchmetrics",
    "torchvision.io.image": "torchvision.io",
    "torchvision.io.video": "torchvision.io",
    "transformers.integrations.integration_utils": "transformers.integrations",
    "wandb.sdk": "wandb",
    "wandb.sdk.wandb_run": "wandb",
    "wandb.wandb_sdk.wandb_run": "wandb",
}


@cache
def canonical(dotted: str) -> str:
    """The name that rows use for an imported name; unknown names are returned unchanged."""
    parts = dotted.split(".")
    root = parts[0]
    if root in _FLAT_ROOTS:
        for index in range(1, len(parts)):
            if parts[index].lstrip("_")[:1].isupper():
                return ".".join([root, *parts[index:]])
        if dotted in _BY_NAME:
            return dotted
        return _FUNCTION_HOMES.get(root, {}).get(parts[-1], dotted)
    for end in range(len(parts), 1, -1):
        prefix = ".".join(parts[:end])
        target = _ALIASES.get(prefix)
        if target is not None:
            return ".".join([target, *parts[end:]])
    return dotted


def is_alias(dotted: str) -> bool:
    """Whether a name is listed as an alias of another: `join` of a library is `os.path.join`."""
    return dotted in _ALIASES


# --- versions -------------------------------------------------------------------------------------------


@cache
def _release(version: str) -> tuple[int, ...]:
    """The release numbers of a version, without trailing zeros: 5.0 and 5 are equal."""
    numbers = []
    for part in version.split("."):
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def order_of(version: str, other: str) -> int:
    """-1, 0 or 1 if a release is older than another one, the same, or newer."""
    mine, others = _release(version), _release(other)
    return (mine > others) - (mine < others)


def in_span(row: Row, version: str | None) -> bool | None:
    """Whether the row holds for that version of its library; None if that depends on an unknown version."""
    if not row.since and not row.until:
        return True
    if not version:
        return None
    release = _release(version)
    if row.since and release < _release(row.since):
        return False
    return not (row.until and release >= _release(row.until))


def holding(rows: Iterable[_R], versions: Mapping[str, str] = NO_VERSIONS) -> tuple[_R, ...]:
    """The rows that hold, or may hold, for the versions in use."""
    return tuple(row for row in rows if _may_hold(row, versions))


def _may_hold(row: Row, versions: Mapping[str, str]) -> bool:
    if not row.since and not row.until:
        return True  # no need to know the release
    return in_span(row, versions.get(row.name.partition(".")[0])) is not False


# --- look-ups -------------------------------------------------------------------------------------------


def rows(name: str, versions: Mapping[str, str] = NO_VERSIONS) -> tuple[Row, ...]:
    """All rows of a name, of any span."""
    return _rows_by_name(versions).get(name, ())


def function(name: str, versions: Mapping[str, str] = NO_VERSIONS) -> Row | None:
    """The row of a callable or class. If several may hold, the newest."""
    found = holding(rows(name, versions), versions)
    if found:
        return found[-1]
    if name.endswith("_available") and heuristics.PACKAGE_CHECK.fits(name.rpartition(".")[2]):
        return Function(name=name, source="whether a package is installed", returns=SAME)
    return None


def _class_rows(cls: str, versions: Mapping[str, str]) -> tuple[Class, ...]:
    return holding((row for row in rows(cls, versions) if isinstance(row, Class)), versions)


def mro(cls: str, versions: Mapping[str, str] = NO_VERSIONS) -> Iterator[str]:
    """The class and its bases, nearest first (the bases of all releases that may be in use)."""
    queue, seen = [cls], {cls}
    while queue:
        current = queue.pop(0)
        yield current
        for row in _class_rows(current, versions):
            for base in row.bases:
                if base not in seen:
                    seen.add(base)
                    queue.append(base)


def is_subclass(cls: str, base: str, versions: Mapping[str, str] = NO_VERSIONS) -> bool:
    """Whether the class is, or in a release that may be in use is, the base or derived from it."""
    if cls == base or not rows(cls, versions):  # most names that are looked up are no classes
        return cls == base
    return any(current == base for current in mro(cls, versions))


def members(cls: str) -> set[str]:
    """The names that the tables know on a class and its bases, in any release."""
    owners = set(mro(cls))
    return {name.rpartition(".")[2] for name in _BY_NAME if name.rpartition(".")[0] in owners}


def _others(cls: str, versions: Mapping[str, str]) -> Class | None:
    """The row with the value of attributes without a row, and the result of methods without one, if it is known."""
    for current in mro(cls, versions):
        for row in _class_rows(current, versions):
            if row.others is not None:
                return row
    return None


_OF_METHODS = (Collective, Function, Hook, OpaqueCall, Sink)


def method(cls: str, attr: str, versions: Mapping[str, str] = NO_VERSIONS) -> tuple[str, tuple[Row, ...]] | None:
    """The class or base that has a method of that name, and its rows."""
    for current in mro(cls, versions):
        known = rows(f"{current}.{attr}", versions)
        found = holding((row for row in known if isinstance(row, _OF_METHODS)), versions)
        if found:
            return current, found
    rest = _others(cls, versions)
    if rest is not None and rest.others is not None and attribute_row(cls, attr, versions) is None:
        return rest.name, (Function(name=f"{rest.name}.{attr}", source=rest.source, returns=rest.others),)
    return _removed_method(cls, attr, versions)


def _removed_method(cls: str, attr: str, versions: Mapping[str, str]) -> tuple[str, tuple[Row, ...]] | None:
    """The class that had a method in an earlier release, and its last row: code that calls it is written for that."""
    for current in mro(cls, versions):
        known = [row for row in rows(f"{current}.{attr}", versions) if isinstance(row, Function) and row.until]
        if known and order_of(versions.get(current.partition(".")[0], ""), known[-1].until) >= 0:
            return current, (known[-1],)
    return None


def _nearest(cls: str, attr: str, kind: type[_R], versions: Mapping[str, str]) -> tuple[_R, ...]:
    """The rows of a kind in the nearest of the class and its bases that has any for the attribute."""
    for current in mro(cls, versions):
        found = holding((row for row in rows(f"{current}.{attr}", versions) if isinstance(row, kind)), versions)
        if found:
            return found
    return ()


def attribute_row(cls: str, attr: str, versions: Mapping[str, str] = NO_VERSIONS) -> Attribute | None:
    """The row of an attribute in the class or its bases, if there is one."""
    found = _nearest(cls, attr, Attribute, versions)
    return found[-1] if found else None


def attribute(cls: str, attr: str, versions: Mapping[str, str] = NO_VERSIONS) -> Attribute | None:
    """What is known of an attribute of an instance; the class's `others` are used for attributes without a row."""
    found = attribute_row(cls, attr, versions)
    if found is not None:
        return found
    rest = _others(cls, versions)
    if rest is None or rest.others is None:
        return None
    for current in mro(cls, versions):
        if rows(f"{current}.{attr}", versions):
            return None
    return Attribute(name=f"{rest.name}.{attr}", source=rest.source, value=rest.others)


def hook(cls: str, attr: str, versions: Mapping[str, str] = NO_VERSIONS) -> tuple[Hook, ...]:
    """The Hook rows of a method in the nearest of the class and its bases that has any."""
    return _nearest(cls, attr, Hook, versions)


def hooks_of(cls: str, versions: Mapping[str, str] = NO_VERSIONS) -> dict[str, tuple[Hook, ...]]:
    """The methods that the library calls on the class, with their rows."""
    found: dict[str, tuple[Hook, ...]] = {}
    for current in mro(cls, versions):
        for name, named in _HOOKS.get(current, {}).items():
            if name not in found:
                valid = holding(named, versions)
                if valid:
                    found[name] = valid
    return {name: named for name, named in found.items() if any(row.called for row in named)}


def store(cls: str, attr: str, versions: Mapping[str, str] = NO_VERSIONS) -> Store | None:
    """The metric store of that name on the class or its bases."""
    found = _nearest(cls, attr, Store, versions)
    return found[-1] if found else None


def stores(cls: str, versions: Mapping[str, str] = NO_VERSIONS) -> dict[str, Store]:
    """All metric stores of the class and its bases."""
    found: dict[str, Store] = {}
    for current in mro(cls, versions):
        for row in holding(_STORES.get(current, ()), versions):
            found.setdefault(row.name.rpartition(".")[2], row)
    return found


def reduces(sink: str) -> str:
    """The keyword that makes a call of a sink reduce what it logs over the ranks; "" if it has none."""
    return next((row.reduces for row in rows(sink) if isinstance(row, Sink)), "")


def keeps_from_reducing(sink: str) -> str:
    """The keyword that keeps a call of such a sink from reducing what it logs; "" if it has none."""
    return next((row.synchronises.unless for row in rows(sink) if isinstance(row, Sink) and row.synchronises), "")


def shown_only_in(sink: str) -> tuple[frozenset[str], frozenset[str]]:
    """The functions in which, or in whose helpers, a sink shows metrics of all data (empty: any function), and those in
    which it does where nothing is chosen by them.
    """
    return next(((row.only_in, row.also_in) for row in rows(sink) if isinstance(row, Sink)), (frozenset(), frozenset()))


def unique_method(attr: str) -> str | None:
    """The only class, among those that training scripts use, that has an attribute of that name."""
    return _UNIQUE.get(attr)


# --- classes by their names -----------------------------------------------------------------------------

_MODEL_ROOTS = frozenset({"diffusers", "peft", "sentence_transformers", "transformers", "trl"})
# Names of libraries that scripts also use for a file in their own folder.
_ALSO_FILE_NAMES = frozenset({"datasets", "evaluate"})
# The first part of a name that refers to a library. Packages use some of these names for files of their own that handle
# the library: `mine/wandb.py`.
LIBRARY_ROOTS = (
    _MODEL_ROOTS.union(name.partition(".")[0] for name in (*_ALIASES, *(row.name for row in ROWS)) if "." in name)
    - _ALSO_FILE_NAMES
)


def is_model_class(name: str) -> bool:
    """Whether a class of a model library is a model, by its name."""
    root, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    if root not in _MODEL_ROOTS or not last[:1].isupper() or heuristics.LOADED_ALIKE.fits(last):
        return False
    return heuristics.MODEL_CLASS.fits(last)


def are_plain_models(names: Collection[str]) -> bool:
    """Whether all classes with these names are models, and no wrapper is an object of them."""
    plain = (name in PLAIN_CLASSES or is_model_class(f"transformers.{name}") for name in names)
    return bool(names) and all(plain)


def _is_noise_scheduler(name: str) -> bool:
    """Whether a class of Diffusers adds and removes noise, by its name."""
    return name.startswith("diffusers.") and heuristics.NOISE_SCHEDULER.fits(name)


def maker(name: str) -> Value | None:
    """The result of a class method that loads something: `transformers.AutoModel.from_pretrained`."""
    cls, _, last = name.rpartition(".")
    if cls in model_libraries.MODEL_FUNCTIONS and last.islower():
        return None if last in model_libraries.NO_MODEL_FUNCTIONS else BARE_MODEL
    if last not in transformers.MODEL_MAKERS:
        return None
    if _is_noise_scheduler(cls):
        return PURE
    if heuristics.PIPELINE.fits(cls):
        return instance(model_libraries.PIPELINE)
    if is_model_class(cls):
        return BARE_MODEL
    if cls.partition(".")[0] in _MODEL_ROOTS and heuristics.LOADED_ALIKE.fits(cls):
        return LOADED
    return None


def constructor(name: str, versions: Mapping[str, str] = NO_VERSIONS) -> Value | str | None:
    """The result of calling a class: a value, the name of a transfer, or None if the class is unknown."""
    for row in _class_rows(name, versions):
        return row.makes or instance(name)
    last = name.rpartition(".")[2]
    if last[:1].isupper():
        if name.startswith("torch.optim.lr_scheduler."):
            return instance("torch.optim.lr_scheduler.LRScheduler")
        if name.startswith("torch.optim."):
            return instance("torch.optim.Optimizer")
        if _is_noise_scheduler(name) or name.startswith(_COMPUTING_CLASSES):
            return PURE
        if heuristics.PIPELINE.fits(name):
            return instance(model_libraries.PIPELINE)
        if is_model_class(name):
            return BARE_MODEL
        if name.partition(".")[0] in _MODEL_ROOTS and heuristics.LOADED_ALIKE.fits(last):
            return LOADED
    return None


_COMPUTING_CLASSES = (*model_libraries.PURE_CLASSES, *computing_libraries.CLASSES)


# --- functions by their roots ---------------------------------------------------------------------------


def is_pure(name: str) -> bool:
    """Whether a call under a well-known root computes from its arguments only. No other table is used."""
    return _is_pure(name) or (name.startswith("diffusers.") and heuristics.PIPELINE_HELPER.fits(name))


@cache
def _is_pure(name: str) -> bool:
    if name in torch.PURE_FUNCTIONS:
        return True
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        prefix = ".".join(parts[:end])
        if prefix in torch.IMPURE or prefix in computing_libraries.OTHERS:
            return False
        if prefix in torch.PURE_ROOTS or prefix in computing_libraries.FUNCTIONS:
            return True
    return len(parts) == 1 and name in torch.PURE_BUILTINS


@cache
def origin(name: str) -> Rank | None:
    """The rank fact of a call or attribute that does not depend on its arguments (clocks, memory, …)."""
    found = torch.ORIGINS.get(name)
    if found is not None:
        return found
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        found = torch.ORIGINS.get(".".join(parts[:end]) + ".")
        if found is not None:
            return found
    return None


def is_callable(name: str) -> bool:
    """Whether a dotted name is known to be that of a function or class, whatever the release."""
    if name in torch.ORIGINS:
        return True
    found = rows(canonical(name))
    return bool(found) and all(isinstance(each, (Class, Collective, Function, OpaqueCall)) for each in found)


_add(ROWS)
_FUNCTION_HOMES["trl"].update({last: _FUNCTION_HOMES["accelerate"][last] for last in trl.FROM_ACCELERATE})
