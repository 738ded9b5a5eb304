"""Collectives of torch.distributed, and calls that wrap models and shard data. Read from torch 2.13.0."""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_TRUE
from trl_lint.domain.control import Pace
from trl_lint.domain.engines import TrainingEngine
from trl_lint.domain.kinds import LibraryInstance
from trl_lint.domain.pace_switches import PaceSwitch
from trl_lint.domain.process_groups import LikeAllRanks, MeshGroup
from trl_lint.knowledge.models import MOVES_OF_VENDORS
from trl_lint.knowledge.schedules import PLATEAU
from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    DISTRIBUTED,
    GLOBAL_RANK_INDEX,
    LOADER,
    NOTHING,
    RANK_INDEX,
    REDUCED,
    REPLICATED_MODEL,
    SAME,
    SOME_MODEL,
    STATE_OF_BLOCK,
    WORLD,
    WRAP,
    WRAPPED_MODEL,
    Attribute,
    Class,
    Collective,
    Function,
    OpaqueCall,
    Parameter,
    Row,
    Synchronisation,
    Transfer,
    instance,
)

# The layout of a table is by hand: one or two lines per row.
# fmt: off

_C10D = "torch/distributed/distributed_c10d.py"
_NN = "torch/distributed/nn/functional.py"
# The module of the groups and collectives: code that is given it is run by several processes.
MODULE = "torch.distributed"
DDP = "torch.nn.parallel.DistributedDataParallel"
DATA_PARALLEL = "torch.nn.DataParallel"
# The parameters of DDP and of FSDP for the model, and of DDP for the GPU of the process.
WRAPPED_MODULE = (0, "module")
DEVICE_IDS = "device_ids"
# The parameter of DDP, of FSDP and of calls that save or load in parts, for the ranks that take part; by default, all.
PROCESS_GROUP = "process_group"
# The argument with which a collective returns before it is done; `wait` of its result waits for it.
ASYNCHRONOUS = "async_op"
# The same for FSDP, and the mesh that says who shares the shards.
GROUPS_OF_FSDP = ((1, PROCESS_GROUP), (-1, "device_mesh"))
# The keyword by which FSDP broadcasts the states of one rank where it wraps a model (`_sync_module_states`); without it
# ranks wait only in the first forward.
SENDS_STATES = "sync_module_states"
# The parameter of DDP that keeps its forward from broadcasting the model's buffers (`_pre_forward`). A layer that
# averages over the ranks in its own forward makes them wait all the same.
BUFFERS_OF_WRAPPER = "broadcast_buffers"
AVERAGES_IN_FORWARD = rb"(?i)sync_?(?:batch_?norm|bn)"
_DDP = "torch/nn/parallel/distributed.py::DistributedDataParallel"
_DP = "torch/nn/parallel/data_parallel.py::DataParallel"
_FSDP = "torch/distributed/fsdp/fully_sharded_data_parallel.py::FullyShardedDataParallel"
FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
# The parameter of FSDP 1 for what it shards, and the only strategy that shards nothing; by default it shards all.
# `clip_grad_norm_`: "If every FSDP instance uses NO_SHARD […] then you may directly use torch.nn.utils.clip_grad_norm_.
# If at least some FSDP instance uses a sharded strategy […] then you should use this method".
STRATEGY = (2, "sharding_strategy")
SHARDS_NOTHING = "NO_SHARD"
SHARDING = rb"FULL_SHARD|SHARD_GRAD_OP|HYBRID_SHARD"
# The type of state dict for which the ranks gather nothing; the others unshard the parameters in
# torch/distributed/fsdp/_state_dict_utils.py, `_full_pre_state_dict_hook`, `_sharded_pre_state_dict_hook`.
STATE_OF_THIS_RANK = b"LOCAL_STATE_DICT"
_FSDP2 = "torch/distributed/fsdp/_fully_shard/_fully_shard.py"
DEVICE_MESH = "torch.distributed.device_mesh.DeviceMesh"
FULLY_SHARD = "torch.distributed.fsdp.fully_shard"
# Its parameters for the model that it changes, and for the mesh whose ranks share the shards; by default, all ranks.
MODEL_OF_FULLY_SHARD = (0, "module")
MESH_OF_FULLY_SHARD = (-1, "mesh")
_SAMPLER = "torch/utils/data/distributed.py::DistributedSampler"

# A file with the wrapper of apex, which sends nothing in a forward pass (apex/parallel/distributed.py `forward`).
OF_APEX = rb"\bapex\b[^\n]*\b(?:parallel|DistributedDataParallel)\b"

DATA_LOADER = "torch.utils.data.DataLoader"
SAMPLER = "torch.utils.data.Sampler"
# Iterating over it yields different indices on each rank.
DISTRIBUTED_SAMPLER = "torch.utils.data.DistributedSampler"
# Whether a sampler deals to all ranks is the fact of its rank: one that is given a number of ranks that is not known to
# be that of all, or whose class is a guess, is unknown.
SHARDING_SAMPLER = LibraryInstance(DISTRIBUTED_SAMPLER, ranks.UNKNOWN)
# Its parameter for the number of ranks to which it deals: all of them by default.
RANKS_OF_SAMPLER = (1, "num_replicas")
# Its parameter that says whether it shuffles, which it does by default. `__iter__`: "deterministically shuffle based on
# epoch and seed", `g.manual_seed(self.seed + self.epoch)`, where only `set_epoch` changes the epoch.
SHUFFLES = (3, "shuffle")
# Its parameters for the rows, and for what it seeds with beside the epoch: 0 by default.
DATA_OF_SAMPLER = (0, "dataset")
SEED_OF_SAMPLER = (4, "seed")
# One that gives all rows in their own order, which nobody trains with.
SEQUENTIAL_SAMPLER = "torch.utils.data.SequentialSampler"
# The parameters of a DataLoader for its rows and what chooses them (torch/utils/data/dataloader.py), and a class that
# makes batches of what a sampler gives (torch/utils/data/sampler.py).
ROWS_OF_LOADER = (0, "dataset")
SAMPLER_OF_LOADER = "sampler"
SHUFFLED_LOADER = (2, "shuffle")
WORKERS_OF_LOADER = (5, "num_workers")
OF_LOADER = ((3, "sampler"), (4, "batch_sampler"))
BATCHES_OF_SAMPLER = "BatchSampler"
SAMPLER_OF_BATCHES = f"torch.utils.data.{BATCHES_OF_SAMPLER}"
# What the names of data sets begin with that a library makes of files, the same on each rank; and functions that make
# one of the data set that they are passed first (torch/utils/data/dataset.py).
DATA_SETS = ("torchvision.datasets.",)
BASES_OF_DATA = frozenset({"abc.ABC", "object", "torch.utils.data.Dataset", "typing.Generic"})
OF_OTHER_DATA = frozenset({"torch.utils.data.Subset", "torch.utils.data.random_split"})
# Wrappers whose objects no value tells from a bare model, as they pass attributes on.
SHARDS_MODELS = frozenset({"torch.distributed.fsdp.FullyShardedDataParallel", FULLY_SHARD})
# What tells samplers the epoch, in the code of a program (a call, an assignment, or the name of the method), or gives
# them another seed. Not a definition of the method, nor what that passes the epoch on to, as it tells nothing until
# called.
TELLS_EPOCH = rb"set_epoch|sampler\.(?:epoch|seed)\b"
DEFINES_SET_EPOCH = rb"(?m)^([ \t]*)def[ \t]+set_epoch\b.*(?:\n(?:\1[ \t]+.*|\1\).*|[ \t\r]*$))*"
# What such a sampler was told, by which method, and the method of the generator that it seeds with it.
EPOCH = "epoch"
TOLD_BY = "set_epoch"
SEEDS = "manual_seed"
# The step of an optimizer, or of an engine.
TAKES_STEP = rb"\bstep\("
# Builtins, and functions like them, that count: a loop over what they give does the same again and again.
COUNTS = frozenset({"count", "range", "trange"})
# `__init__`: `self.total_size = self.num_samples * self.num_replicas`. The first attribute is a multiple of the second.
MULTIPLE_OF_SAMPLER = ("total_size", "num_replicas")


def _c10d(name: str, operand: Parameter, result: str, *, into: Parameter | None = None, lists: bool = False,
          fails: str = "always", reduction: tuple[int, str, str] | None = None,
          root: tuple[int, str, int] | None = None, group: int = 2) -> Collective:
    return Collective(name=f"torch.distributed.{name}", source=f"{_C10D}::{name}", operand=operand, result=result,
                      into=into, lists=lists, fails=fails, reduction=reduction, root=root,
                      groups=((group, "group"),))


def _functional(name: str, operand: Parameter, result: str, *, reduction: tuple[int, str, str] | None = None,
                root: tuple[int, str, int] | None = None, group: int = 2) -> Collective:
    return Collective(name=f"torch.distributed.nn.functional.{name}", source=f"{_NN}::{name}", operand=operand,
                      result=result, fails="always", reduction=reduction, root=root, groups=((group, "group"),),
                      backward=True)


_COLLECTIVES: tuple[Row, ...] = (
    _c10d("all_gather", (1, "tensor"), "gathered", into=(0, "tensor_list")),
    _c10d("all_gather_coalesced", (1, "input_tensor_list"), "gathered", into=(0, "output_tensor_lists")),
    _c10d("all_gather_into_tensor", (1, "input_tensor"), "gathered", into=(0, "output_tensor")),
    _c10d("all_gather_object", (1, "obj"), "objects", into=(0, "object_list"), fails=""),
    _c10d("all_reduce", (0, "tensor"), "reduced", into=(0, "tensor"), reduction=(1, "op", "sum")),
    _c10d("all_reduce_coalesced", (0, "tensors"), "reduced", into=(0, "tensors"), reduction=(1, "op", "sum")),
    _c10d("all_to_all", (1, "input_tensor_list"), "scattered", into=(0, "output_tensor_list")),
    _c10d("all_to_all_single", (1, "input"), "scattered", into=(0, "output"), group=4),
    _c10d("barrier", (-1, ""), "barrier", fails="", group=0),
    _c10d("broadcast", (0, "tensor"), "broadcast", into=(0, "tensor")),
    _c10d("broadcast_object_list", (0, "object_list"), "broadcast", into=(0, "object_list"), lists=True,
          fails=""),
    _c10d("gather", (0, "tensor"), "gathered", into=(1, "gather_list"), root=(2, "dst", 0), group=3),
    _c10d("gather_object", (0, "obj"), "objects", into=(1, "object_gather_list"), root=(2, "dst", 0),
          fails="", group=3),
    _c10d("monitored_barrier", (-1, ""), "barrier", fails="", group=0),
    _c10d("reduce", (0, "tensor"), "reduced", into=(0, "tensor"), reduction=(2, "op", "sum"),
          root=(1, "dst", 0), group=3),
    _c10d("reduce_scatter", (1, "input_list"), "scattered", into=(0, "output"), reduction=(2, "op", "sum"), group=3),
    _c10d("reduce_scatter_tensor", (1, "input"), "scattered", into=(0, "output"), reduction=(2, "op", "sum"), group=3),
    _c10d("scatter", (1, "scatter_list"), "scattered", into=(0, "tensor"), group=3),
    _c10d("scatter_object_list", (1, "scatter_object_input_list"), "messages",
          into=(0, "scatter_object_output_list"), lists=True, fails="", group=3),
    _functional("all_gather", (0, "tensor"), "gathered", group=1),
    _functional("all_reduce", (0, "tensor"), "reduced", reduction=(1, "op", "sum")),
    _functional("all_to_all", (1, "input_tensor_list"), "scattered"),
    _functional("all_to_all_single", (1, "input"), "scattered", group=4),
    _functional("broadcast", (0, "tensor"), "broadcast"),
    _functional("gather", (0, "tensor"), "gathered", root=(1, "dst", 0)),
    _functional("reduce", (0, "tensor"), "reduced", reduction=(2, "op", "sum"), root=(1, "dst", 0), group=3),
    _functional("reduce_scatter", (1, "input_list"), "scattered", reduction=(2, "op", "sum"), group=3),
    _functional("scatter", (0, "tensors"), "scattered"),
)

_CLASSES: tuple[Row, ...] = (
    Class(name="torch.distributed.ReduceOp", source=f"{_C10D}::ReduceOp", others=SAME),
    # Its objects are context managers, like `DistributedDataParallel.join()`.
    Class(name="torch.distributed.algorithms.Join", source="torch/distributed/algorithms/join.py::Join",
          makes=PaceSwitch(Pace.UNEVEN)),
    Class(name="torch.distributed.device_mesh.DeviceMesh",
          source="torch/distributed/device_mesh.py::DeviceMesh"),
    Class(name=FSDP, source=_FSDP, makes=SOME_MODEL),
    Class(name=DATA_PARALLEL, source=_DP, makes=WRAPPED_MODEL),
    Class(name=DDP, source=_DDP, makes=REPLICATED_MODEL,
          synchronises=WRAP),
    Class(name="torch.optim.Optimizer", source="torch/optim/optimizer.py::Optimizer", others=SAME),
    Class(name="torch.optim.lr_scheduler.LRScheduler", source="torch/optim/lr_scheduler.py::LRScheduler",
          others=SAME),
    Class(name=PLATEAU, source="torch/optim/lr_scheduler.py::ReduceLROnPlateau", others=SAME),
    Class(name=DATA_LOADER, source="torch/utils/data/dataloader.py::DataLoader",
          makes=LOADER),
    # One process has none, and its number of rows is not 0.
    Class(name=DISTRIBUTED_SAMPLER, source=_SAMPLER, makes=SHARDING_SAMPLER.replace(rank=ranks.SAME, const=WORLD_TRUE)),
    *(
        Class(name=f"torch.utils.data.{name}", source=f"torch/utils/data/sampler.py::{name}", others=SAME)
        for name in ("RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler")
    ),
    # Its batches are of the rows that its sampler picks.
    Class(name="torch.utils.data.BatchSampler", source="torch/utils/data/sampler.py::BatchSampler",
          makes=Transfer.FIRST),
)

_FUNCTIONS: tuple[Row, ...] = (
    *(
        Function(name=f"torch.distributed.{name}", source=f"{_C10D}::{name}", returns=NOTHING)
        for name in ("destroy_process_group", "init_process_group")
    ),
    *(
        Function(name=f"torch.distributed.{name}", source=f"{_C10D}::{name}", returns=SAME)
        for name in ("get_backend", "is_gloo_available", "is_mpi_available")
    ),
    # The parts of a flat tensor, in the shapes of the tensors that it was made of.
    Function(name="torch._utils._unflatten_dense_tensors", source="torch/_utils.py::_unflatten_dense_tensors",
             returns=Transfer.FIRST),
    Function(name="torch.distributed.new_group", source=f"{_C10D}::new_group", returns=SAME,
             synchronises=Synchronisation("group", symmetric=True, unless="use_local_synchronization")),
    *(
        Function(name=f"torch.distributed.{name}", source=f"{_C10D}::{name}", returns=RANK_INDEX)
        for name in ("get_group_rank", "get_node_local_rank")
    ),
    Function(name="torch.distributed.get_rank", source=f"{_C10D}::get_rank", returns=GLOBAL_RANK_INDEX),
    Function(name="torch.distributed.device_mesh.init_device_mesh",
             source="torch/distributed/device_mesh.py::init_device_mesh",
             returns=instance(DEVICE_MESH)),
    Function(name=f"{DEVICE_MESH}.get_group",
             source="torch/distributed/device_mesh.py::DeviceMesh.get_group", returns=SAME.as_a(MeshGroup)),
    Function(name=f"{DEVICE_MESH}.get_local_rank",
             source="torch/distributed/device_mesh.py::DeviceMesh.get_local_rank", returns=RANK_INDEX),
    Function(name=f"{DEVICE_MESH}.get_rank",
             source="torch/distributed/device_mesh.py::DeviceMesh.get_rank", returns=RANK_INDEX),
    Function(name=FULLY_SHARD, source=f"{_FSDP2}::fully_shard", returns="first"),
    Function(name="torch.nn.SyncBatchNorm.convert_sync_batchnorm",
             source="torch/nn/modules/batchnorm.py::SyncBatchNorm.convert_sync_batchnorm", returns="first"),
    Function(name="torch.distributed.get_world_size", source=f"{_C10D}::get_world_size", returns=ALL_PROCESSES),
    Function(name="torch.distributed.is_available", source="torch/distributed/__init__.py::is_available",
             returns=DISTRIBUTED),
    *(
        Function(name=f"torch.distributed.{name}", source=f"{_C10D}::{name}", returns=DISTRIBUTED)
        for name in ("is_initialized", "is_nccl_available", "is_torchelastic_launched")
    ),
    # Code tests it in order to wrap the model if there are several.
    Function(name="torch.cuda.device_count", source="torch/cuda/__init__.py::device_count", returns=WORLD),
    Function(name="torch.utils.data.DistributedSampler.set_epoch", source=f"{_SAMPLER}.set_epoch",
             returns=NOTHING),
)

_ATTRIBUTES: tuple[Row, ...] = (
    Attribute(name="torch.utils.data.DistributedSampler.num_replicas", source=f"{_SAMPLER}.__init__",
              value=WORLD),
    Attribute(name="torch.utils.data.DistributedSampler.rank", source=f"{_SAMPLER}.__init__",
              value=RANK_INDEX),
    *(Attribute(name=f"torch.distributed.{name}.WORLD", source=f"{_C10D}::_WorldMeta.WORLD",
                value=SAME.as_a(LikeAllRanks).with_parts(True))
      for name in ("GroupMember", "group")),
)

# A state dict that is assembled from the parts of all ranks; with DDP each rank has all of it.
_STATE = Synchronisation("state dict", symmetric=True)
_STATE_OF_SHARDS = Synchronisation("state dict", frozenset({TrainingEngine.FSDP}), symmetric=True)
# The calls in such a block that request a state dict, and those that load one: each rank loads for itself.
ASKS_FOR_STATE = frozenset({"state_dict"})
LOADS_STATE = frozenset({"load", "load_sharded_optimizer_state_dict", "load_state_dict"})
# Calls that gather the parameters, and that write and read them in parts.
_CALLS: tuple[Row, ...] = (
    OpaqueCall(name="deepspeed.zero.GatheredParameters",
               source="deepspeed/runtime/zero/partition_parameters.py::GatheredParameters",
               synchronises=Synchronisation("parameters", only="enabled")),
    # With `no_dist`, each rank writes or reads a whole checkpoint of its own.
    *(
        OpaqueCall(name=f"torch.distributed.checkpoint.{name}",
                   source=f"torch/distributed/checkpoint/{file}.py::{name}",
                   synchronises=Synchronisation(kind, symmetric=True, unless="no_dist"))
        for file, kind, names in (
            ("state_dict_loader", "load", ("load", "load_state_dict")),
            ("state_dict_saver", "save", ("async_save", "save", "save_state_dict")),
        )
        for name in names
    ),
    # By these the ranks assemble the pieces of a model, or distribute those of an optimizer.
    *(
        OpaqueCall(name=f"torch.distributed.checkpoint.state_dict.{name}",
                   source=f"torch/distributed/checkpoint/state_dict.py::{name}", synchronises=_STATE_OF_SHARDS)
        for name in ("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
                     "set_optimizer_state_dict", "set_state_dict")
    ),
    *(
        OpaqueCall(name=f"torch.distributed.fsdp.FullyShardedDataParallel.{name}", source=f"{_FSDP}.{name}",
                   synchronises=_STATE)
        for name in ("full_optim_state_dict", "optim_state_dict", "scatter_full_optim_state_dict",
                     "sharded_optim_state_dict")
    ),
    OpaqueCall(name="torch.distributed.fsdp.FullyShardedDataParallel.state_dict_type",
               source=f"{_FSDP}.state_dict_type", synchronises=STATE_OF_BLOCK),
    OpaqueCall(name="torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params",
               source=f"{_FSDP}.summon_full_params", synchronises=Synchronisation("parameters")),
)


# Calls that assemble or distribute pieces of a tensor, or of a state, that the ranks have: all of these communicate.
# Source: torch/distributed/tensor/_api.py, `DTensor.full_tensor`, `DTensor.redistribute`, `distribute_tensor`.
_DTENSOR = "torch.distributed.tensor.DTensor"
_ZERO = "torch.distributed.optim.ZeroRedundancyOptimizer"
_ZERO_SOURCE = "torch/distributed/optim/zero_redundancy_optimizer.py::ZeroRedundancyOptimizer"
_SHARDED: tuple[Row, ...] = (
    Class(name=_DTENSOR, source="torch/distributed/tensor/_api.py::DTensor"),
    Function(name=f"{_DTENSOR}.full_tensor", source="torch/distributed/tensor/_api.py::DTensor.full_tensor",
             returns=REDUCED, synchronises=Synchronisation("full tensor")),
    OpaqueCall(name="torch.distributed.tensor.distribute_tensor",
               source="torch/distributed/tensor/_api.py::distribute_tensor", synchronises=Synchronisation("tensor")),
    # Each rank sends its part of the state, so that all have to call it. So it is with that of fairscale's `OSS`.
    OpaqueCall(name=f"{_ZERO}.consolidate_state_dict", source=f"{_ZERO_SOURCE}.consolidate_state_dict",
               synchronises=_STATE),
)
# Methods that only these classes have, whatever is known of the receiver.
UNIQUE: dict[str, str] = {"consolidate_state_dict": _ZERO, "full_tensor": _DTENSOR, "get_group": DEVICE_MESH}

# Scaling a loss passes it on.
_SCALERS: tuple[Row, ...] = tuple(
    row
    for module in ("torch.amp", "torch.cuda.amp")
    for row in (
        Class(name=f"{module}.GradScaler", source="torch/amp/grad_scaler.py::GradScaler"),
        Function(name=f"{module}.GradScaler.scale", source="torch/amp/grad_scaler.py::GradScaler.scale",
                 returns="first"),
    )
)

ROWS: tuple[Row, ...] = (*_COLLECTIVES, *_CLASSES, *_FUNCTIONS, *_ATTRIBUTES, *_CALLS, *_SHARDED, *_SCALERS)

# Collectives by which one rank gives the others what it has, and where they say which one.
SEND_TO_ALL = frozenset({"broadcast", "broadcast_object_list"})
SENDER = (1, "src")
# Functions by which a rank gets rows of others, whatever its own are.
HANDS_ROWS_ON = SEND_TO_ALL | {"all_to_all", "all_to_all_single", "irecv", "recv", "scatter", "scatter_object_list"}
# Messages from one rank to another (torch/distributed/distributed_c10d.py).
POINT_TO_POINT = frozenset(
    f"torch.distributed.{name}" for name in ("batch_isend_irecv", "irecv", "isend", "recv", "recv_object_list", "send",
                                             "send_object_list")
)

# --- what may be read from a model that DDP or DataParallel wraps ------------------------------------------

# torch.nn.Module, its public methods and the attributes its __init__ sets.
MODULE_ATTRIBUTES = frozenset({
    "T_destination", "add_module", "apply", "bfloat16", "buffers", "call_super_init", "children", "compile",
    "cpu",
    "cuda", "double", "dump_patches", "eval", "extra_repr", "float", "forward", "get_buffer",
    "get_extra_state",
    "get_parameter", "get_submodule", "half", "ipu", "load_state_dict", "modules", "mtia", "named_buffers",
    "named_children", "named_modules", "named_parameters", "parameters", "register_backward_hook",
    "register_buffer", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook",
    "register_module", "register_parameter", "register_state_dict_post_hook", "register_state_dict_pre_hook",
    "requires_grad_", "set_extra_state", "set_submodule", "share_memory", "state_dict", "to", "to_empty",
    "train",
    "training", "type", "xpu", "zero_grad",
    "_apply", "_backward_hooks", "_backward_pre_hooks", "_buffers", "_call_impl", "_compiled_call_impl",
    "_forward_hooks", "_forward_hooks_always_called", "_forward_hooks_with_kwargs", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", "_get_backward_hooks", "_get_backward_pre_hooks", "_get_name",
    "_is_full_backward_hook", "_load_from_state_dict", "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks", "_maybe_warn_non_full_backward_hook", "_modules", "_named_members",
    "_non_persistent_buffers_set", "_parameters", "_register_load_state_dict_pre_hook",
    "_register_state_dict_hook", "_replicate_for_data_parallel", "_save_to_state_dict", "_slow_forward",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_version", "_wrapped_call_impl",
    # in older releases, which code that tests `torch.__version__` may still ask: up to 0.4.0, and to 1.4
    "_all_buffers", "_backend", "_tracing_name",
})
# What DistributedDataParallel adds. It has `device` (and `device_type`), but no `dtype`.
_DISTRIBUTED_DATA_PARALLEL = frozenset({
    "batched_grad_copy", "broadcast_bucket_size", "broadcast_buffers", "bucket_bytes_cap",
    "bucket_bytes_cap_default", "bucket_bytes_cap_list", "buffer_hook", "device", "device_ids", "device_mesh",
    "device_type", "dim", "find_unused_parameters", "forward_sync_buffers", "gather",
    "gradient_as_bucket_view",
    "is_multi_device_module", "join", "join_device", "join_hook", "join_process_group", "logger",
    "mixed_precision",
    "module", "modules_buffers", "named_module_buffers", "no_sync", "output_device", "parameters_to_ignore",
    "process_group", "reducer", "register_comm_hook", "require_backward_grad_sync",
    "require_forward_param_sync",
    "scatter", "skip_all_reduce_unused_params", "static_graph", "to_kwargs",
    "use_side_stream_for_tensor_copies",
    "will_sync_module_buffers",
    "_active_ddp_module", "_authoritative_rank", "_bucket_config", "_comm_hooks",
    "_ddp_params_and_buffers_to_ignore",
    "_distributed_rank", "_get_ddp_logging_data", "_has_rebuilt_buckets", "_inside_ddp_forward",
    "_join_config",
    "_log_and_throw", "_module_parameters", "_post_forward", "_pre_forward", "_register_builtin_comm_hook",
    "_register_fused_optim", "_set_ddp_runtime_logging_sample_rate",
    "_set_params_and_buffers_to_ignore_for_model", "_set_static_graph", "_sync_buffers",
    "_sync_module_buffers",
    "_update_process_group", "_use_python_reducer",
    # its steps, which copies of its `forward` call on it
    "_accum_grad_hooks", "_assign_modules_buffers", "_build_debug_param_to_name_mapping",
    "_build_params_for_reducer", "_check_and_sync_module_buffers", "_check_comm_hook", "_check_default_group",
    "_check_global_requires_backward_grad_sync", "_check_reducer_finalized", "_check_sync_bufs_post_fwd",
    "_check_sync_bufs_pre_fwd", "_clear_grad_buffer", "_ddp_init_helper", "_ddp_sink_clone",
    "_default_broadcast_coalesced", "_delay_all_reduce_all_params", "_delay_all_reduce_params",
    "_delay_grad_buffer", "_delay_grad_views", "_delayed_all_reduce_hook", "_distributed_broadcast_coalesced",
    "_find_common_rank", "_fire_reducer_autograd_hook", "_get_active_ddp_module", "_get_data_parallel_params",
    "_get_parameters", "_lazy_init", "_lazy_init_ran", "_match_all_reduce_for_bwd_pass",
    "_match_unused_params_allreduce", "_module_wait_for_copy_hook", "_mp_stream",
    "_passing_sync_batchnorm_handle", "_register_accum_grad_hook", "_register_buffer_comm_hook",
    "_register_delay_all_reduce_hook", "_remove_autograd_hooks", "_root_copy_hook", "_run_ddp_forward",
    "_set_ddp_sink_clone", "_set_sparse_metadata", "_setup_in_backward_optimizers",
    "_static_graph_delay_allreduce_enqueued", "_submodule_to_event", "_sync_final_model",
    # in older releases: 1.x, up to 2.0
    "_build_replicated_tensor_module", "_divide_by_initial_world_size", "_replicated_tensor_module",
    "_sync_params_and_buffers", "_use_replicated_tensor_module",
})
# What DataParallel adds: no `device`.
_DATA_PARALLEL = frozenset({
    "device_ids", "dim", "gather", "module", "output_device", "parallel_apply", "replicate", "scatter",
    "src_device_obj",
})
# Set on the wrapper by accelerate's `prepare_model` and Trainer's `_wrap_model`.
_ADDED = frozenset({"_is_accelerate_prepared", "_original_forward"})
# Any object has these.
_OBJECT = frozenset(name for name in (*dir(object), "__dict__", "__annotations__", "__call__", "__getattr__",
                                      "__getstate__", "__module__", "__setstate__", "__weakref__"))
WRAPPER_ATTRIBUTES: frozenset[str] = frozenset().union(
    MODULE_ATTRIBUTES, MOVES_OF_VENDORS, _DISTRIBUTED_DATA_PARALLEL, _DATA_PARALLEL, _ADDED, _OBJECT
)
# Of these, what no forward is run by: the model inside it, its weights, and its settings.
RUN_NO_FORWARD = frozenset({
    "device_ids", "load_state_dict", "module", "named_parameters", "no_sync", "parameters",
    "require_backward_grad_sync", "state_dict",
})
# What models and DistributedDataParallel have, and DataParallel has not. Whatever else only the former wrapper has is
# read by code that knows which one it is.
NOT_OF_DATA_PARALLEL = frozenset({"device"})

# Public attributes of optimizers, data loaders, learning rate schedulers and datasets, and of accelerate's
# versions of them: a read of anything else from what `prepare` returned means that it is a model.
OPTIMIZER_LOADER_ATTRIBUTES: frozenset[str] = frozenset({
    # torch.optim.Optimizer, accelerate.optimizer.AcceleratedOptimizer
    "add_param_group", "defaults", "load_state_dict", "optimizer", "param_groups",
    "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook", "register_state_dict_post_hook", "register_state_dict_pre_hook",
    "register_step_post_hook", "register_step_pre_hook", "scaler", "state", "state_dict", "step",
    "step_was_skipped",
    "zero_grad", "train", "eval", "accelerator_state", "device_placement", "gradient_state",
    # torch.utils.data.DataLoader, accelerate.data_loader.DataLoaderShard
    "base_dataloader", "batch_sampler", "batch_size", "check_worker_number_rationality", "collate_fn",
    "dataset",
    "dataloader", "device", "drop_last", "end", "end_of_dataloader", "generator", "get_sampler", "in_order",
    "iteration",
    "multiprocessing_context", "num_workers", "persistent_workers", "pin_memory", "pin_memory_device",
    "prefetch_factor", "remainder", "rng_types", "sampler", "set_epoch", "set_sampler", "skip_batches",
    "split_batches",
    "synchronized_generator", "timeout", "total_batch_size", "total_dataset_length",
    "use_stateful_dataloader",
    "worker_init_fn", "__iter__", "__len__", "__getitem__",
    # torch.optim.lr_scheduler.LRScheduler and its kinds, accelerate.scheduler.AcceleratedScheduler
    "base_lrs", "best", "cooldown", "factor", "gamma", "get_last_lr", "get_lr", "last_epoch", "lr_lambdas",
    "milestones", "min_lrs", "mode", "num_bad_epochs", "optimizers", "patience", "print_lr", "scheduler",
    "schedulers",
    "step_size", "step_with_optimizer", "threshold", "total_iters", "total_steps", "verbose",
    # any object
    "__class__", "__dict__", "__doc__", "__module__",
})
