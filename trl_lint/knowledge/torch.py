"""Classes of transfer of tensor methods and of functions under roots whose calls are pure.

Plain data: the interpreter looks names up in these sets. Read from the documentation of torch 2.13, numpy
2 and Python.
"""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.domain.ranks import Rank

# The layout of a table is by hand: one or two lines per row.
# fmt: off

# --- tensor (and array) methods, and the functions of the same names ---------------------------------------

# Reductions of all elements, or of the given dimensions: the kind of partial result that a shard becomes.
# Some kinds ("median", "std", …) no collective can complete: they are told apart so that no fix claims to.
REDUCTIONS: dict[str, str] = {
    "all": "all", "amax": "max", "amin": "min", "any": "any", "average": "mean", "count_nonzero": "sum",
    "fsum": "sum",
    "logsumexp": "logsumexp", "max": "max", "mean": "mean", "median": "median", "min": "min", "nanmax": "max",
    "nanmean": "nanmean", "nanmedian": "median", "nanmin": "min", "nanquantile": "quantile", "nanstd": "std",
    "nansum": "sum", "nanvar": "var", "norm": "norm", "percentile": "quantile", "prod": "prod", "ptp": "ptp",
    "quantile": "quantile", "std": "std", "sum": "sum", "var": "var",
}

# Of these, the ones whose first argument is which quantile, or which norm.
ORDERED = frozenset({"quantile", "norm"})

# Where a tensor is after one of these: on the CPU, as something else than a tensor of torch, on the accelerator.
PLACES: dict[str, str] = {"cpu": "cpu", "cuda": "", "numpy": "host", "npu": "", "xpu": ""}

# Further methods and functions that compute and do nothing else: evaluating one again gives the same again.
ELEMENTWISE = frozenset({
    "abs", "add", "amax", "amin", "argmax", "argmin", "clamp", "clamp_max", "clamp_min", "clip", "cumsum", "div",
    "eq", "exp", "ge", "gt", "le", "log", "log1p", "log_softmax", "logical_and", "logical_not", "logical_or",
    "logsumexp", "lt", "masked_fill", "mul", "nan_to_num", "ne", "neg", "numel", "pow", "relu", "round", "sigmoid",
    "size", "softmax", "sqrt", "square", "sub", "tanh", "where",
})

# Their result is spread over the same dimensions as before: one value per sample stays one.
PASSTHROUGH = frozenset({
    "as_strided", "bfloat16", "bool", "broadcast_to", "byte", "char", "chunk", "clone", "coalesce",
    "contiguous", "copy",
    "cpu", "cuda", "data", "detach", "diagonal", "double", "expand", "expand_as", "flatten", "flip", "float",
    "half",
    "int", "long", "mH", "mT", "mps", "movedim", "moveaxis", "mtia", "narrow", "npu", "numpy", "permute",
    "pin_memory",
    "positive", "ravel", "real", "repeat", "repeat_interleave", "reshape", "reshape_as", "resolve_conj",
    "resolve_neg",
    "roll", "rot90", "select", "share_memory_", "short", "split", "split_with_sizes", "squeeze", "swapaxes",
    "swapdims",
    "t", "T", "H", "tensor_split", "tile", "to", "to_dense", "transpose", "type", "type_as", "unbind",
    "unflatten",
    "unfold", "unsqueeze", "view", "view_as", "xpu", "astype", "requires_grad_", "retain_grad",
})

# One Python answer about all elements, and one index among all of them (unless a dimension is given).
DECISIONS = frozenset({"allclose", "array_equal", "equal", "is_nonzero"})
INDICES = frozenset({"argmax", "argmin", "nanargmax", "nanargmin"})

# The dtype of the result.
DTYPES: dict[str, str] = {
    "argmax": "int", "argmin": "int", "argsort": "int", "bfloat16": "float", "bool": "bool", "byte": "int",
    "char": "int", "count_nonzero": "int", "double": "float", "eq": "bool", "exp": "float", "float": "float",
    "ge": "bool", "gt": "bool", "half": "float", "int": "int", "isfinite": "bool", "isinf": "bool",
    "isnan": "bool",
    "le": "bool", "log": "float", "log_softmax": "float", "logical_and": "bool", "logical_not": "bool",
    "logical_or": "bool", "logical_xor": "bool", "logsigmoid": "float", "long": "int", "lt": "bool",
    "mean": "float",
    "nanmean": "float", "ne": "bool", "short": "int", "sigmoid": "float", "softmax": "float", "sqrt": "float",
    "std": "float", "tanh": "float", "var": "float",
}
# Methods that take a device, and functions whose first argument (of `torch.device` the second, too) is one.
TAKE_A_DEVICE = frozenset({"cuda", "device", "npu", "set_device", "set_device_index", "to", "xpu"})
# Names of torch dtypes (`torch.<name>`) by class.
DTYPE_NAMES: dict[str, str] = {
    "bfloat16": "float", "bool": "bool", "double": "float", "float": "float", "float16": "float",
    "float32": "float",
    "float64": "float", "float8_e4m3fn": "float", "float8_e5m2": "float", "half": "float", "int": "int",
    "int16": "int", "int32": "int", "int64": "int", "int8": "int", "long": "int", "short": "int",
    "uint8": "int",
}

# To a Python number, or a (nested) list of them.
HOST = frozenset({"item", "tolist", "__float__", "__int__", "__bool__", "__index__"})

# The same on every rank whatever the tensor holds.
META = frozenset({
    "device", "dim", "dtype", "element_size", "get_device", "grad_fn", "has_names", "is_complex",
    "is_contiguous",
    "is_cpu", "is_cuda", "is_floating_point", "is_inference", "is_leaf", "is_meta", "is_mps", "is_pinned",
    "is_quantized", "is_shared", "is_signed", "is_sparse", "is_xpu", "itemsize", "layout", "names", "ndim",
    "ndimension", "output_nr", "requires_grad", "retains_grad",
})
# How many: local data have a local number of elements.
COUNTS = frozenset({"__len__", "nbytes", "nelement", "numel", "shape", "size", "stride", "untyped_storage"})

# They change the tensor itself, as the function without the underscore, and return it.
IN_PLACE = frozenset({
    "abs_", "acos_", "add_", "addcdiv_", "addcmul_", "addmm_", "asin_", "atan_", "bernoulli_", "bitwise_and_",
    "bitwise_not_", "bitwise_or_", "bitwise_xor_", "cauchy_", "ceil_", "clamp_", "clamp_max_", "clamp_min_",
    "clip_",
    "copy_", "cos_", "cumprod_", "cumsum_", "div_", "divide_", "eq_", "erf_", "erfinv_", "exp_", "expm1_",
    "exponential_", "fill_", "fill_diagonal_", "floor_", "floor_divide_", "fmod_", "geometric_", "gt_", "ge_",
    "index_add_", "index_copy_", "index_fill_", "index_put_", "le_", "lerp_", "log10_", "log1p_", "log2_",
    "log_",
    "log_normal_", "logical_and_", "logical_not_", "logical_or_", "lt_", "masked_fill_", "masked_scatter_",
    "mul_",
    "multiply_", "mvlgamma_", "nan_to_num_", "ne_", "neg_", "normal_", "pow_", "put_", "random_",
    "reciprocal_", "relu_",
    "remainder_", "renorm_", "round_", "rsqrt_", "scatter_", "scatter_add_", "scatter_reduce_", "set_",
    "sigmoid_",
    "sign_", "sin_", "sqrt_", "square_", "squeeze_", "sub_", "subtract_", "t_", "tan_", "tanh_", "transpose_",
    "tril_",
    "triu_", "true_divide_", "trunc_", "uniform_", "unsqueeze_", "where_", "xlogy_", "zero_",
})
# Of these, what the tensor held before is gone: it is as the operand (or a constant, or a random number).
IN_PLACE_REPLACING = frozenset({"copy_", "fill_", "set_", "zero_"})
IN_PLACE_RANDOM = frozenset({
    "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_",
})
# Methods that return nothing of interest.
STATEMENT_METHODS = frozenset({"backward", "record_stream", "register_hook"})

# --- functions ----------------------------------------------------------------------------------------------

# Functions that put tensors (or arrays) together: a tuple or list argument counts as its elements.
JOINING = frozenset({
    "block_diag", "broadcast_tensors", "cat", "concat", "concatenate", "column_stack", "dstack", "hstack",
    "meshgrid", "row_stack", "stack", "vstack", "pad_sequence", "pack_sequence", "chain", "zip",
    "zip_longest",
})
# A tensor from Python numbers, on the CPU unless `device` is given: as the number.
TENSOR_MAKERS = frozenset({
    "torch.Tensor", "torch.as_tensor", "torch.asarray", "torch.scalar_tensor", "torch.tensor",
    "torch.from_numpy",
    "torch.FloatTensor", "torch.LongTensor", "torch.IntTensor", "torch.BoolTensor",
})
# Of these, the ones that leave a tensor where it is.
KEEP_DEVICE = frozenset({"torch.as_tensor", "torch.asarray", "torch.tensor"})
# Random numbers of a given shape, made where `device` says.
RANDOM_MAKERS = frozenset({"torch.rand", "torch.randint", "torch.randn", "torch.randperm"})
# A tensor of a given shape filled with a value: as the value (position 1 of `full`) or the same on all ranks.
FILLED = frozenset({
    "torch.arange", "torch.empty", "torch.eye", "torch.full", "torch.linspace", "torch.logspace",
    "torch.ones",
    "torch.zeros", "numpy.arange", "numpy.empty", "numpy.eye", "numpy.full", "numpy.linspace", "numpy.ones",
    "numpy.zeros",
})
# Of these, the ones whose elements are floats if no dtype is given.
FLOATS_UNLESS_TOLD = frozenset({"empty", "linspace", "logspace", "ones", "zeros"})
# As the shape of their argument only: the same on all ranks but for its length.
FILLED_LIKE = frozenset({
    "empty_like", "new_empty", "new_full", "new_ones", "new_zeros", "ones_like", "zeros_like", "full_like",
})
# Random numbers on each rank (a shared seed is the author's business, and TRL's samplers seed by rank).
RANDOM_LIKE = frozenset({"bernoulli", "multinomial", "normal", "rand_like", "randint_like", "randn_like"})

# Calls and attributes whose result differs between ranks for a reason other than data, or is the same
# whatever goes in: exact names first, then the longest prefix (ending in a dot).
ORIGINS: dict[str, Rank] = {
    "datetime.date.today": ranks.CLOCK_LOCAL,
    "datetime.datetime.now": ranks.CLOCK_LOCAL,
    "datetime.datetime.today": ranks.CLOCK_LOCAL,
    "datetime.datetime.utcnow": ranks.CLOCK_LOCAL,
    "getpass.getuser": ranks.SAME,
    "glob.glob": ranks.IO_LOCAL,
    "glob.iglob": ranks.IO_LOCAL,
    "numpy.random.": ranks.RNG_LOCAL,
    "numpy.random.seed": ranks.SAME,
    "os.access": ranks.IO_LOCAL,
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
    "psutil.": ranks.MEMORY_LOCAL,
    "pynvml.": ranks.MEMORY_LOCAL,
    "random.": ranks.RNG_LOCAL,
    "random.Random": ranks.UNKNOWN,
    "random.seed": ranks.SAME,
    "resource.getrusage": ranks.MEMORY_LOCAL,
    "secrets.": ranks.RNG_LOCAL,
    "socket.gethostname": ranks.RANK_LOCAL,
    "time.": ranks.CLOCK_LOCAL,
    "time.sleep": ranks.SAME,
    "timeit.default_timer": ranks.CLOCK_LOCAL,
    "torch.accelerator.current_device_index": ranks.RANK_LOCAL,
    "torch.accelerator.device_count": ranks.SAME,
    "torch.accelerator.is_available": ranks.SAME,
    "torch.bernoulli": ranks.RNG_LOCAL,
    "torch.cuda.": ranks.SAME,
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
    "torch.multinomial": ranks.RNG_LOCAL,
    "torch.mps.current_allocated_memory": ranks.MEMORY_LOCAL,
    "torch.normal": ranks.RNG_LOCAL,
    "torch.rand": ranks.RNG_LOCAL,
    "torch.rand_like": ranks.RNG_LOCAL,
    "torch.randint": ranks.RNG_LOCAL,
    "torch.randint_like": ranks.RNG_LOCAL,
    "torch.randn": ranks.RNG_LOCAL,
    "torch.randn_like": ranks.RNG_LOCAL,
    "torch.randperm": ranks.RNG_LOCAL,
    "torch.xpu.max_memory_allocated": ranks.MEMORY_LOCAL,
    "torch.xpu.memory_allocated": ranks.MEMORY_LOCAL,
    "tracemalloc.": ranks.MEMORY_LOCAL,
    "uuid.": ranks.RANK_LOCAL,
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
    "bisect", "collections", "copy", "dataclasses", "einops", "functools", "heapq", "itertools", "json",
    "math",
    "numbers", "numpy", "operator", "os.path", "re", "scipy", "sklearn", "statistics", "string", "textwrap",
    "torch",
    "torch.nn", "torch.nn.functional", "torchvision", "typing",
})
# Under those, calls that are not: what they do depends on more than their arguments.
IMPURE = frozenset({
    "torch.distributed", "torch.hub", "torch.load", "torch.multiprocessing", "torch.nn.parallel",
    "torch.nn.utils",
    "torch.ops", "torch.optim", "torch.profiler", "torch.save", "torch.utils", "json.load", "numpy.load",
})
# Of the impure ones, functions that do nothing but compute. Gradient norms are equal: gradients are.
PURE_FUNCTIONS = frozenset({
    "torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.parameters_to_vector",
    "torch.utils.checkpoint.checkpoint",
})
GRADIENT_NORMS = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.get_total_norm"})

PURE_BUILTINS = frozenset({
    "abs", "all", "any", "ascii", "bin", "bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate",
    "filter",
    "float", "format", "frozenset", "getattr", "hash", "hex", "int", "iter", "len", "list", "map", "max",
    "min", "next",
    "oct", "ord", "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum",
    "tuple", "zip",
})
# Of these, the ones that make a Python number of a tensor.
HOST_BUILTINS: dict[str, str] = {"bool": "bool", "float": "float", "int": "int"}
# Of these, the ones that reduce an iterable.
REDUCING_BUILTINS: dict[str, str] = {"all": "all", "any": "any", "max": "max", "min": "min", "sum": "sum"}

# Methods of str, list, dict and set that are pure.
CONTAINER_METHODS = frozenset({
    "capitalize", "casefold", "center", "count", "copy", "decode", "difference", "encode", "endswith", "find",
    "format",
    "fromkeys", "get", "index", "intersection", "isalnum", "isalpha", "isdigit", "isdisjoint", "islower",
    "isnumeric",
    "isspace", "issubset", "issuperset", "isupper", "items", "join", "keys", "ljust", "lower", "lstrip",
    "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip",
    "split",
    "splitlines", "startswith", "strip", "swapcase", "symmetric_difference", "title", "translate", "union",
    "upper",
    "values", "zfill",
})

# Context managers and decorators under which nothing gets a gradient.
WITHOUT_GRADIENTS = frozenset({"inference_mode", "no_grad"})
