"""Functions of torch, numpy and Python that are no tensor operations (these are in `torch_ops.py`).

Plain data: the interpreter looks up names in these sets; functions that write files have rows. Read from the
documentation of torch 2.13, numpy 2 and Python.
"""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.domain.ranks import Rank
from trl_lint.knowledge.schema import BARE_MODEL, Effect, Function, OpaqueCall, Row
from trl_lint.knowledge.torch_ops import OPERATIONS, DeviceTransfer

_ASKS_FOR_DEVICE = (DeviceTransfer.ACCELERATOR, DeviceTransfer.CUDA, DeviceTransfer.ARGUMENT)

# The layout of a table is by hand: one or two lines per row.
# fmt: off

# --- functions ----------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (
    *(
        OpaqueCall(name=f"numpy.{name}", source=f"numpy/lib/_npyio_impl.py::{name}",
                   effect=Effect("writes the same file", (0, "file")))
        for name in ("save", "savez", "savez_compressed")
    ),
    OpaqueCall(name="numpy.savetxt", source="numpy/lib/_npyio_impl.py::savetxt",
               effect=Effect("writes the same file", (0, "fname"))),
    *(
        OpaqueCall(name=f"torch.{name}", source=source, effect=Effect("writes the same file", (1, "f")))
        for name, source in (("jit.save", "torch/jit/_serialization.py::save"),
                             ("save", "torch/serialization.py::save"))
    ),
    # What it has read is run as a model is, whatever it was made of.
    Function(name="torch.jit.load", source="torch/jit/_serialization.py::load", returns=BARE_MODEL),
    OpaqueCall(name="torch.onnx.export", source="torch/onnx/__init__.py::export",
               effect=Effect("writes the same file", (2, "f"))),
)
# Attributes that are the same for the devices of all ranks.
ALIKE_OF_DEVICES = frozenset({"type"})
# Methods that take a device, and functions whose first argument (for `torch.device` also the second) is one.
# `device_name`: of DeepSpeed's accelerators (accelerator/abstract_accelerator.py).
TAKE_A_DEVICE = frozenset({"device", "device_name", "set_device", "set_device_index"}) | {
    row.name for row in OPERATIONS if row.device in _ASKS_FOR_DEVICE
}
# Names of torch dtypes (`torch.<name>`) by class.
DTYPE_NAMES: dict[str, str] = {
    "bfloat16": "float", "bool": "bool", "double": "float", "float": "float", "float16": "float",
    "float32": "float",
    "float64": "float", "float8_e4m3fn": "float", "float8_e5m2": "float", "half": "float", "int": "int",
    "int16": "int", "int32": "int", "int64": "int", "int8": "int", "long": "int", "short": "int",
    "uint8": "int",
}

# Calls and attributes whose result differs between ranks for a reason other than data, or is the same
# whatever goes in: exact names first, then the longest prefix (ending in a dot).
ORIGINS: dict[str, Rank] = {
    "datetime.date.today": ranks.CLOCK_LOCAL,
    "datetime.datetime.now": ranks.CLOCK_LOCAL,
    "datetime.datetime.today": ranks.CLOCK_LOCAL,
    "datetime.datetime.utcnow": ranks.CLOCK_LOCAL,
    "coolname.": ranks.RNG_LOCAL,
    "getpass.getuser": ranks.SAME,
    "glob.glob": ranks.IO_LOCAL,
    "glob.iglob": ranks.IO_LOCAL,
    "huggingface_hub.hf_hub_download": ranks.SAME,
    "huggingface_hub.snapshot_download": ranks.SAME,
    "nanoid.": ranks.RANK_LOCAL,
    "numpy.random.": ranks.RNG_LOCAL,
    "numpy.random.seed": ranks.SAME,
    "importlib.metadata.version": ranks.SAME,
    "importlib.util.find_spec": ranks.SAME,
    "mmengine.is_installed": ranks.SAME,
    "mmengine.utils.is_installed": ranks.SAME,
    "multiprocessing.cpu_count": ranks.SAME,
    "os.access": ranks.IO_LOCAL,
    "os.cpu_count": ranks.SAME,
    "hydra.utils.get_original_cwd": ranks.SAME,
    "os.getcwd": ranks.SAME,
    "os.getpid": ranks.RANK_LOCAL,
    "os.listdir": ranks.IO_LOCAL,
    "os.path.exists": ranks.IO_LOCAL,
    "os.path.getmtime": ranks.IO_LOCAL,
    "os.path.getsize": ranks.IO_LOCAL,
    "os.path.isdir": ranks.IO_LOCAL,
    "os.path.isfile": ranks.IO_LOCAL,
    "os.scandir": ranks.IO_LOCAL,
    "os.stat": ranks.IO_LOCAL,
    "os.times": ranks.CLOCK_LOCAL,
    "os.walk": ranks.IO_LOCAL,
    "pathlib.Path.exists": ranks.IO_LOCAL,
    "pathlib.Path.glob": ranks.IO_LOCAL,
    "pathlib.Path.is_dir": ranks.IO_LOCAL,
    "pathlib.Path.is_file": ranks.IO_LOCAL,
    "pathlib.Path.iterdir": ranks.IO_LOCAL,
    "pathlib.Path.stat": ranks.IO_LOCAL,
    "platform.": ranks.SAME,
    "platform.node": ranks.RANK_LOCAL,
    "platform.uname": ranks.UNKNOWN,
    "psutil.": ranks.MEMORY_LOCAL,
    "pynvml.nvmlDeviceGetComputeRunningProcesses": ranks.MEMORY_LOCAL,
    "pynvml.nvmlDeviceGetMemoryInfo": ranks.MEMORY_LOCAL,
    "pynvml.nvmlDeviceGetPowerUsage": ranks.MEMORY_LOCAL,
    "pynvml.nvmlDeviceGetTemperature": ranks.MEMORY_LOCAL,
    "pynvml.nvmlDeviceGetUtilizationRates": ranks.MEMORY_LOCAL,
    "random.": ranks.RNG_LOCAL,
    "random.Random": ranks.UNKNOWN,
    "random.seed": ranks.SAME,
    "resource.getrusage": ranks.MEMORY_LOCAL,
    "secrets.": ranks.RNG_LOCAL,
    "shortuuid.": ranks.RANK_LOCAL,
    "shutil.which": ranks.SAME,
    "socket.gethostname": ranks.RANK_LOCAL,
    "tempfile.gettempdir": ranks.SAME,
    "tempfile.mkdtemp": ranks.RNG_LOCAL,
    "time.": ranks.CLOCK_LOCAL,
    "time.sleep": ranks.SAME,
    "timeit.default_timer": ranks.CLOCK_LOCAL,
    "torch.accelerator.current_device_index": ranks.RANK_LOCAL,
    "torch.accelerator.device_count": ranks.SAME,
    "torch.accelerator.is_available": ranks.SAME,
    "torch.backends.": ranks.SAME,
    "torch.cuda.": ranks.SAME,
    "torch.cuda.Event": ranks.CLOCK_LOCAL,
    "torch.cuda.current_device": ranks.RANK_LOCAL,
    "torch.cuda.max_memory_allocated": ranks.MEMORY_LOCAL,
    "torch.cuda.max_memory_cached": ranks.MEMORY_LOCAL,
    "torch.cuda.max_memory_reserved": ranks.MEMORY_LOCAL,
    "torch.cuda.mem_get_info": ranks.MEMORY_LOCAL,
    "torch.cuda.memory_allocated": ranks.MEMORY_LOCAL,
    "torch.cuda.memory_cached": ranks.MEMORY_LOCAL,
    "torch.cuda.memory_reserved": ranks.MEMORY_LOCAL,
    "torch.cuda.memory_snapshot": ranks.MEMORY_LOCAL,
    "torch.cuda.memory_stats": ranks.MEMORY_LOCAL,
    "torch.cuda.memory_summary": ranks.MEMORY_LOCAL,
    "torch.cuda.utilization": ranks.MEMORY_LOCAL,
    "torch.initial_seed": ranks.UNKNOWN,
    "torch.manual_seed": ranks.SAME,
    "torch.mps.current_allocated_memory": ranks.MEMORY_LOCAL,
    "torch.xpu.max_memory_allocated": ranks.MEMORY_LOCAL,
    "torch.xpu.memory_allocated": ranks.MEMORY_LOCAL,
    "tracemalloc.": ranks.MEMORY_LOCAL,
    "uuid.": ranks.RANK_LOCAL,
    "wandb.util.generate_id": ranks.RNG_LOCAL,
}

# Results that do not depend on what goes in.
SAME_FUNCTIONS = frozenset({
    "callable", "globals", "hasattr", "id", "isinstance", "issubclass", "locals", "print", "super", "type",
    "torch.device", "torch.is_complex", "torch.is_floating_point", "torch.is_grad_enabled", "torch.is_tensor",
    "torch.get_default_dtype", "torch.finfo", "torch.iinfo", "numpy.finfo", "numpy.iinfo",
    "torch.backends.mps.is_available", "torch.enable_grad", "torch.inference_mode", "torch.no_grad",
    "torch.set_grad_enabled", "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast",
    "contextlib.nullcontext",
})

# Calls under these are pure (a result as its arguments) unless another table has them.
PURE_ROOTS = frozenset({
    "ast", "base64", "binascii", "bisect", "collections", "copy", "dataclasses",
    "datetime.datetime.fromtimestamp", "datetime.datetime.utcfromtimestamp", "datetime.timedelta", "decimal",
    "difflib", "distutils.util", "einops", "fnmatch", "fractions", "functools", "heapq", "html",
    "hydra.utils.to_absolute_path", "itertools",
    "json", "math", "natsort", "numbers", "numpy", "omegaconf.OmegaConf.select", "omegaconf.OmegaConf.to_yaml",
    "operator", "os.path", "packaging", "re", "scipy", "shlex", "sklearn", "statistics", "string", "struct",
    "textwrap", "torch", "torch.nn", "torch.nn.functional", "torchvision", "typing", "unicodedata", "urllib.parse",
    "zlib",
})
# In a text that contains the rank, a pattern may match another part: `step_100` in `step_100_rank_3.pt`.
FIND_PARTS = "re."
# Under those, calls that are not pure: they depend on more than their arguments.
IMPURE = frozenset({
    "torch.distributed", "torch.hub", "torch.load", "torch.multiprocessing", "torch.nn.parallel",
    "torch.nn.utils",
    "torch.ops", "torch.optim", "torch.profiler", "torch.save", "torch.utils", "json.load", "numpy.load",
})
# Of the impure ones, functions that only compute. Gradient norms are equal on all ranks, as gradients are.
PURE_FUNCTIONS = frozenset({
    "torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.parameters_to_vector",
    "torch.utils.checkpoint.checkpoint",
})
# Those that call a function for its derivative along a direction, and return its result with that; and the keyword by
# which they return more (torch/_functorch/eager_transforms.py `jvp`, torch/autograd/functional.py `jvp`).
DERIVE = frozenset({"functorch.jvp", "torch.autograd.functional.jvp", "torch.func.jvp"})
HAS_MORE = "has_aux"
# A loop with one of these calls trains.
STEPS_OF_TRAINING = frozenset({"backward", "step", "zero_grad"})
# Those that scale gradients by their norm, what they are passed, and the methods by which a model gives it. FSDP's own
# method (torch/distributed/fsdp/fully_sharded_data_parallel.py) takes the norm of all ranks, and these arguments.
CLIPS_BY_NORM = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_norm"})
CLIPPING_MODULES = frozenset({"clip_grad", "utils"})
CLIPPED = (0, "parameters")
GIVES_PARAMETERS = frozenset({"named_parameters", "parameters"})
OWN_CLIP = "clip_grad_norm_"
OWN_CLIP_TAKES = ("max_norm", "norm_type")
# Methods of modules that give and take weights by their names (torch/nn/modules/module.py): the first argument, and the
# option without which names that do not fit are an error. Methods and hooks by which a module renames its weights.
GIVES_WEIGHTS = "state_dict"
TAKES_WEIGHTS = "load_state_dict"
WEIGHTS = (0, "state_dict")
STRICT = (1, "strict")
RENAME_WEIGHTS = frozenset({GIVES_WEIGHTS, TAKES_WEIGHTS, "_load_from_state_dict", "_save_to_state_dict"})
RENAMING_HOOKS = frozenset({
    "_register_load_state_dict_pre_hook", "_register_state_dict_hook", "register_load_state_dict_pre_hook",
    "register_state_dict_post_hook", "register_state_dict_pre_hook",
})
# Functions and methods that take a state dict and leave its names as they are, by the last part of their names.
KEEP_NAMES = frozenset({
    TAKES_WEIGHTS, "append", "copy", "deepcopy", "dict", "id", "isinstance", "len", "print", "put", "save", "save_file",
    "type",
})
# What saves weights to a file, with the parameters for these and for the file, and functions that read them.
SAVES_WEIGHTS = {
    "accelerate.Accelerator.save": ((0, "obj"), (1, "f")), "accelerate.utils.save": ((0, "obj"), (1, "f")),
    "safetensors.torch.save_file": ((0, "tensors"), (1, "filename")), "torch.save": ((0, "obj"), (1, "f")),
}
READS_WEIGHTS = frozenset({"safetensors.torch.load_file", "torch.load"})
# A file with this knows that names may begin with `module.`.
STRIPS_PREFIX = rb"""module\.["']|\[7:\]|removeprefix|consume_prefix_in_state_dict"""
GRADIENT_NORMS = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.get_total_norm"})

PURE_BUILTINS = frozenset({
    "abs", "all", "any", "ascii", "bin", "bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate",
    "filter",
    "float", "format", "frozenset", "getattr", "hash", "hex", "int", "iter", "len", "list", "map", "max",
    "min", "next",
    "oct", "ord", "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum",
    "tuple", "zip",
})
# Of these, the ones that convert a tensor to a Python number.
HOST_BUILTINS: dict[str, str] = {"bool": "bool", "float": "float", "int": "int"}

# Context managers and decorators under which nothing gets a gradient.
WITHOUT_GRADIENTS = frozenset({"inference_mode", "no_grad"})
# Its first argument turns gradients on or off.
SETS_GRADIENTS = "set_grad_enabled"

# The classes of torch.nn whose objects have parameters, or hold others that do, by the beginnings of their names.
# Not in torch_ops: they are made, not applied to a tensor.
LAYERS_WITH_PARAMETERS = tuple(f"torch.nn.{name}" for name in (
    "BatchNorm", "Bilinear", "Conv", "Embedding", "GRU", "GroupNorm", "InstanceNorm", "LSTM", "LayerNorm", "Linear",
    "ModuleDict", "ModuleList", "MultiheadAttention", "RMSNorm", "RNN", "Sequential", "Transformer",
))  # fmt: skip
# `torch.autograd.grad(loss, x)` returns gradients and adds none to the parameters' own. With `create_graph` they can be
# trained with.
TAKES_GRADIENTS = "grad"
CREATES_GRAPH = "create_graph"
# Methods whose result has no gradient.
WITHOUT_HISTORY = frozenset({"detach", "detach_", "item", "numpy", "tolist"})
# Modules whose functions only compute from their arguments, and start no backward pass.
COMPUTING_MODULES = frozenset({"torch", "torch.linalg", "torch.nn.functional"})

# How gradients are reduced by hand: calls that reduce a gradient, copy one, join several.
REDUCES_GRADIENTS = frozenset({"all_reduce", "reduce"})
KEEPS_GRADIENT = frozenset({"clone", "contiguous", "detach", "flatten", "float", "reshape", "to", "view"})
JOINS_GRADIENTS = frozenset({"_flatten_dense_tensors", "cat"})
