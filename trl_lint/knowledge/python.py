"""A few functions of Python's standard library and of progress bars. Read from their documentation."""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.findings import Consequence
from trl_lint.knowledge.effects import OF_PATHS
from trl_lint.knowledge.schema import (
    NOTHING,
    RANK_INDEX,
    SAME,
    Class,
    Effect,
    Function,
    OpaqueCall,
    Row,
    instance,
    items,
)

# They return (an iterator over) their argument.
_PASSES_ON = (
    "accelerate.utils.tqdm", "accelerate.utils.tqdm.tqdm", "contextlib.closing", "functools.wraps",
    "itertools.chain.from_iterable", "itertools.cycle", "monai.data.ThreadBuffer",
    "prefetch_generator.BackgroundGenerator", "rich.progress.track", "timm.data.PrefetchLoader",
    "timm.data.loader.PrefetchLoader", "torch.compile", "torch.jit.script", "torch_geometric.loader.PrefetchLoader",
    "torch_xla.distributed.parallel_loader.MpDeviceLoader", "tqdm.auto.tqdm", "torchaudio.datasets.utils.bg_iterator",
    "tqdm.autonotebook.tqdm", "tqdm.notebook.tqdm", "tqdm.rich.tqdm", "tqdm.tqdm",
)  # fmt: skip
# The last parts of their names: what they are told by keyword does not change what they yield.
PASS_ON = frozenset(name.rpartition(".")[2] for name in (*_PASSES_ON, "itertools.islice"))
# They tell a type checker the class of their second argument, and return that argument.
_SAYS_CLASS = ("typing.cast", "typing_extensions.cast")
# They show text to the user; each rank has its own output, so that they are no sinks of metrics.
_SHOWS = ("print", "warnings.warn", "pprint.pprint", "rich.print")
# Dicts whose entries are attributes as well. Some programs keep a network in each entry.
DICTS_OF_ATTRIBUTES = (
    "addict.Dict", "attrdict.AttrDict", "box.Box", "dotmap.DotMap", "easydict.EasyDict", "ml_collections.ConfigDict",
    "ml_collections.config_dict.ConfigDict", "munch.DefaultMunch", "munch.Munch",
)  # fmt: skip
# Parsers of the command line.
_PARSERS = (
    "argparse.ArgumentParser", "configargparse.ArgParser", "configargparse.ArgumentParser", "configargparse.Parser",
    "jsonargparse.ArgumentParser", "simple_parsing.ArgumentParser",
)  # fmt: skip
# Functions that return a copy of the objects that they get, with all fields of these.
COPIES_WITH_FIELDS = frozenset({"copy.copy", "copy.deepcopy", "omegaconf.OmegaConf.merge"})
# Functions that read a clock in seconds, by the last part of their names.
CLOCKS = frozenset({"default_timer", "monotonic", "perf_counter", "process_time", "time"})
# Functions that round a number down or to the next one, and roots, by the last part of their names.
ROUNDED = frozenset({"floor", "int", "round"})
ROOTS = frozenset({"cbrt", "isqrt", "sqrt"})
# The layout of a table is by hand: one or two lines per row.
# fmt: off
_FILES: tuple[Row, ...] = (
    Function(name="os.makedirs", source="library/os", returns=NOTHING,
             effect=Effect("creates the same folder", (0, "name"), fails=True, unless=("exist_ok",), makes=True,
                           instead="let all ranks create it: `exist_ok=True`")),
    Function(name="os.mkdir", source="library/os", returns=NOTHING,
             effect=Effect("creates the same folder", (0, "path"), fails=True, makes=True,
                           instead="let all ranks create it: `os.makedirs(…, exist_ok=True)`")),
    *(
        Function(name=f"os.{name}", source="library/os", returns=NOTHING,
                 effect=Effect("removes the same file", (0, "path"), fails=True))
        for name in ("remove", "unlink")
    ),
    *(
        Function(name=f"os.{name}", source="library/os", returns=NOTHING,
                 effect=Effect("removes the same folder", (0, parameter), fails=True))
        for name, parameter in (("removedirs", "name"), ("rmdir", "path"))
    ),
    *(
        Function(name=f"os.{name}", source="library/os", returns=NOTHING,
                 effect=Effect("creates the same link", (1, "dst"), fails=True, makes=True))
        for name in ("link", "symlink")
    ),
    *(
        Function(name=f"os.{name}", source="library/os", returns=NOTHING,
                 effect=Effect("renames the same file", (0, "src"), fails=True))
        for name in ("rename", "renames", "replace")
    ),
    # All ranks copy the same file: one that reads the copy meanwhile finds only a part of it.
    *(
        OpaqueCall(name=f"shutil.{name}", source="library/shutil",
                   effect=Effect("writes the same copy", (1, "dst"), consequence=Consequence.WASTE))
        for name in ("copy", "copy2", "copyfile")
    ),
    OpaqueCall(name="shutil.copytree", source="library/shutil",
               effect=Effect("creates the same folder", (1, "dst"), fails=True, unless=("dirs_exist_ok",), makes=True)),
    OpaqueCall(name="shutil.move", source="library/shutil",
               effect=Effect("moves the same file", (0, "src"), fails=True)),
    Function(name="shutil.rmtree", source="library/shutil", returns=NOTHING,
             effect=Effect("removes the same folder", (0, "path"), fails=True, unless=("ignore_errors", "onerror"))),
)
# fmt: on
# What only the first process can make, by the last part of its name, and the arguments with which all can.
MADE_ONCE: dict[str, frozenset[str]] = {
    name.rpartition(".")[2]: frozenset(each for each in effect.unless if isinstance(each, str))
    for name, effect in (*((row.name, row.effect) for row in _FILES), *OF_PATHS.items())
    if effect is not None and effect.fails and effect.makes
}
# What only the first process can take away, by the last part of its name.
TAKEN_ONCE: frozenset[str] = frozenset(
    name.rpartition(".")[2]
    for name, effect in (*((row.name, row.effect) for row in _FILES), *OF_PATHS.items())
    if effect is not None and effect.fails and not effect.makes
)

ROWS: tuple[Row, ...] = (
    *_FILES,
    *(Function(name=name, source="documentation", returns="first") for name in _PASSES_ON),
    *(Function(name=name, source="documentation", returns="second") for name in _SAYS_CLASS),
    Function(name="itertools.islice", source="documentation", returns="sliced"),
    *(Class(name=name, source="documentation", makes=instance(name, ranks.UNKNOWN)) for name in DICTS_OF_ATTRIBUTES),
    *(Function(name=f"copy.{name}", source="library/copy", returns="copied") for name in ("copy", "deepcopy")),
    *(Function(name=name, source="documentation", returns=NOTHING) for name in _SHOWS),
    *(Class(name=name, source="library/argparse") for name in _PARSERS),
    *(Function(name=f"{name}.parse_args", source="library/argparse", returns=SAME) for name in _PARSERS),
    *(
        Function(name=f"{name}.{method}", source="library/argparse", returns=items(SAME, SAME))
        for name in _PARSERS
        for method in ("parse_known_args", "parse_known_intermixed_args")
    ),
    Class(name="optparse.OptionParser", source="library/optparse"),
    Function(name="optparse.OptionParser.parse_args", source="library/optparse", returns=items(SAME, SAME)),
    Function(name="docopt.docopt", source="docopt.py", returns=SAME),
    Class(name="logging.Logger", source="library/logging", others=SAME),
    *(
        Function(name=name, source="documentation", returns=instance("logging.Logger"))
        for name in ("logging.getLogger", "transformers.utils.logging.get_logger")
    ),
    Function(name="multiprocessing.current_process", source="library/multiprocessing", returns=RANK_INDEX),
)

# Functions that return the contents of the file that their first argument is, or names.
READ_FILES = frozenset({
    "csv.DictReader", "csv.reader", "dill.load", "hjson.load", "joblib.load", "json.load", "numpy.genfromtxt",
    "numpy.load", "numpy.loadtxt", "pandas.read_csv", "pandas.read_excel", "pandas.read_feather", "pandas.read_json",
    "pandas.read_parquet", "pandas.read_pickle", "pandas.read_table", "pickle.load", "ruamel.yaml.safe_load",
    "safetensors.torch.load_file", "scipy.io.loadmat", "toml.load", "tomli.load", "tomllib.load", "torch.load",
    "yaml.full_load", "yaml.load", "yaml.safe_load", "yaml.unsafe_load",
})  # fmt: skip
# Functions that return what a text says: settings, if it is the content of a file that all ranks read.
PARSE_TEXT = frozenset({"json.loads", "toml.loads", "tomli.loads", "tomllib.loads"})
# Functions that make a name for what they are passed. Without arguments they begin one, which gets more later.
MAKE_NAMES = frozenset({
    "hashlib.blake2b", "hashlib.md5", "hashlib.sha1", "hashlib.sha256", "hashlib.sha512", "xxhash.xxh32",
    "xxhash.xxh64",
})  # fmt: skip
# Functions that draw a text, another one in each process, and those that tell the time.
DRAW_NAMES = frozenset({
    "coolname.generate_slug", "secrets.token_hex", "secrets.token_urlsafe", "shortuuid.uuid", "uuid.uuid1",
    "uuid.uuid4",
})  # fmt: skip
# The base of models of pydantic, and its methods that make one from data.
PYDANTIC_MODEL = "pydantic.BaseModel"
VALIDATE = frozenset({"model_validate", "parse_obj"})
READ_CLOCKS = frozenset({
    "datetime.datetime.now", "datetime.datetime.utcnow", "time.monotonic", "time.perf_counter", "time.time",
    "time.time_ns",
})  # fmt: skip
# Those of them that tell parts of a second as a number, which no two processes read alike.
READ_FINELY = frozenset({"time.time", "time.time_ns"})
# Functions that create settings from their argument: a file's name, other settings, a class of settings.
MAKE_SETTINGS = frozenset({
    "argparse.Namespace", "detectron2.config.CfgNode", "detectron2.config.get_cfg", "draccus.parse",
    "fvcore.common.config.CfgNode", "hydra.compose", "mmcv.Config", "mmcv.Config.fromfile", "mmengine.Config",
    "mmengine.Config.fromfile", "mmengine.config.Config", "mmengine.config.Config.fromfile",
    "omegaconf.OmegaConf.create", "omegaconf.OmegaConf.from_cli", "omegaconf.OmegaConf.load",
    "omegaconf.OmegaConf.merge", "omegaconf.OmegaConf.structured", "omegaconf.OmegaConf.to_container",
    "omegaconf.OmegaConf.to_object", "pyrallis.parse", "simple_parsing.parse", "types.SimpleNamespace",
    "yacs.config.CfgNode",
})  # fmt: skip

# Decorators that pass the settings of the command line to the function for arguments that its caller omits
# (draccus/argparsing.py, pyrallis/argparsing.py).
_PASS_SETTINGS = frozenset({"draccus.wrap", "pyrallis.wrap"})
# Decorators of libraries after which each call still runs the function, with more arguments from settings, with checks
# of their types, or with notes of how long it takes or what goes wrong (fastargs/decorators.py; gin/config.py
# `configurable`; detectron2/config/config.py; diffusers/configuration_utils.py; beartype/_decor/decormain.py;
# fairseq/logging/metrics.py `aggregate`; typeguard/_decorators.py; jaxtyping/_decorator.py; loguru/_logger.py
# `Logger.catch`; nvtx/nvtx.py; torch/autograd/profiler.py; torch/cuda/nvtx.py).
CALL_ALWAYS = _PASS_SETTINGS | frozenset({
    "beartype.beartype", "detectron2.config.configurable", "diffusers.configuration_utils.register_to_config",
    "fairseq.logging.metrics.aggregate", "fairseq.metrics.aggregate", "fastargs.decorators.param",
    "fastargs.decorators.section", "gin.configurable", "jaxtyping.jaxtyped", "loguru.logger.catch", "nvtx.annotate",
    "torch.autograd.profiler.record_function", "torch.cuda.nvtx.range", "torch.profiler.record_function",
    "typeguard.typechecked",
})  # fmt: skip

# Functions that call their argument with the options of the command line; it may be a function or a class.
COMMAND_LINES = frozenset({
    "absl.app.run", "fire.Fire", "jsonargparse.CLI", "jsonargparse.auto_cli", "typer.run", "tyro.cli",
})  # fmt: skip

# The names by which code reads environment variables: `os.environ` and `os.getenv` without the module.
ENVIRONMENT = frozenset({"environ", "getenv"})

# Functions that end the calling process: with a status, as failed, and those that need no import.
ABORTS = "os.abort"
ENDS_PROCESS = frozenset({"os._exit", "sys.exit", ABORTS})
ENDS_PROCESS_UNBOUND = frozenset({"exit", "quit"})
# What code calls these, without the module.
NAMES_OF_ENDS = ENDS_PROCESS_UNBOUND | {each.rpartition(".")[2] for each in ENDS_PROCESS}
# The function that ends the process of this number, and the one that has the number of the calling process.
KILLS = "os.kill"
OWN_PROCESS = "os.getpid"
# The exception that does the same.
END_OF_PROCESS = "SystemExit"

# Exceptions that are raised on all ranks, or that the user causes on all of them.
MET_BY_ALL_RANKS = frozenset({
    "AttributeError", "ImportError", "KeyboardInterrupt", "ModuleNotFoundError", "NameError", "NotImplementedError",
    "StopIteration", "SystemExit", "TypeError",
})  # fmt: skip

# Exceptions that only mean that a package is not installed, or that there is no repository (GitPython).
NOT_INSTALLED = frozenset({
    "ImportError", "InvalidGitRepositoryError", "ModuleNotFoundError", "PackageNotFoundError",
})  # fmt: skip

# Exceptions of a rank whose batch is too large for its memory, and their base classes.
NO_MEMORY = "OutOfMemoryError"
OUT_OF_MEMORY = frozenset({
    "AcceleratorError", "BaseException", "Exception", "RuntimeError", NO_MEMORY,
})  # fmt: skip

# Exceptions raised by using an unbound name, or None instead of an object, and their base classes.
CATCH_LACK = frozenset({"AttributeError", "BaseException", "Exception", "NameError", "TypeError", "UnboundLocalError"})
# Base classes without attributes that code reads: objects only have those that their own classes set.
BASES_WITHOUT_ATTRIBUTES = frozenset({
    "abc.ABC", "torch.nn.Module", "torch.nn.modules.module.Module", "typing.Generic", "typing.Protocol",
})  # fmt: skip

# Decorators, without their module: those that run the function on some ranks only, and those that run it on all.
# `master_only` is of mmengine and mmcv (mmengine/dist/utils.py), `rank_zero_experiment` of Lightning, for the object
# that a logger writes to (lightning/pytorch/loggers/logger.py).
RANK_DECORATORS = frozenset({
    "main_process_only", "master_only", "on_last_process", "on_local_main_process", "on_local_process",
    "on_main_process", "on_process", "rank_zero_experiment", "rank_zero_only",
})  # fmt: skip
# Those of them that give the other ranks an object of their own instead of None.
RETURN_STAND_INS = frozenset({"rank_zero_experiment"})
# Decorators that compile the function, or run it again: a collective in it would be traced or called twice.
COMPILED_DECORATORS = frozenset({"checkpoint", "compile", "jit", "script"})
# Decorators that make the function a command with options (click, typer, fastcore), and those that are used with them.
COMMAND_DECORATORS = frozenset({"call_parse", "command"})
_OF_COMMANDS = frozenset({"argument", "group", "option", "pass_context"})
# The classes of dicts.
DICTS = frozenset({"builtins.dict", "collections.OrderedDict", "collections.UserDict", "collections.defaultdict"})
# Methods of lists, sets and dicts by which they get more.
ADD_TO_CONTAINERS = frozenset({"add", "append", "extend", "insert", "setdefault", "update"})
# Decorators of functions that have other bodies for other types of their first argument.
CHOOSES_BY_TYPE = frozenset({"singledispatch", "singledispatchmethod"})
# Decorators that pass the function its first argument, which its callers omit (accelerate/utils/memory.py).
PASS_FIRST_ARGUMENT = frozenset({"find_executable_batch_size"})
# Those of an experiment of sacred: one runs the function with its settings, the other fills them in.
# Source: sacred/experiment.py `Experiment.automain`, sacred/config/captured_function.py
_OF_SACRED = frozenset({"automain", "capture"})
# Decorators that keep the result of a call, and return it from later calls with the same arguments without another run.
KEEP_RESULTS = frozenset({"cache", "cached", "cached_property", "lru_cache"})
_OF_PROGRAMS = COMMAND_DECORATORS | _OF_COMMANDS | _OF_SACRED
HARMLESS_DECORATORS = COMPILED_DECORATORS | _OF_PROGRAMS | PASS_FIRST_ARGUMENT | frozenset({
    "abstractmethod", "add_start_docstrings", "autocast", "cache", "cached_property", "classmethod", "contextmanager",
    "custom_bwd", "custom_fwd", "deprecate_kwarg", "deprecated", "disable", "enable_grad", "final", "inference_mode",
    "logging_redirect_tqdm", "lru_cache", "main", "no_grad", "on", "overload", "override", "profiling_decorator",
    "property", "record", "set_grad_enabled", "setter", "singledispatch", "staticmethod", "wraps",
})  # fmt: skip
# Functions of paths that raise a TypeError for None, as their first argument (Lib/posixpath.py, Lib/pathlib.py).
REFUSE_NONE = frozenset({
    "os.makedirs", "os.mkdir", "os.path.basename", "os.path.dirname", "os.path.exists", "os.path.isdir",
    "os.path.isfile", "os.path.join", "os.path.split", "os.path.splitext", "os.remove", "os.rename", "pathlib.Path",
    "shutil.rmtree",
})  # fmt: skip
