"""Accelerate's collectives, state and wrappers. Read from accelerate 0.34 to 1.15."""

from __future__ import annotations

from trl_lint.domain.control import Pace
from trl_lint.domain.engines import SHARDS_PARAMETERS
from trl_lint.domain.pace_switches import PaceSwitch
from trl_lint.knowledge.effects import RUN_OF_TRACKER
from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    BACKWARD,
    BARRIER,
    DISTRIBUTED,
    DISTRIBUTED_TYPE,
    GLOBAL_RANK_INDEX,
    GRADIENT_NORM,
    NOTHING,
    OWN_DEVICE,
    RANK_GUARD,
    RANK_INDEX,
    REDUCED,
    SAME,
    SAVE,
    SAVE_CHECKPOINT,
    SOME_MODEL,
    UNKNOWN,
    Attribute,
    Class,
    Collective,
    Function,
    Row,
    Sink,
    Synchronisation,
    held,
    instance,
    on_one_rank,
)

# The layout of a table is by hand: one or two lines per row.
# fmt: off

_ACCELERATOR = "accelerator.py::Accelerator"
# The context manager for uneven inputs, and its argument that says whether loaders are to have as many batches.
JOINS_LOADERS, EVENS_OUT = "join_uneven_inputs", "even_batches"
# The class whose objects start the processes, and prepare what these train.
ACCELERATOR = "Accelerator"
_STATE = "state.py::PartialState"
_OPERATIONS = "utils/operations.py"
_TRACKING = "tracking.py::GeneralTracker"

# It cuts off what the ranks gathered beyond the samples that are left at an epoch's end.
CUTS_REST = "accelerate.Accelerator.gather_for_metrics"
# What its `get_logger` gives: it logs on the main process, unless a call says otherwise.
LOGGER = "accelerate.MultiProcessAdapter"
FSDP_PLUGIN = "accelerate.FullyShardedDataParallelPlugin"
# It prepares its arguments, but not what is inside one of them: accelerator.py::Accelerator._prepare_one.
# A file that imports it, or trains with the Trainer of Transformers, which does.
SHOWN = rb"(?m)^\s*(?:from|import)\s+accelerate\b|\bTrainingArguments\b"
PREPARE = "accelerate.Accelerator.prepare"
# Classes of settings for an engine that shards: utils/dataclasses.py.
ENGINE_PLUGINS = frozenset({"DeepSpeedPlugin", "FullyShardedDataParallelPlugin", "MegatronLMPlugin"})
# A method of that for FSDP: in which form the weights are saved.
SET_STATE_DICT_TYPE = "set_state_dict_type"

_CLASSES: tuple[Row, ...] = (
    Class(name=FSDP_PLUGIN, source="utils/dataclasses.py::FullyShardedDataParallelPlugin"),
    Class(name="accelerate.Accelerator", source=_ACCELERATOR),
    Class(name="accelerate.AcceleratorState", source="state.py::AcceleratorState",
          bases=("accelerate.PartialState",)),
    Class(name="accelerate.DistributedType", source="utils/dataclasses.py::DistributedType", others=SAME),
    Class(name="accelerate.GeneralTracker", source=_TRACKING),
    Class(name="accelerate.GradientState", source="state.py::GradientState", others=SAME),
    Class(name="accelerate.PartialState", source=_STATE),
    Class(name=LOGGER, source="logging.py::MultiProcessAdapter", others=SAME),
    *(
        Class(name=f"accelerate.{name}", source=f"tracking.py::{name}", bases=("accelerate.GeneralTracker",))
        for name in ("AimTracker", "ClearMLTracker", "CometMLTracker", "DVCLiveTracker", "MLflowTracker",
                     "TensorBoardTracker", "WandBTracker")
    ),
)

_COLLECTIVES: tuple[Row, ...] = (
    Collective(name="accelerate.Accelerator.gather", source=f"{_ACCELERATOR}.gather"),
    Collective(name=CUTS_REST, source=f"{_ACCELERATOR}.gather_for_metrics",
               operand=(0, "input_data"), lists=True, objects=(1, "use_gather_object")),
    Collective(name="accelerate.Accelerator.pad_across_processes",
               source=f"{_ACCELERATOR}.pad_across_processes", result="padded", fails="always"),
    Collective(name="accelerate.Accelerator.reduce", source=f"{_ACCELERATOR}.reduce", result="reduced",
               fails="always", reduction=(1, "reduction", "sum")),
    Collective(name="accelerate.Accelerator.wait_for_everyone", source=f"{_ACCELERATOR}.wait_for_everyone",
               result="barrier", operand=(-1, ""), fails=""),
    Collective(name="accelerate.PartialState.wait_for_everyone", source=f"{_STATE}.wait_for_everyone",
               result="barrier", operand=(-1, ""), fails=""),
    Collective(name="accelerate.utils.broadcast", source=f"{_OPERATIONS}::broadcast", result="broadcast"),
    Collective(name="accelerate.utils.broadcast_object_list", source=f"{_OPERATIONS}::broadcast_object_list",
               operand=(0, "object_list"), result="broadcast", into=(0, "object_list"), returned=True,
               lists=True, fails=""),
    Collective(name="accelerate.utils.gather", source=f"{_OPERATIONS}::gather"),
    # What `gather` calls on GPUs; on one process it has no group to gather in.
    Collective(name="accelerate.utils.operations._gpu_gather", source=f"{_OPERATIONS}::_gpu_gather"),
    Collective(name="accelerate.utils.gather_object", source=f"{_OPERATIONS}::gather_object",
               operand=(0, "object"), result="objects", lists=True, fails=""),
    Collective(name="accelerate.utils.pad_across_processes", source=f"{_OPERATIONS}::pad_across_processes",
               result="padded", fails="always"),
    Collective(name="accelerate.utils.reduce", source=f"{_OPERATIONS}::reduce", result="reduced",
               fails="always", reduction=(1, "reduction", "mean")),
    Collective(name="accelerate.utils.wait_for_everyone", source="utils/other.py::wait_for_everyone",
               result="barrier", operand=(-1, ""), fails=""),
)

# Of both states and the accelerator (whose properties return those of the state).
_RANK_ATTRIBUTES = {
    "device": OWN_DEVICE,
    "distributed_type": DISTRIBUTED_TYPE,
    "is_last_process": RANK_GUARD,
    "is_local_main_process": RANK_GUARD,
    "is_main_process": RANK_GUARD,
    "local_process_index": RANK_INDEX,
    "num_processes": ALL_PROCESSES,
    "process_index": GLOBAL_RANK_INDEX,
    "use_distributed": DISTRIBUTED,
}

_ATTRIBUTES: tuple[Row, ...] = (
    # A blank tracker has none.
    Attribute(name="accelerate.WandBTracker.run", source="tracking.py::WandBTracker.run",
              value=on_one_rank(RUN_OF_TRACKER)),
    *(
        Attribute(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", value=value)
        for name, value in _RANK_ATTRIBUTES.items()
    ),
    *(
        Attribute(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", value=SAME)
        for name in (
            "device_placement", "dispatch_batches", "even_batches",
            "gradient_accumulation_steps",
            "log_with", "logging_dir", "mixed_precision", "native_amp", "non_blocking",
            "optimizer_step_was_skipped",
            "project_configuration", "project_dir", "save_iteration", "scaler", "split_batches",
            "step_scheduler_with_optimizer", "sync_gradients", "use_seedable_sampler",
        )
    ),
    Attribute(name="accelerate.Accelerator.gradient_state", source=f"{_ACCELERATOR}.__init__",
              value=instance("accelerate.GradientState")),
    Attribute(name="accelerate.Accelerator.state", source=f"{_ACCELERATOR}.__init__",
              value=instance("accelerate.AcceleratorState")),
    # `init_trackers` is `on_main_process`: on the other ranks the list stays empty, as `__init__` created it.
    Attribute(name="accelerate.Accelerator.trackers", source=f"{_ACCELERATOR}.init_trackers",
              value=held("accelerate.GeneralTracker")),
    *(
        Attribute(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", since="1.10",
                  value=RANK_INDEX)
        for name in ("context_parallel_rank", "data_parallel_rank", "data_parallel_shard_rank",
                     "pipeline_parallel_rank", "tensor_parallel_rank")
    ),
    *(
        Attribute(name=f"accelerate.AcceleratorState.{name}", source=f"state.py::AcceleratorState.{name}",
                  value=SAME)
        for name in ("deepspeed_plugin", "distributed_type", "fsdp_plugin", "initialized", "mixed_precision")
    ),
    Attribute(name="accelerate.AcceleratorState.use_distributed",
              source="state.py::AcceleratorState.use_distributed", value=DISTRIBUTED),
    *(
        Attribute(name=f"accelerate.PartialState.{name}", source=f"{_STATE}.{name}", value=value)
        for name, value in _RANK_ATTRIBUTES.items()
    ),
    *(
        Attribute(name=f"accelerate.PartialState.{name}", source=f"{_STATE}.{name}", value=SAME)
        for name in ("backend", "debug", "default_device", "fork_launched", "initialized")
    ),
)

_SAME_METHODS = ("autocast", "get_state_dict", "prepare_optimizer", "prepare_scheduler")
_NOTHING_METHODS = (
    "backward", "clip_grad_value_", "end_training", "init_trackers", "load_state", "print",
    "register_for_checkpointing", "save",
    "save_model", "save_state", "set_trigger", "unscale_gradients",
)

_ON_SOME_RANKS = ("on_last_process", "on_local_main_process", "on_local_process", "on_main_process", "on_process")

_FIRST_RANK = {"local_main_process_first": "node", "main_process_first": "job"}

_SYNCHRONISES = {
    **dict.fromkeys(_FIRST_RANK, BARRIER),
    "backward": BACKWARD,
    "get_state_dict": Synchronisation("state dict", SHARDS_PARAMETERS, symmetric=True),
    "save_model": SAVE,
    "save_state": SAVE_CHECKPOINT,
}

_FUNCTIONS: tuple[Row, ...] = (
    Function(name="accelerate.logging.get_logger", source="logging.py::get_logger", returns=instance(LOGGER)),
    *(
        Function(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", returns=SAME,
                 synchronises=_SYNCHRONISES.get(name))
        for name in _SAME_METHODS
    ),
    *(
        Function(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", returns=NOTHING,
                 synchronises=_SYNCHRONISES.get(name))
        for name in _NOTHING_METHODS
    ),
    *(
        Function(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", returns=SAME,
                 yields=NOTHING, first_rank=_FIRST_RANK.get(name, ""), synchronises=_SYNCHRONISES.get(name))
        for name in ("accumulate", "local_main_process_first", "main_process_first")
    ),
    *(
        Function(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", returns=PaceSwitch(pace),
                 yields=NOTHING)
        for name, pace in ((JOINS_LOADERS, Pace.UNEVEN), ("no_sync", Pace.UNREDUCED))
    ),
    # It sums the ranks' triggers by a reduction.
    Function(name="accelerate.Accelerator.check_trigger", source=f"{_ACCELERATOR}.check_trigger",
             returns=REDUCED, synchronises=Synchronisation("reduced", symmetric=True)),
    # A tensor on the device, as torch's function returns, with FSDP as well; by then gradients are the same on all
    # ranks. With DeepSpeed it is None, from 1.8 on the value of the engine (a tensor or a number).
    Function(name="accelerate.Accelerator.clip_grad_norm_", source=f"{_ACCELERATOR}.clip_grad_norm_",
             returns=GRADIENT_NORM),
    # On all ranks but the main one there are no trackers, and it returns a blank `GeneralTracker`. The only tracker
    # that has a row represents all others.
    Function(name="accelerate.Accelerator.get_tracker", source=f"{_ACCELERATOR}.get_tracker",
             returns=on_one_rank("accelerate.WandBTracker"), switch=(1, "unwrap"),
             switched=on_one_rank("accelerate.GeneralTracker.tracker")),
    *(
        Function(name=f"accelerate.Accelerator.{name}", source=f"{_ACCELERATOR}.{name}", returns="on some ranks")
        for name in _ON_SOME_RANKS
    ),
    Function(name=PREPARE, source=f"{_ACCELERATOR}.prepare", returns="prepared"),
    Function(name="accelerate.Accelerator.prepare_data_loader", source=f"{_ACCELERATOR}.prepare_data_loader",
             returns="prepared"),
    # With evaluation_mode it adds no DDP.
    Function(name="accelerate.Accelerator.prepare_model", source=f"{_ACCELERATOR}.prepare_model",
             returns="prepared", switch=(2, "evaluation_mode"), switched="first"),
    # The models are those that `prepare_model` has kept: bare under DDP, wrapped under FSDP and DeepSpeed.
    Function(name="accelerate.Accelerator.register_load_state_pre_hook",
             source=f"{_ACCELERATOR}.register_load_state_pre_hook", returns=NOTHING,
             registers="accelerate.Accelerator.load_state", lists=(SOME_MODEL,)),
    Function(name="accelerate.Accelerator.register_save_state_pre_hook",
             source=f"{_ACCELERATOR}.register_save_state_pre_hook", returns=NOTHING,
             registers="accelerate.Accelerator.save_state", lists=(SOME_MODEL, UNKNOWN)),
    Function(name="accelerate.Accelerator.skip_first_batches", source=f"{_ACCELERATOR}.skip_first_batches",
             returns="first"),
    Function(name="accelerate.Accelerator.split_between_processes",
             source=f"{_ACCELERATOR}.split_between_processes", returns=SAME, yields="shard"),
    Function(name="accelerate.Accelerator.unwrap_model", source=f"{_ACCELERATOR}.unwrap_model",
             returns="unwrapped"),
    *(
        Function(name=f"accelerate.PartialState.{name}", source=f"{_STATE}.{name}", returns=SAME,
                 yields=NOTHING, first_rank=_FIRST_RANK[name], synchronises=BARRIER)
        for name in ("local_main_process_first", "main_process_first")
    ),
    *(
        Function(name=f"accelerate.PartialState.{name}", source=f"{_STATE}.{name}", returns="on some ranks")
        for name in _ON_SOME_RANKS
    ),
    Function(name="accelerate.PartialState.print", source=f"{_STATE}.print", returns=NOTHING),
    Function(name="accelerate.PartialState.split_between_processes",
             source=f"{_STATE}.split_between_processes", returns=SAME, yields="shard"),
    Function(name="accelerate.skip_first_batches", source="data_loader.py::skip_first_batches",
             returns="first"),
    *(
        Function(name=f"accelerate.utils.{name}", source=f"{_OPERATIONS}::{name}")
        for name in ("concatenate", "convert_to_fp32", "find_batch_size", "honor_type", "listify",
                     "slice_tensors")
    ),
    Function(name="accelerate.utils.extract_model_from_parallel",
             source="utils/other.py::extract_model_from_parallel", returns="unwrapped"),
    *(
        Function(name=f"accelerate.utils.{name}", source=f"utils/random.py::{name}", returns=NOTHING)
        for name in ("set_seed", "synchronize_rng_states")
    ),
    Function(name="accelerate.utils.is_torch_tensor", source=f"{_OPERATIONS}::is_torch_tensor", returns=SAME),
    Function(name="accelerate.utils.send_to_device", source=f"{_OPERATIONS}::send_to_device",
             returns="moved"),
)

_SINKS: tuple[Row, ...] = (
    Sink(name="accelerate.Accelerator.log", source=f"{_ACCELERATOR}.log", payload=(0, "values")),
    Sink(name="accelerate.GeneralTracker.log", source=f"{_TRACKING}.log", payload=(0, "values")),
)

# The keyword that makes the parts equally long which `split_between_processes` gives the ranks.
# Source: accelerate/state.py::PartialState.split_between_processes
PADS_SHARES = "apply_padding"

ROWS: tuple[Row, ...] = (*_CLASSES, *_COLLECTIVES, *_ATTRIBUTES, *_FUNCTIONS, *_SINKS)

# Names that no other object has which code passes to functions.
ONLY_ACCELERATORS_HAVE = frozenset({
    "gather_for_metrics", "optimizer_step_was_skipped", "pad_across_processes", "prepare_data_loader",
    "prepare_model", "register_for_checkpointing", "sync_gradients",
})

# Methods and attributes that, among the classes a training script deals with, only these have.
UNIQUE: dict[str, str] = {
    "check_trigger": "accelerate.Accelerator",
    "gather_for_metrics": "accelerate.Accelerator",
    "is_last_process": "accelerate.Accelerator",
    "is_local_main_process": "accelerate.Accelerator",
    "is_main_process": "accelerate.Accelerator",
    "local_main_process_first": "accelerate.Accelerator",
    "main_process_first": "accelerate.Accelerator",  # also of TrainingArguments, which waits in the same way
    "optimizer_step_was_skipped": "accelerate.Accelerator",
    "pad_across_processes": "accelerate.Accelerator",
    "prepare_data_loader": "accelerate.Accelerator",
    "prepare_model": "accelerate.Accelerator",
    "skip_first_batches": "accelerate.Accelerator",
    "split_between_processes": "accelerate.Accelerator",
    "sync_gradients": "accelerate.Accelerator",
    "unwrap_model": "accelerate.Accelerator",
    "wait_for_everyone": "accelerate.Accelerator",
}
