"""Calls that draw from a generator that each process seeds itself, that seed it, and that pass a draw on.

Read from Python 3.12, numpy 2.2, torch 2.6, scikit-learn 1.6, transformers 4.51, accelerate 1.6 and datasets 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from trl_lint.knowledge.python import COMMAND_LINES
from trl_lint.knowledge.schema import Parameter
from trl_lint.knowledge.sharing_loaders import OF_OTHER_ROWS

ALL = frozenset({"numpy", "python", "torch"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawRow:
    """A call that shuffles things, or chooses some of them at random.

    Attributes:
        generator: The generator whose state decides if none of `seeds` is passed.
        gives: "indices" (or items), "parts" of its argument, or its argument "in place".
        module: The module of its functions.
        seeds: The parameters for a seed.
        keyword: How it is passed a seed, with `{seed}` for the seed.
        receiver: The object to call it on instead of its module.
        needs: The module that `keyword` names, which has to be imported.
    """

    generator: str
    gives: str
    module: str = ""
    seeds: tuple[Parameter, ...] = ()
    keyword: str = ""
    receiver: str = ""
    needs: str = ""


_TORCH = "generator={torch}.Generator().manual_seed({seed})"
_NUMPY = "{module}.default_rng({seed})"
_PYTHON = "{module}.Random({seed})"

DATASET_DRAW = DrawRow(generator="numpy", gives="parts", keyword="seed={seed}")
DRAWS = {
    "numpy.random.choice": DrawRow(generator="numpy", gives="indices", module="np.random", receiver=_NUMPY),
    "numpy.random.permutation": DrawRow(generator="numpy", gives="indices", module="np.random", receiver=_NUMPY),
    "numpy.random.shuffle": DrawRow(generator="numpy", gives="in place", module="np.random", receiver=_NUMPY),
    "random.sample": DrawRow(generator="python", gives="indices", module="random", receiver=_PYTHON),
    "random.shuffle": DrawRow(generator="python", gives="in place", module="random", receiver=_PYTHON),
    "sklearn.model_selection.train_test_split": DrawRow(
        generator="numpy", gives="parts", seeds=((-1, "random_state"),), keyword="random_state={seed}"
    ),
    "torch.randperm": DrawRow(
        generator="torch", gives="indices", seeds=((-1, "generator"),), keyword=_TORCH, needs="torch"
    ),
    "torch.utils.data.random_split": DrawRow(
        generator="torch", gives="parts", seeds=((2, "generator"),), keyword=_TORCH, needs="torch"
    ),
}

# A method of pandas, with a parameter that no other library's has, draws with numpy's own generator unless it gets one.
# Source: pandas 2.2, core/generic.py `NDFrame.sample`
SAMPLES_ROWS, SHARE_OF_ROWS = "sample", "frac"
SAMPLE_OF_ROWS = DrawRow(
    generator="numpy", gives="indices", seeds=((4, "random_state"),), keyword="random_state={seed}"
)
# Functions that draw fractions, by which a mask keeps rows.
_NUMBERS = DrawRow(generator="numpy", gives="indices", module="np.random", receiver="{module}.RandomState({seed})")
DRAW_FRACTIONS = {
    **{f"numpy.random.{name}": _NUMBERS for name in ("rand", "random", "random_sample", "uniform")},
    **{f"random.{name}": DrawRow(generator="python", gives="indices") for name in ("random", "uniform")},
    "torch.rand": DrawRow(
        generator="torch", gives="indices", seeds=((-1, "generator"),), keyword=_TORCH, needs="torch"
    ),
}

# Classes whose method divides rows into parts, with whether they shuffle unless told otherwise: their parameters for
# that and for the seed, without which they draw with numpy's own generator.
# Source: scikit-learn 1.6, sklearn/model_selection/_split.py
SHUFFLES_FOLDS, SEEDS_FOLDS = "shuffle", "random_state"
MAKES_FOLDS = "split"
FOLDS = {
    f"sklearn.model_selection.{name}": shuffles
    for shuffles, names in (
        (False, ("KFold", "StratifiedGroupKFold", "StratifiedKFold")),
        (True, ("GroupShuffleSplit", "RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit")),
        (True, ("StratifiedShuffleSplit",)),
    )
    for name in names
}
FOLDS_DRAW = DrawRow(generator="numpy", gives="parts", keyword=f"{SEEDS_FOLDS}={{seed}}")

# What draws some of several things, and the method of a pandas column that asks which items are among some.
DRAW_SOME = frozenset({"choice", "sample"})
IS_AMONG = "isin"

# Functions that draw numbers, which programs put into names, with their generators.
DRAW_NUMBERS = {
    **dict.fromkeys(
        ("numpy.random.choice", "numpy.random.rand", "numpy.random.randint", "numpy.random.random"), "numpy"
    ),
    **dict.fromkeys(("numpy.random.random_integers", "numpy.random.uniform"), "numpy"),
    **dict.fromkeys(
        ("random.choice", "random.choices", "random.getrandbits", "random.randint", "random.random"), "python"
    ),
    **dict.fromkeys(("random.randrange", "random.sample", "random.uniform"), "python"),
    **dict.fromkeys(("torch.rand", "torch.randint"), "torch"),
}

# Constructors of separate generators, by the last part of the name, whose draws depend on their seed.
# Sources: https://numpy.org/doc/stable/reference/random/legacy.html, …/random/generator.html;
# https://docs.python.org/3/library/random.html#random.Random.
SEEDED_GENERATORS = frozenset({"RandomState", "default_rng", "Random"})
# Those that each process seeds in its own way if they are given no seed, whatever the program has seeded before.
# Sources: numpy/random/_generator.pyx `default_rng`, "fresh, unpredictable entropy will be pulled from the OS";
# mtrand.pyx `RandomState`; random.py `Random.seed`.
UNSEEDED_GENERATORS = frozenset({"numpy.random.RandomState", "numpy.random.default_rng", "random.Random"})
# Their methods that draw the order of things, or some of them, with what these give.
DRAWN_BY_METHODS = {
    "choice": "indices", "permutation": "indices", "permuted": "indices", "sample": "indices", "shuffle": "in place",
}  # fmt: skip
# Of those, the ones that draw a single thing unless they are given this parameter.
DRAWS_ONE_WITHOUT = {"choice": (1, "size")}
# Their methods that make them begin anew, and the attribute whose `state` can be set.
RESEEDS = frozenset({"bit_generator", "seed", "set_state", "setstate"})

# Which calls seed which generators. torch.cuda.manual_seed does not seed that of the CPU, which draws the indices.
SEEDERS = {
    "numpy.random.seed": frozenset({"numpy"}),
    "numpy.random.set_state": frozenset({"numpy"}),
    "random.seed": frozenset({"python"}),
    "random.setstate": frozenset({"python"}),
    "torch.cuda.manual_seed": frozenset[str](),
    "torch.cuda.manual_seed_all": frozenset[str](),
    "torch.manual_seed": frozenset({"torch"}),
    "torch.random.manual_seed": frozenset({"torch"}),
    "torch.seed": frozenset[str](),
    "torch.set_rng_state": frozenset({"torch"}),
    "torch.use_deterministic_algorithms": frozenset[str](),
}
# Libraries without functions that seed as a side effect.
DO_NOT_SEED = frozenset({
    "accelerate", "argparse", "bitsandbytes", "datasets", "deepspeed", "logging", "os", "pandas", "peft", "sklearn",
    "torch", "transformers", "wandb",
})  # fmt: skip
# Libraries whose functions for setting up do not seed. TRL's BestOfNSampler seeds, with the `seed` that it is given.
SET_UP_WITHOUT_SEEDING = DO_NOT_SEED | {"trl"}
# Methods that seed the generator of their object.
GENERATOR_METHODS = frozenset({"manual_seed", "seed"})
# What a sharding sampler draws: the order of the rows.
ORDER = "order"
# The sampler of Lightning's trainer draws it with the seed that its function has put into the environment.
INJECTED = "seed_everything"
# The arguments by which a loader gets a sampler of its user.
SAMPLERS = ("batch_sampler", "sampler")
# With this argument each rank has its own seed.
PER_RANK_KEYWORD = "device_specific"

# Data sets that consist of others, or of indices of one.
MADE_OF = frozenset({
    "torch.utils.data.ConcatDataset", "torch.utils.data.Subset", "torch.utils.data.TensorDataset",
    *(f"monai.data.{name}" for name in OF_OTHER_ROWS["monai"]),
})  # fmt: skip
# The attributes that hold the rows of a library's data set, in the order in which it gives them.
# Source: torchvision 0.24, datasets/folder.py `DatasetFolder.__getitem__`, `ImageFolder`
HOLDERS_OF_ROWS = {
    "torchvision.datasets.DatasetFolder": frozenset({"samples"}),
    "torchvision.datasets.ImageFolder": frozenset({"samples"}),
}
DATASET_BASES = ("datasets.", "monai.data.", "torch.utils.data.")
# The method by which a loader asks a sampler for the order: at each epoch, after whatever the program seeds.
ASKED_LATER = "__iter__"
# Streams are read by the main process, which sends each rank its share (`dispatch_batches` of Accelerate).
STREAMS = frozenset({"datasets.IterableDataset", "torch.utils.data.IterableDataset"})
# Methods of a pandas table, or of a column, that keep the order of its rows, or of the first of them; and attributes
# that access its rows. Read from pandas 2.2.
ROWS_OF_TABLES = frozenset({
    "apply", "assign", "astype", "copy", "drop", "dropna", "fillna", "head", "map", "rename", "reset_index", "tail",
    "to_dict", "to_list", "to_numpy", "tolist",
})  # fmt: skip
# Methods that pick rows at places: of a data set (datasets, arrow_dataset.py), of pandas and of NumPy.
PICKS_AT = frozenset({"select", "take"})
# Methods of a tensor that change neither which rows it has nor their order.
ROWS_OF_TENSORS = frozenset({"clone", "contiguous", "double", "float", "half", "int", "long", "to", "type"})
# Functions that make a tensor, an array, a list or a table of the rows that they are passed first, in their order.
KEEP_ROWS = frozenset({
    "builtins.list", "builtins.tuple", "numpy.array", "numpy.asarray", "numpy.ascontiguousarray", "numpy.stack",
    "numpy.vstack", "pandas.DataFrame", "pandas.Series", "torch.FloatTensor", "torch.LongTensor", "torch.Tensor",
    "torch.as_tensor", "torch.from_numpy", "torch.stack", "torch.tensor",
})  # fmt: skip
# Of a loader, the data set.
PARTS_OF_TABLES = frozenset({"dataset", "iloc", "index", "loc", "values"})
# Methods after which the order of a data set no longer depends on the draw.
ORDERS = frozenset({"sort"})
# Functions that cache by name: files that a caller names exist for all ranks.
CACHED_BY_NAME = frozenset({
    "indices_cache_file_name", "indices_cache_file_names", "test_indices_cache_file_name",
    "train_indices_cache_file_name",
})  # fmt: skip

# What gives each rank a share of a data set, with the parameter for the data set.
SHARDS = {"torch.utils.data.DistributedSampler": (0, "dataset")}
# Their number of shares: that of a process group if it is not given.
SHARES = (1, "num_replicas")
TRAINER = "transformers.Trainer"
TRAINED_ON = ("eval_dataset", "train_dataset")
# Functions of the command line and of launchers that call the function that they are passed.
LAUNCHERS = frozenset({"accelerate.notebook_launcher", "torch.multiprocessing.spawn"})
RUNNERS = dict.fromkeys((*COMMAND_LINES, *LAUNCHERS), 0)
# Launchers whose processes begin anew: what the program has seeded before they start is not seeded in them, except
# where they import it again. Those of other launchers, or with another start method, are copies of the process that
# starts them, with the same state of the generators; Python seeds its own again.
# Sources: torch/multiprocessing/spawn.py `spawn`; accelerate/launchers.py `notebook_launcher`; random.py (Python 3.12).
BEGIN_ANEW = frozenset({"torch.multiprocessing.spawn"})
START_METHOD = (-1, "start_method")
COPIED = frozenset({"numpy", "torch"})
