"""What shows that a project is run under an engine: options of launch commands, keys of configurations, and code.

Each sign names its engine and its source. It is no sign that a project names an engine in prose, tests for one in a
condition or imports its library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from trl_lint.domain import ranks
from trl_lint.domain.engines import TrainingEngine
from trl_lint.domain.kinds import flag
from trl_lint.knowledge.process_starts import START_RANKS
from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    BACKWARD,
    GLOBAL_RANK_INDEX,
    LOADED_BATCH,
    LOADER,
    NOTHING,
    RANK_INDEX,
    SAME,
    SETTING,
    UNKNOWN,
    Attribute,
    Class,
    Function,
    Row,
    Synchronisation,
    instance,
    items,
)

_compiled = cache(re.compile)


@dataclass(frozen=True, slots=True)
class Sign:
    """A regular expression over the bytes of a file, and the engine whose use it shows.

    words: every match contains one of these; searching for them is many times faster. unless: a pattern that, found
    anywhere in the same file, cancels the sign.
    """

    engine: TrainingEngine
    pattern: str
    source: str
    words: tuple[bytes, ...]
    unless: str = ""

    def may_be_in(self, text: bytes) -> bool:
        return any(word in text for word in self.words)

    def is_in(self, text: bytes) -> bool:
        if not self.may_be_in(text) or not _found(self.pattern, text):
            return False
        return not self.unless or not _found(self.unless, text)


def _found(pattern: str, text: bytes) -> bool:
    return _compiled(pattern.encode(), re.MULTILINE).search(text) is not None


# A file without code shows nothing without one of these.
MENTIONS = re.compile(
    rb"(?i)deepspeed|fsdp|full\w*shard|zero_|_zero3|multi_gpu|DataParallel|torchrun|accelerate[\s-]+launch"
    rb"|accelerate\.commands|distributed\.(?:run|launch)"
)
# A file without one of these has no launch of several processes.
LAUNCHES = re.compile(
    rb"accelerate[\s\"',-]+launch|torchrun|accelerate\.commands|distributed\.(?:run|launch)"
    rb"|(?<![\w./-])(?:deepspeed|ds)[\"',]*\s+[^\s:=]|deepspeed\.launcher"
)
# A file without this has no program that is started with bare python.
STARTS = re.compile(
    rb"(?:python[\d.]*|PYTHON[^\s]*)\s[^\n]*(?:\.py\b|\$)|python[\d.]*\s+(?:-\w+\s+(?:[^-\s]\S*\s+)?)*-\w*m\s"
    rb"|\brun\s[^\n]*\.py\b"
    rb"|python[\d.]*[ \t]+\\\r?\n|\bscript:\s*[\"'][^\n]*\.py\b"
)
# `spawn` of a seed or a generator of numpy makes others of them, as many as it is told; a launcher that is told to
# start one process starts the only one.
_STARTS_RANKS = (
    rb"\b(?<!\brng\.)(?<!seq\.)(?<!seed\.)(?:%b)\("
    rb"(?!\s*\d+\s*\)|(?:[^()]|\([^()]*\))*?\bnprocs\s*=\s*1\s*[,)])" % "|".join(sorted(START_RANKS)).encode()
)
SPAWNS_RANKS = re.compile(_STARTS_RANKS)
# Code that asks how many GPUs it sees.
COUNTS_GPUS = b"device_count("
# Code that starts a written out number of ranks, or chooses itself which GPUs it sees, whatever its commands say.
CHOOSES_GPUS = re.compile(rb"\bnprocs\s*=\s*\d|VISIBLE_DEVICES[\"']\s*(?:\]\s*=(?!=)|:)")
# Code that starts processes itself, or through a library: bare python runs it on all GPUs. A seed starts nothing. Only
# what starts a program writes an option with its value: `f"--rank={i}"`.
SPAWNS = re.compile(
    _STARTS_RANKS + rb"|(?<!psutil\.)\bProcess\("
    rb"|^\s*(?:import|from)\s+(?:(?:pytorch_)?lightning(?![\w.]*\s+import\s+seed_everything\s*(?:#|$))"
    rb"|ray(?!\.(?:air|tune)\b|\s+import\s+tune\b)|composer|submitit)\b"
    rb"|\btorchrun\b|accelerate[\s\"',]+launch|distributed\.(?:run|launch)\b|--(?:local[_-])?rank=",
    re.MULTILINE,
)
# A Trainer of Lightning that starts a process per device, of which there may be several; no other one has `devices`.
TRAINS_ON_SEVERAL = re.compile(
    rb"\bTrainer\((?:[^()#]|\([^()]*\))*?\bdevices[ \t]*="
    rb"(?!\s*(?:[\"']?[01][\"']?\s*[,)]|\[\s*\d+\s*\]|None\b|[\"']?auto\b))"
)
# What starts processes in the cells of a notebook that imports Lightning. There a Fabric starts several only for a
# function: its `launch()` without one raises, unless there is one device (lightning/fabric/fabric.py `Fabric.launch`).
STARTS_OF_LIGHTNING = re.compile(
    rb"\b(?:\w*Trainer|\w*CLI)\b|\bclass\s+\w+\([^()]*\bFabric\b|\.(?:fit|test|validate)\(|\.launch\((?!\s*\))"
)
# The last line of every match of SPAWNS contains one of these; searching for them is many times faster.
SPAWN_WORDS = (
    b"spawn(", b"Process(", b"start_processes(", b"_launcher(", b"elastic_launch(", b"lightning", b" ray", b"composer",
    b"submitit", b"torchrun", b"launch", b"distributed.run", b"rank=",
)  # fmt: skip
# Code that trains: a loop of its own, or a trainer of a library.
TRAINING = (b".backward(", b"Trainer(")
# Code that tests whether a process group has been started: without one, it treats its process as the only one.
ASKING_FOR_GROUP = b"is_initialized"
ASKS_FOR_GROUP = re.compile(rb"\b%b\b" % ASKING_FOR_GROUP)
# Code that raises where there is none, unlike `fully_shard`, which starts one (torch:
# distributed/fsdp/_init_utils.py `_init_process_group_state`, _fully_shard/_fsdp_init.py).
NEEDING_GROUP = (b"FullyShardedDataParallel(", b"FSDP(")  # searching for them is many times faster
NEEDS_GROUP = re.compile(rb"(?<!class )(?<!\w)(?:%b)" % b"|".join(map(re.escape, NEEDING_GROUP)))
# The wrapper that raises, too, and is often made on an option only (torch: nn/parallel/distributed.py `__init__`).
DDP_WORDS = (b"DDP(", b"DistributedDataParallel(")  # as above
WRAPS_IN_DDP = re.compile(rb"(?<!class )(?<!\w)(?:%b)" % b"|".join(map(re.escape, DDP_WORDS)))
# Code, in lower case, that may start one, itself or through a library; any other name of a setup of ranks counts.
# DistributedDataParallel starts none, and fails without one; so does FSDP, whose name is also an argument of Trainer.
# Each of these begins with a letter, or a dot: otherwise the expression is three times as slow.
_SETS_UP = rb"\w{0,12}(?:dist|parallel|ddp|fsdp|process|device_mesh)"
_AS_SETTING = rb"fsdp(?:_(?:config|init|launch|main|plugin|setup)|\s*=\s*[\"'\[]|[\"']\s*[:\]])"
_STARTING = (
    rb"(?:\w*lightning|colossalai|composer|deepspeed|detectron|fairseq|horovod|ignite|megatron|mmcv|mmengine|nemo|ray"
    rb"|submitit|torch_xla)"
)
STARTS_GROUP = re.compile(
    rb"init%b|setup%b|launch%b|dist\w{0,8}(?:init|setup)|accelerat|partialstate|trainer\w*\(|trainingarg|fully_shard|%b"
    rb"|fabric\(|\.spawn\(|local_rank[\"']|world_size[\"']|import\s+%b|from\s+%b"
    % (_SETS_UP, _SETS_UP, _SETS_UP, _AS_SETTING, _STARTING, _STARTING)
)
# Code, in lower case, that looks like it and only reads the environment of a job: it may have been started by others.
READS_JOB = re.compile(
    rb"(?:environ\[|environ\.get\(|getenv\()[\"'](?:local_rank|world_size)[\"'](?!\]\s*=[^=])"
    rb"|[\"'](?:local_rank|world_size)[\"']\s+(?:not\s+)?in\b"
)
# An option by which a launcher tells a program which of its processes it is; code that other programs use declares it.
TOLD_RANK = re.compile(rb"[\"']--(?:local[_-]rank|world[_-]size)[\"']")

_LAUNCH = "accelerate: commands/launch.py"
_PLUGINS = "accelerate: utils/dataclasses.py"
_CONFIG = "accelerate: commands/config/config_args.py::ClusterConfig"
_ARGUMENTS = "transformers: training_args.py::TrainingArguments"
_SHARDING = (b"full_shard", b"shard_grad_op", b"hybrid_shard")
_SHARDS = r"(?:full_shard|shard_grad_op|hybrid_shard|hybrid_shard_zero2)\b"
# A value of YAML, of JSON or of Python, after its key.
_TYPE = r"^[ \t]*[\"']?distributed_type[\"']?[ \t]*:[ \t]*[\"']?{}\b"
_NO_SHARDS = r"^[ \t]*fsdp_sharding_strategy[ \t]*:[ \t]*[\"']?(?:NO_SHARD|3)\b"

# fmt: off
# In files of settings, and in settings that are printed in documentation.
IN_CONFIGURATION = (
    Sign(TrainingEngine.DDP, _TYPE.format("MULTI_GPU"), _CONFIG, (b"distributed_type",)),
    Sign(TrainingEngine.FSDP, _TYPE.format("FSDP"), _CONFIG, (b"distributed_type",), unless=_NO_SHARDS),
    Sign(TrainingEngine.DEEPSPEED, _TYPE.format("DEEPSPEED"), _CONFIG, (b"distributed_type",)),
    Sign(TrainingEngine.DEEPSPEED_ZERO3, r"^[ \t]*zero_stage[ \t]*:[ \t]*[\"']?3\b", _CONFIG, (b"zero_stage",)),
    Sign(TrainingEngine.FSDP, rf"^[ \t]*fsdp[ \t]*:[^#\n]*\b{_SHARDS}", _ARGUMENTS, _SHARDING),
    Sign(TrainingEngine.DEEPSPEED, r"^[ \t]*deepspeed[ \t]*:[ \t]*[\"']?[^\s#\"']+\.json\b", _ARGUMENTS,
         (b"deepspeed",)),
)
# In Python code, without comments.
IN_CODE = (
    Sign(TrainingEngine.DDP, r"(?<!class )\b(?:DistributedDataParallel|DDP)\s*\(", "torch: nn/parallel/distributed.py",
         (b"DistributedDataParallel", b"DDP")),
    # The settings of Accelerate's plugin apply where a launch asks for the engine.
    Sign(TrainingEngine.FSDP, r"(?<!class )\b(?:FullyShardedDataParallel|FSDP)\s*\(",
         "torch: distributed/fsdp/fully_sharded_data_parallel.py", (b"FullyShardedDataParallel", b"FSDP"),
         unless=r"\.fsdp_plugin\b"),
    Sign(TrainingEngine.FSDP, r"(?<!def )\bfully_shard\s*\(", "torch: distributed/fsdp/_fully_shard/_fully_shard.py",
         (b"fully_shard",)),
    Sign(TrainingEngine.FSDP, r"(?<!class )\bFullyShardedDataParallelPlugin\s*\(", _PLUGINS,
         (b"FullyShardedDataParallelPlugin",)),
    # As an argument, an attribute or an item: `TrainingArguments(**{"fsdp": "full_shard"})`.
    Sign(TrainingEngine.FSDP, rf"^[^#\n]*\bfsdp(?:[\"'](?:\s*\]\s*=|\s*:)|\s*=)\s*[\[\"'][^#\n]*\b{_SHARDS}",
         _ARGUMENTS, _SHARDING),
    # The same holds here.
    Sign(TrainingEngine.DEEPSPEED, r"\bdeepspeed\.initialize\s*\(", "deepspeed: __init__.py::initialize",
         (b"deepspeed.initialize",), unless=r"\.deepspeed_plugin\b"),
    Sign(TrainingEngine.DEEPSPEED, r"(?<!class )\bDeepSpeedPlugin\s*\(", _PLUGINS, (b"DeepSpeedPlugin",)),
    Sign(TrainingEngine.DEEPSPEED_ZERO3, r"\bDeepSpeedPlugin\s*\([^)#]*\bzero_stage\s*=\s*3\b", _PLUGINS,
         (b"DeepSpeedPlugin",)),
    # Under other engines, the first step of such an optimizer raises; Accelerate's examples ask for the engine first.
    Sign(TrainingEngine.DEEPSPEED, r"(?<!class )\bDummy(?:Optim|Scheduler)\s*\(", "accelerate: utils/deepspeed.py",
         (b"DummyOptim", b"DummyScheduler"), unless=r"\.deepspeed_plugin\b"),
    Sign(TrainingEngine.DEEPSPEED, r"^[^#\n]*\bdeepspeed\s*=\s*[\"'][^\"'\n]+\.json\b", _ARGUMENTS, (b".json",)),
    # A literal configuration, without one of another stage in the file.
    Sign(TrainingEngine.DEEPSPEED_ZERO3, r"[\"']zero_optimization[\"']\s*:\s*\{[^{}]*[\"']stage[\"']\s*:\s*3\b",
         "deepspeed: runtime/zero/config.py::DeepSpeedZeroConfig", (b"zero_optimization",),
         unless=r"[\"']stage[\"']\s*:\s*[012]\b"),
    # It raises with any other stage.
    Sign(TrainingEngine.DEEPSPEED_ZERO3, r"\._zero3_consolidated_16bit_state_dict\s*\(",
         "deepspeed: runtime/engine.py", (b"._zero3_consolidated_16bit_state_dict",)),
)
# Where Accelerate keeps DeepSpeed's settings; None under any other engine (state.py::AcceleratorState).
PLUGIN_OF_STATE = "deepspeed_plugin"
# Words of code that starts DeepSpeed; the keys of the stage in its settings, and the stages at which each rank has the
# whole of each parameter.
STARTS_DEEPSPEED = (b"deepspeed", b"initialize")
ZERO_SETTINGS, STAGE = "zero_optimization", "stage"
WHOLE_STAGES = frozenset({0, 1, 2})
# Code that leaves the engine of a model to settings and commands: a library's own objects prepare it.
CHOOSES_ENGINE = re.compile(rb"\bAccelerator\(|\b\w*TrainingArguments\b")


def spelled(name: str) -> str:
    """An option's name as in these tables: torchrun and `accelerate launch` take `-` and `_` between words alike."""
    words = name.lstrip("-")
    return name[: len(name) - len(words)] + words.replace("-", "_")


class _LaunchOption:
    """An option of a launch command, of the launcher or of the program, with a value that matches a pattern."""

    __slots__ = ()
    name: str
    value: str

    def fits(self, name: str, value: str) -> bool:
        return spelled(name) == self.name and _compiled(self.value).search(value) is not None


@dataclass(frozen=True, slots=True)
class Option(_LaunchOption):
    """An option that shows an engine."""

    engine: TrainingEngine
    name: str
    source: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class CountOption(_LaunchOption):
    """An option that says that all processes are on one machine, or that there is one process on each machine."""

    name: str
    source: str
    value: str = ""


OPTIONS = (
    Option(TrainingEngine.DDP, "--multi_gpu", _LAUNCH),
    Option(TrainingEngine.FSDP, "--use_fsdp", _LAUNCH),
    Option(TrainingEngine.DEEPSPEED, "--use_deepspeed", _LAUNCH),
    Option(TrainingEngine.DEEPSPEED, "--deepspeed_config_file", _LAUNCH),
    Option(TrainingEngine.DEEPSPEED_ZERO3, "--zero_stage", f"{_LAUNCH}; DeepSpeedExamples: DeepSpeed-Chat", r"^3$"),
    Option(TrainingEngine.FSDP, "--fsdp", _ARGUMENTS, _SHARDS),
    Option(TrainingEngine.DEEPSPEED, "--deepspeed", f"{_ARGUMENTS}; deepspeed: __init__.py::add_config_arguments"),
    Option(TrainingEngine.DEEPSPEED, "--deepspeed_config", "deepspeed: __init__.py::add_config_arguments"),
)
_ELASTIC = "torch: distributed/run.py"
_LOCAL = r"^(?:localhost|127\.0\.0\.1)\b"
ONE_NODE = (
    CountOption("--nnodes", _ELASTIC, r"^1(?::1)?$"),
    CountOption("--standalone", _ELASTIC),
    CountOption("--master_addr", _ELASTIC, _LOCAL),
    CountOption("--rdzv_endpoint", _ELASTIC, _LOCAL),
    CountOption("--num_machines", _LAUNCH, r"^1$"),
)
_RUNNER = "deepspeed: launcher/runner.py"
ONE_PROCESS = (
    CountOption("--nproc_per_node", _ELASTIC, r"^1$"),
    CountOption("--num_processes", _LAUNCH, r"^1$"),
    CountOption("--gpu_ids", _LAUNCH, r"^\d+$"),
    CountOption("--num_gpus", _RUNNER, r"^1$"),
    CountOption("--include", _RUNNER, r"^\w+:\d+$"),
)
# These may be on several machines, with one process each.
SEVERAL_NODES = (
    CountOption("--nnodes", _ELASTIC, r"^(?!1(?::1)?$)"),
    CountOption("--num_machines", _LAUNCH, r"^(?!1$)"),
    CountOption("--num_nodes", _RUNNER, r"^(?!1$)"),
)
# Keys of DeepSpeed's settings in the `config` of an engine. A model's configuration has no such keys.
DEEPSPEED_SETTINGS = frozenset({
    "activation_checkpointing", "bf16", "fp16", "gradient_accumulation_steps", "gradient_clipping", "optimizer",
    "scheduler", "train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization",
})  # fmt: skip
# Options that set the number of processes, or which ones, and override the configuration.
COUNTS = frozenset(each.name for each in ONE_PROCESS + SEVERAL_NODES) | {"--multi_gpu"}
# Accelerate's settings give the number of processes; one machine is the default.
ACCELERATE = re.compile(rb"^num_processes[ \t]*:", re.MULTILINE)
SEVERAL_PROCESSES = re.compile(
    rb"^(?:num_processes|num_machines)[ \t]*:(?![ \t]*[\"']?1[\"']?[ \t\r]*(?:#.*)?$)", re.MULTILINE
)
# The setting with which an incomplete last batch is dropped, so that all ranks have as many rows.
DROPS_LAST = "dataloader_drop_last"
# The class or function that hydra builds from settings, and the names that code which uses hydra for it imports.
BUILT = re.compile(rb"""^[ \t]*(?:-[ \t]+)?["']?_target_["']?[ \t]*:[ \t]*["']?([\w.]+)\.\w+""", re.MULTILINE)
BUILDERS = frozenset({"hydra", "instantiate"})
# The option that passes the whole configuration to `accelerate launch`.
CONFIGURATION_OPTION = "--config_file"
# Endings of settings files that a launch command may name.
SETTINGS_FILES = (".json", ".yaml", ".yml", ".toml", ".cfg", ".ini")
# Launchers whose processes use DeepSpeed, by their names in `launchers.py`.
DEEPSPEED_LAUNCHERS = frozenset(
    {"deepspeed", "ds", "python -m deepspeed.launcher.runner", "python -m deepspeed.launcher.launch"}
)

# The engine of DeepSpeed, and what only it has, of all models. Its parameters are gathered at stage 3 only.
ENGINE = "deepspeed.DeepSpeedEngine"
_SOURCE = "deepspeed/runtime/engine.py::DeepSpeedEngine"
_ZERO3 = frozenset({TrainingEngine.DEEPSPEED_ZERO3})
_SAVES = ("save_16bit_model", "save_fp16_model")
_STATES = ("_consolidated_16bit_state_dict", "_zero3_consolidated_16bit_state_dict")
# An engine also comes with the optimizer, the loader (with a DistributedSampler from `deepspeed_io`) and the scheduler,
# if they are passed or configured. A value that is an engine on one branch, and a model on another, is unknown.
MAKES_ENGINE = "deepspeed.initialize"
INITIALIZED = items(instance(ENGINE, ranks.UNKNOWN), UNKNOWN, LOADER.with_parts(LOADED_BATCH, None), UNKNOWN)
# The argument of `initialize` that an engine runs.
MODEL_OF_ENGINE = (1, "model")
ROWS: tuple[Row, ...] = (
    Class(name=ENGINE, source=_SOURCE),
    Function(name=MAKES_ENGINE, source="deepspeed/__init__.py::initialize", returns="initialized"),
    Attribute(name=f"{ENGINE}.global_rank", source=f"{_SOURCE}._set_distributed_vars", value=GLOBAL_RANK_INDEX),
    Attribute(name=f"{ENGINE}.local_rank", source=f"{_SOURCE}._configure_with_arguments", value=RANK_INDEX),
    Attribute(name=f"{ENGINE}.world_size", source=f"{_SOURCE}._set_distributed_vars", value=ALL_PROCESSES),
    # It counts the batches; all ranks have as many in a step.
    Function(name=f"{ENGINE}.is_gradient_accumulation_boundary",
             source=f"{_SOURCE}.is_gradient_accumulation_boundary", returns=flag()),
    *(
        Function(name=f"{ENGINE}.{name}", source=f"{_SOURCE}.{name}", returns=SETTING)
        for name in ("gradient_accumulation_steps", "train_batch_size", "train_micro_batch_size_per_gpu",
                     "zero_optimization_stage")
    ),
    # It reduces the gradients, at the last of the batches of a step; older releases return the loss.
    Function(name=f"{ENGINE}.backward", source=f"{_SOURCE}.backward", returns=UNKNOWN, synchronises=BACKWARD),
    Function(name=f"{ENGINE}.save_checkpoint", source=f"{_SOURCE}.save_checkpoint", returns=NOTHING,
             synchronises=Synchronisation("save", symmetric=True)),
    # The first of them calls the second, and fails where no parameters are spread.
    *(
        Function(name=f"{ENGINE}.{name}", source=f"{_SOURCE}.{name}", returns=SAME,
                 synchronises=Synchronisation("state dict", _ZERO3, symmetric=True))
        for name in _STATES
    ),
    *(
        Function(name=f"{ENGINE}.{name}", source=f"{_SOURCE}.{name}", returns=NOTHING,
                 synchronises=Synchronisation("save", _ZERO3, symmetric=True))
        for name in _SAVES
    ),
)
# Attributes of the engine: code that reads one of a model expects DeepSpeed, or a similar engine.
OF_ENGINE = frozenset({"backward", "basic_optimizer", "get_global_grad_norm", "is_gradient_accumulation_boundary",
                       "lr_scheduler", "optimizer", "step", "train_micro_batch_size_per_gpu", "training_dataloader",
                       "zero_optimization_stage"})
# Methods of its own, or of any module, that a model may have as well: of the engine, they are not those of its model,
# as `DeepSpeedEngine.__getattr__` hands on only what the engine has not.
HIDDEN = OF_ENGINE | frozenset({
    "all_gather_scalar", "allreduce_gradients", "apply", "bfloat16", "compile", "cpu", "cuda", "destroy", "double",
    "dump_state", "eval", "extra_repr", "float", "get_batch_info", "get_lr", "get_mom", "get_type", "half",
    "load_checkpoint", "load_state_dict", "loss_scale", "module_state_dict", "named_parameters", "no_sync",
    "parameters", "requires_grad_", "save_checkpoint", "scale", "state_dict", "to", "train", "train_batch_size",
    "zero_grad", *_STATES, *_SAVES,
})  # fmt: skip
UNIQUE: dict[str, str] = {name: ENGINE for name in (*_STATES, *_SAVES)}
# Methods that other objects have (trainers, classes of projects), but no other models.
OF_MODELS = frozenset({"load_checkpoint", "save_checkpoint"})
# fmt: on
