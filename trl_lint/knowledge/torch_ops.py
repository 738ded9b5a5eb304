"""One row per tensor operation: its transfer function in each domain, and what a fix may do with it.

An operation is a method of a tensor or an array, and the function of the same name under a pure root (`x.sum()`,
`torch.sum(x)`, `numpy.sum(x)`). Operations that are functions of one library only have their dotted name. The analysis
looks up the row once per call; each domain uses its own column, whose first member is the default for names without a
row. Read from the documentation of torch 2.13, numpy 2 and Python.

    >>> row = of_method("sum")
    >>> row.rank.value, row.reduction
    ("a shard becomes this rank's part of a reduction: x.sum(): shard -> partial(sum)", 'sum')
    >>> row.shape.value, row.dtype.value, row.device.value
    ('the given ones are gone', 'as before; bools are counted', 'where the tensor is')
    >>> row.averages.value, row.repeats  # accelerator.gather(x.sum()).sum()
    ('a sum over all elements', True)
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class RankTransfer(str, Enum):
    """The rank fact and the kind of the result."""

    __hash__ = str.__hash__  # an enum's own is slow, and rows are looked up all the time

    COMPUTES = "from all that goes in, element by element: x.exp(): shard -> shard, partial(mean) -> local"
    KEEPS = "it stays, spread over the same dimensions: x.view(-1): shard -> shard, partial(mean) -> partial(mean)"
    IS_TRUE = "it stays where these are bools already: x.bool()"
    REDUCES = "a shard becomes this rank's part of a reduction: x.sum(): shard -> partial(sum)"
    DECIDES = "one Python answer about all elements, which no collective completes: x.equal(y): shard -> local"
    INDEX = "one index among all elements, unless a dimension is given: x.argmax(): shard -> local"
    JOINS = "of several tensors in a list, as all of them: torch.cat([x, same]): shard"
    TO_NUMBER = "it stays, of a Python number: x.sum().item(): partial(sum) -> partial(sum)"
    TO_LIST = "it stays, of a list of them, or of one"
    UNIFORM = "the same on every rank whatever the tensor holds: x.dtype"
    SHAPE = "the sizes of all dimensions"
    SIZE = "all sizes, or that of one dimension: x.size(0): shard -> partial(count)"
    STRIDE = "as the sizes, of which nothing adds up: x.stride(0): shard -> local"
    COUNT = "how many elements: x.numel(): shard -> partial(count)"
    CREATES = "a tensor of numbers, as the numbers: torch.tensor(len(x))"
    CREATES_LIKE = "the same, where the tensor is: x.new_tensor(len(y))"
    FILLS = "one constant: torch.ones(len(x)): same"
    ZEROS = "zeros, which change no sum: torch.zeros(len(x))"
    FULL = "the given value: torch.full((2,), loss)"
    FILLS_LIKE = "one constant, shaped like the tensor: x.new_zeros(3), torch.ones_like(x): same"
    FULL_LIKE = "the second argument, shaped like the tensor: x.new_full((2,), loss)"
    DRAWS = "random numbers of the given distribution, of each rank's own: torch.normal(x, y)"
    DRAWS_LIKE = "random numbers that are only shaped like the argument: torch.randn_like(x)"
    DRAWS_NEW = "random numbers of the given sizes: torch.rand(2)"
    NOTHING = "nothing of interest is returned: loss.backward()"


class InPlace(str, Enum):
    """The tensor itself after the operation."""

    __hash__ = str.__hash__

    COMPUTES = "as the function without the underscore makes it"
    ADDS = "a sum of itself and the operand, which a reduction may still complete"
    SCALES = "scaled by the operand"
    REPLACES = "as the operand, or a constant: what it held is gone"
    DRAWS = "random numbers"


class ShapeTransfer(str, Enum):
    """The dimensions of the result."""

    __hash__ = str.__hash__

    UNKNOWN = "nothing is known of them"
    KEEPS = "they stay"
    BROADCASTS = "those of all operands, broadcast against each other"
    CHOOSES = "the same; as a function it may have the condition only"
    PICKS = "one, which is as long as the data say"
    PICKS_BY_MASK = "the same, by what is true in the mask"
    COUNTS = "one, as long as the largest of the numbers says, or the given least length"
    PICKS_POSITIONS = "the same, with one number per dimension"
    REDUCES = "the given ones are gone"
    REDUCES_WITH_INDICES = "all are gone; with a dimension it gives values and indices"
    SIZE = "the size of the given one, as a number"
    AS_INDEX = "those of the index"
    AS_OTHER = "those of the other tensor"
    VIEWS = "the given sizes"
    FLATTENS = "all in one"
    SQUEEZES = "one of one element goes"
    UNSQUEEZES = "one of one element is put in"
    PERMUTES = "another order"
    TRANSPOSES = "two of them change places"
    SEQUENTIAL = "of two, the other order"
    REPEATS = "one of them several times"
    SELECTS = "one of them, as long as the index"
    STACKS = "a new one, as long as the list"
    CONCATENATES = "one of them, as long as those of all pieces"
    OF_SOURCE = "none for a number, one for a list of numbers"
    SIZES = "the given sizes, one by one or in a tuple"
    SIZES_IN_A_TUPLE = "the given sizes, in a tuple"
    COUNTS_UP = "one, as long as the argument says"
    OF_TARGET = "those of the target if a loss is not reduced"


class DtypeTransfer(str, Enum):
    """The dtype of the result."""

    __hash__ = str.__hash__

    KEEPS = ""
    COUNTS = "as before; bools are counted"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"

    def of(self, before: str) -> str:
        """The dtype after the operation."""
        if self is DtypeTransfer.KEEPS:
            return before
        if self is DtypeTransfer.COUNTS:
            return "int" if before == "bool" else before
        return str(self.value)


class DeviceTransfer(str, Enum):
    """Where the result is."""

    __hash__ = str.__hash__

    KEEPS = "where the tensor is"
    CPU = "on the CPU"
    HOST = "in the host's memory, as something else than a tensor of torch"
    ACCELERATOR = "on this process's accelerator"
    CUDA = "on this process's GPU, or on the one that is named"
    ARGUMENT = "on the device that is named, or where the tensor is for a dtype"
    LIKE_OTHER = "where the other tensor is"
    CREATED = "on the CPU, unless `device` says otherwise"
    CREATED_LIKE = "the same; what is a tensor already stays where it is"


class AveragingTransfer(str, Enum):
    """What the result is a mean, a sum or a count of."""

    __hash__ = str.__hash__

    NOTHING = "that is not known"
    KEEPS = "the same as before"
    BOUNDS = "the same, within bounds that are the same everywhere"
    GROWS = "the same mean, on another scale"
    SELECTS = "the same, of as many elements as the data say"
    JOINS = "any of what is put together"
    COUNTS = "how many there are"
    SIZE = "the same, of the first dimension"
    SUM = "a sum over all elements"
    MEAN = "a mean over all elements"
    MEAN_OF_NUMBERS = "a mean over as many elements as are no NaN"
    REDUCES = "another reduction"
    ADDS = "a sum of two"
    MULTIPLIES = "a product of two"
    DIVIDES = "a quotient of two"
    TRAINS = "it starts a backward pass"


class ElementTransfer(str, Enum):
    """What a method returns that changes only where a tensor is, or its dtype or type."""

    __hash__ = str.__hash__

    NOTHING = "it does more"
    SAME = "the same elements, as what they are, where they are"
    FLOATS = "them as floats"
    INTEGERS = "them as integers"
    MOVED = "them on a device, or as another dtype"
    AWAY = "them on a GPU, or as an array"
    NUMBER = "the only one as a Python number"
    NUMBERS = "them as Python numbers"


class Operation(NamedTuple):
    """One tensor operation.

    Attributes:
        reduction: The kind of partial result that a shard becomes. Some kinds ("median", "std", …) cannot be completed
            by a collective: they are distinguished so that no fix claims to.
        in_place: What it does to the tensor itself.
        has_order: Whether the first argument selects the quantile, or the norm.
        has_other: Whether it is the element-wise maximum or minimum if it is passed another tensor.
        detaches: Whether the result has no gradient.
        shares: Whether the result has the memory of the tensor, so that what changes one in place changes the other.
        grows: Whether one element becomes several.
        takes_batches: Whether batches and strings have it as well, and keep their kind.
        is_method: Whether a function of this name that is not one of arrays does something else (`re.split`).
        repeatable: Whether it only computes, whichever object's method of that name it is, so that evaluating it again
            gives the same result.
        repeats: Whether it commutes with gathering, and is repeated on the gathered values.
    """

    name: str
    rank: RankTransfer = RankTransfer.COMPUTES
    reduction: str = ""
    shape: ShapeTransfer = ShapeTransfer.UNKNOWN
    dtype: DtypeTransfer = DtypeTransfer.KEEPS
    device: DeviceTransfer = DeviceTransfer.KEEPS
    averages: AveragingTransfer = AveragingTransfer.NOTHING
    elements: ElementTransfer = ElementTransfer.NOTHING
    in_place: InPlace | None = None
    has_order: bool = False
    has_other: bool = False
    detaches: bool = False
    shares: bool = False
    grows: bool = False
    takes_batches: bool = False
    is_method: bool = False
    repeatable: bool = False
    repeats: bool = False


R, S, T, D, A, H = RankTransfer, ShapeTransfer, DtypeTransfer, DeviceTransfer, AveragingTransfer, ElementTransfer
INT, FLOAT, BOOL = T.INT, T.FLOAT, T.BOOL


def _reduction(
    name: str,
    reduction: str,
    averages: AveragingTransfer = A.REDUCES,
    dtype: DtypeTransfer = FLOAT,
    shape: ShapeTransfer = S.REDUCES,
    *,
    has_order: bool = False,
    has_other: bool = False,
    repeats: bool = False,
) -> Operation:
    return Operation(
        name, R.REDUCES, reduction, shape, dtype, averages=averages,
        has_order=has_order, has_other=has_other, repeatable=True, repeats=repeats,
    )  # fmt: skip


def _keeping(
    name: str,
    shape: ShapeTransfer = S.UNKNOWN,
    elements: ElementTransfer = H.NOTHING,
    *,
    rank: RankTransfer = R.KEEPS,
    dtype: DtypeTransfer = T.KEEPS,
    device: DeviceTransfer = D.KEEPS,
    detaches: bool = False,
    shares: bool = False,
    grows: bool = False,
    takes_batches: bool = False,
    is_method: bool = False,
    repeatable: bool = True,
) -> Operation:
    return Operation(
        name, rank, "", shape, dtype, device, A.KEEPS, elements,
        detaches=detaches, shares=shares, grows=grows, takes_batches=takes_batches, is_method=is_method,
        repeatable=repeatable,
    )  # fmt: skip


def _computed(
    name: str,
    shape: ShapeTransfer = S.UNKNOWN,
    dtype: DtypeTransfer = T.KEEPS,
    averages: AveragingTransfer = A.NOTHING,
    *,
    repeatable: bool = True,
) -> Operation:
    return Operation(name, R.COMPUTES, "", shape, dtype, averages=averages, repeatable=repeatable)


def _constructors(
    name: str, rank: RankTransfer, shape: ShapeTransfer, dtype: DtypeTransfer = T.KEEPS
) -> Iterable[Operation]:
    """A constructor of torch and the one of numpy."""
    yield Operation(f"torch.{name}", rank, "", shape, dtype, D.CREATED)
    yield Operation(f"numpy.{name}", rank, "", shape, dtype)


def _for_names(row: Operation, names: str) -> Iterable[Operation]:
    """Operations that differ in their names only."""
    return (row._replace(name=name) for name in names.split())


# The layout of the table is by hand: one line per row.
# fmt: off

OPERATIONS: tuple[Operation, ...] = (
    # --- reductions of all elements, or of the given dimensions ---
    _reduction("all", "all", dtype=BOOL),
    _reduction("amax", "max", dtype=T.KEEPS, repeats=True),
    _reduction("amin", "min", dtype=T.KEEPS, repeats=True),
    _reduction("any", "any", dtype=BOOL),
    _reduction("average", "mean", A.MEAN),
    _reduction("count_nonzero", "sum", A.SUM, INT),
    _reduction("fsum", "sum", A.SUM),
    _reduction("logsumexp", "logsumexp"),
    _reduction("max", "max", dtype=T.KEEPS, shape=S.REDUCES_WITH_INDICES, has_other=True, repeats=True),
    _reduction("mean", "mean", A.MEAN, repeats=True),
    _reduction("median", "median", dtype=T.KEEPS, shape=S.REDUCES_WITH_INDICES),
    _reduction("min", "min", dtype=T.KEEPS, shape=S.REDUCES_WITH_INDICES, has_other=True, repeats=True),
    _reduction("nanmax", "max"),
    _reduction("nanmean", "nanmean", A.MEAN_OF_NUMBERS, repeats=True),
    _reduction("nanmedian", "median", shape=S.REDUCES_WITH_INDICES),
    _reduction("nanmin", "min"),
    _reduction("nanquantile", "quantile", has_order=True),
    _reduction("nanstd", "std"),
    _reduction("nansum", "sum", A.SUM, T.COUNTS, repeats=True),
    _reduction("nanvar", "var"),
    _reduction("norm", "norm", has_order=True),
    _reduction("percentile", "quantile", has_order=True),
    _reduction("prod", "prod", dtype=T.COUNTS),
    _reduction("ptp", "ptp"),
    _reduction("quantile", "quantile", has_order=True),
    _reduction("std", "std"),
    _reduction("sum", "sum", A.SUM, T.COUNTS, repeats=True),
    _reduction("var", "var"),

    # --- answers about all elements ---
    *_for_names(Operation("", R.DECIDES, dtype=BOOL), "allclose array_equal equal is_nonzero"),
    *_for_names(Operation("", R.INDEX, shape=S.REDUCES, dtype=INT, repeatable=True), "argmax argmin"),
    *_for_names(Operation("", R.INDEX, dtype=INT), "nanargmax nanargmin"),

    # --- the same elements: as they are, as another dtype, elsewhere, on the host ---
    _keeping("clone", S.KEEPS, H.SAME),
    _keeping("contiguous", S.KEEPS, H.SAME, shares=True),
    _keeping("detach", S.KEEPS, H.SAME, detaches=True, shares=True),
    _keeping("data", S.KEEPS, detaches=True, shares=True),
    *_for_names(_keeping("", S.KEEPS, H.FLOATS, dtype=FLOAT), "bfloat16 double float half"),
    *_for_names(_keeping("", S.KEEPS, H.INTEGERS, dtype=INT), "int long"),
    *_for_names(_keeping("", S.KEEPS, dtype=INT), "byte short"),
    _keeping("char", dtype=INT),
    _keeping("bool", S.KEEPS, rank=R.IS_TRUE, dtype=BOOL),
    _keeping("type", S.KEEPS),
    _keeping("astype"),
    _keeping("to", S.KEEPS, H.MOVED, device=D.ARGUMENT, takes_batches=True),
    _keeping("type_as", S.KEEPS, device=D.LIKE_OTHER),
    _keeping("cpu", S.KEEPS, H.MOVED, device=D.CPU),
    _keeping("cuda", S.KEEPS, H.AWAY, device=D.CUDA),
    *_for_names(_keeping("", device=D.ACCELERATOR), "npu xpu"),
    _keeping("numpy", S.KEEPS, H.AWAY, device=D.HOST, detaches=True),
    *_for_names(_keeping(""), "coalesce mtia pin_memory positive real resolve_conj resolve_neg to_dense"),
    _keeping("copy", takes_batches=True),
    *_for_names(_keeping("", repeatable=False), "retain_grad share_memory_"),
    _keeping("requires_grad_", S.KEEPS, shares=True, repeatable=False),
    Operation("item", R.TO_NUMBER, averages=A.KEEPS, elements=H.NUMBER, repeatable=True),
    Operation("tolist", R.TO_LIST, averages=A.KEEPS, elements=H.NUMBERS, repeatable=True),
    *_for_names(Operation("", R.TO_NUMBER, averages=A.KEEPS, repeatable=True), "__bool__ __float__ __index__ __int__"),

    # --- the same elements in other dimensions ---
    *_for_names(_keeping("", S.KEEPS), "flip roll"),
    *_for_names(_keeping("", S.FLATTENS, shares=True), "flatten ravel"),
    *_for_names(_keeping("", S.VIEWS, shares=True), "reshape view"),
    *_for_names(_keeping("", S.TRANSPOSES, shares=True), "swapaxes swapdims transpose"),
    _keeping("permute", S.PERMUTES, shares=True),
    _keeping("squeeze", S.SQUEEZES, shares=True),
    _keeping("t", S.SEQUENTIAL, shares=True),
    _keeping("unsqueeze", S.UNSQUEEZES, shares=True),
    _keeping("repeat_interleave", S.REPEATS, grows=True),
    *_for_names(_keeping("", grows=True), "expand repeat"),
    _keeping("split", takes_batches=True, is_method=True),
    *_for_names(_keeping("", S.AS_OTHER, shares=True), "reshape_as view_as"),
    *_for_names(_keeping("", shares=True), "H T mH mT movedim moveaxis unflatten"),
    _keeping("expand_as", S.AS_OTHER),
    *_for_names(
        _keeping(""),
        "as_strided broadcast_to chunk diagonal narrow rot90 select split_with_sizes tensor_split tile "
        "unbind unfold",
    ),

    # --- element by element ---
    *_for_names(_computed("", S.KEEPS), "abs cumsum log1p masked_fill neg relu round square"),
    _computed("exp", S.KEEPS, FLOAT, averages=A.GROWS),
    *_for_names(_computed("", S.KEEPS, FLOAT), "log log_softmax sigmoid softmax sqrt tanh"),
    *_for_names(_computed("", S.KEEPS, averages=A.BOUNDS), "clamp clamp_max clamp_min clip nan_to_num"),
    *_for_names(_computed("", S.BROADCASTS, averages=A.BOUNDS, repeatable=False), "maximum minimum"),
    *_for_names(_computed("", S.BROADCASTS, averages=A.ADDS), "add sub"),
    *_for_names(_computed("", averages=A.ADDS, repeatable=False), "subtract"),
    _computed("mul", S.BROADCASTS, averages=A.MULTIPLIES),
    _computed("multiply", averages=A.MULTIPLIES, repeatable=False),
    _computed("div", S.BROADCASTS, averages=A.DIVIDES),
    _computed("divide", averages=A.DIVIDES, repeatable=False),
    _computed("true_divide", S.BROADCASTS, averages=A.DIVIDES, repeatable=False),
    _computed("pow", S.BROADCASTS),
    *_for_names(_computed("", S.BROADCASTS, BOOL), "eq ge gt le logical_and logical_or lt ne"),
    _computed("logical_xor", S.BROADCASTS, BOOL, repeatable=False),
    _computed("logical_not", S.KEEPS, BOOL),
    *_for_names(_computed("", S.KEEPS, BOOL, repeatable=False), "isfinite isinf isnan"),
    *_for_names(
        _computed("", S.KEEPS, repeatable=False),
        "bitwise_and bitwise_not bitwise_or cumprod expm1 floor logit sign tril triu",
    ),
    _computed("logsigmoid", S.KEEPS, FLOAT, repeatable=False),
    _computed("argsort", dtype=INT, repeatable=False),
    _computed("where", S.CHOOSES),

    # --- some of the elements ---
    *_for_names(_computed("", S.PICKS_POSITIONS, averages=A.SELECTS, repeatable=False), "argwhere nonzero"),
    _computed("masked_select", S.PICKS_BY_MASK, averages=A.SELECTS, repeatable=False),
    *_for_names(_computed("", averages=A.SELECTS, repeatable=False), "compress flatnonzero"),
    _computed("unique", S.PICKS, repeatable=False),
    _computed("bincount", S.COUNTS, repeatable=False),
    *_for_names(_computed("", S.AS_INDEX, repeatable=False), "gather take_along_dim"),
    _computed("index_select", S.SELECTS, repeatable=False),

    # --- losses ---
    *_for_names(
        _computed("", S.OF_TARGET, repeatable=False),
        "binary_cross_entropy_with_logits cross_entropy nll_loss",
    ),

    # --- several tensors: a tuple or list argument counts as its elements ---
    Operation("stack", R.JOINS, shape=S.STACKS, averages=A.JOINS),
    *_for_names(Operation("", R.JOINS, shape=S.CONCATENATES, averages=A.JOINS), "cat concat concatenate"),
    *_for_names(
        Operation("", R.JOINS, averages=A.JOINS),
        "block_diag broadcast_tensors chain column_stack dstack hstack meshgrid pack_sequence pad_sequence row_stack "
        "vstack zip zip_longest",
    ),

    # --- what a tensor is, and how many elements it has ---
    *_for_names(
        Operation("", R.UNIFORM),
        "device dim dtype element_size get_device grad_fn has_names is_complex is_contiguous is_cpu is_cuda "
        "is_floating_point is_inference is_leaf is_meta is_mps is_pinned is_quantized is_shared is_signed is_sparse "
        "is_xpu itemsize layout names ndim ndimension output_nr requires_grad retains_grad",
    ),
    *_for_names(Operation("", R.COUNT, averages=A.COUNTS), "__len__ nelement"),
    Operation("numel", R.COUNT, averages=A.COUNTS, repeatable=True),
    *_for_names(Operation("", R.COUNT), "nbytes untyped_storage"),
    Operation("shape", R.SHAPE),
    Operation("size", R.SIZE, shape=S.SIZE, averages=A.SIZE, repeatable=True),
    Operation("stride", R.STRIDE, shape=S.SIZE),

    # --- new tensors ---
    Operation("torch.tensor", R.CREATES, shape=S.OF_SOURCE, device=D.CREATED_LIKE, averages=A.KEEPS),
    Operation("torch.as_tensor", R.CREATES, shape=S.OF_SOURCE, device=D.CREATED_LIKE, averages=A.KEEPS),
    Operation("torch.asarray", R.CREATES, shape=S.OF_SOURCE, device=D.CREATED_LIKE, averages=A.KEEPS),
    *_for_names(
        Operation("", R.CREATES, shape=S.OF_SOURCE, device=D.CREATED, averages=A.KEEPS),
        "torch.BFloat16Tensor torch.BoolTensor torch.ByteTensor torch.CharTensor torch.DoubleTensor torch.FloatTensor "
        "torch.HalfTensor torch.IntTensor torch.LongTensor torch.ShortTensor torch.from_numpy torch.scalar_tensor",
    ),
    Operation("torch.frombuffer", R.CREATES, device=D.CREATED),
    Operation("torch.Tensor", R.CREATES, shape=S.OF_SOURCE, device=D.CREATED_LIKE, averages=A.KEEPS),
    Operation("new_tensor", R.CREATES_LIKE),
    *_constructors("arange", R.FILLS, S.COUNTS_UP),
    *_constructors("empty", R.FILLS, S.SIZES, FLOAT),
    *_constructors("eye", R.FILLS, S.UNKNOWN),
    *_constructors("full", R.FULL, S.SIZES_IN_A_TUPLE),
    *_constructors("linspace", R.FILLS, S.UNKNOWN, FLOAT),
    *_constructors("ones", R.FILLS, S.SIZES, FLOAT),
    *_constructors("zeros", R.ZEROS, S.SIZES, FLOAT),
    Operation("torch.logspace", R.FILLS, dtype=FLOAT, device=D.CREATED),
    *_for_names(Operation("", R.FILLS_LIKE, shape=S.KEEPS), "empty_like ones_like zeros_like"),
    *_for_names(Operation("", R.FILLS_LIKE), "new_empty new_ones new_zeros"),
    Operation("full_like", R.FULL_LIKE, shape=S.KEEPS),
    Operation("new_full", R.FULL_LIKE),

    # --- random numbers: a shared seed is the author's business, and TRL's samplers seed by rank ---
    *_for_names(Operation("", R.DRAWS), "bernoulli multinomial normal"),
    *_for_names(Operation("", R.DRAWS_LIKE, shape=S.KEEPS), "rand_like randn_like"),
    Operation("randint_like", R.DRAWS_LIKE),
    *_for_names(Operation("", R.DRAWS_NEW, device=D.CREATED), "torch.rand torch.randint torch.randn torch.randperm"),

    # --- statements ---
    Operation("backward", R.NOTHING, averages=A.TRAINS),
    *_for_names(Operation("", R.NOTHING), "record_stream register_hook"),

    # --- in place: they change the tensor itself, as the function without the underscore, and return it ---
    *_for_names(Operation("", shape=S.KEEPS, in_place=InPlace.ADDS), "add_ sub_ subtract_"),
    *_for_names(Operation("", shape=S.KEEPS, in_place=InPlace.SCALES), "div_ divide_ mul_ multiply_ true_divide_"),
    *_for_names(Operation("", shape=S.KEEPS, in_place=InPlace.REPLACES), "copy_ fill_ zero_"),
    Operation("set_", in_place=InPlace.REPLACES),
    *_for_names(
        Operation("", shape=S.KEEPS, in_place=InPlace.DRAWS),
        "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_",
    ),
    *_for_names(Operation("", in_place=InPlace.COMPUTES), "squeeze_ t_ transpose_ unsqueeze_"),
    *_for_names(
        Operation("", shape=S.KEEPS, in_place=InPlace.COMPUTES),
        "abs_ acos_ addcdiv_ addcmul_ addmm_ asin_ atan_ bitwise_and_ bitwise_not_ bitwise_or_ bitwise_xor_ ceil_ "
        "clamp_ clamp_max_ clamp_min_ clip_ cos_ cumprod_ cumsum_ eq_ erf_ erfinv_ exp_ expm1_ fill_diagonal_ floor_ "
        "floor_divide_ fmod_ ge_ gt_ index_add_ index_copy_ index_fill_ index_put_ le_ lerp_ log10_ log1p_ log2_ log_ "
        "logical_and_ logical_not_ logical_or_ lt_ masked_fill_ masked_scatter_ mvlgamma_ nan_to_num_ ne_ neg_ pow_ "
        "put_ reciprocal_ relu_ remainder_ renorm_ round_ rsqrt_ scatter_ scatter_add_ scatter_reduce_ sigmoid_ sign_ "
        "sin_ sqrt_ square_ tan_ tanh_ tril_ triu_ trunc_ xlogy_",
    ),
)
# fmt: on

_BY_NAME = {row.name: row for row in OPERATIONS}
# An operation without a row: it computes from all its arguments.
PLAIN = Operation("")


def operation(name: str) -> Operation | None:
    """The row of a method, or, by its dotted name, of a function of one library."""
    return _BY_NAME.get(name)


def of_method(name: str) -> Operation:
    return _BY_NAME.get(name, PLAIN)


def of_function(dotted: str) -> Operation:
    """The row of a function: its own, or that of the method of the same name."""
    return _BY_NAME.get(dotted) or _BY_NAME.get(dotted.rpartition(".")[2], PLAIN)
