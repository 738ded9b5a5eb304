"""Every row of the transfer tables, each in a generated program of a few lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from reveals import fact
from trl_lint.domain import ranks
from trl_lint.domain.values import Kind
from trl_lint.knowledge import computing_libraries, launcher_variables, library, schema
from trl_lint.knowledge import torch as table
from trl_lint.knowledge.torch_ops import OPERATIONS, InPlace, RankTransfer, operation

# In a hook: x is a tensor with one value per sample, loss this rank's own mean, same a gathered one.
HOOK = """\
import torch
import torch.nn.functional as F
from transformers import Trainer

class Hook(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        x = inputs["x"].float()
        loss = model(**inputs).loss
        same = self.accelerator.gather(loss).mean()
        unknown = something_unknown()
"""


def all_in_hook(wanted: Mapping[str, str], tmp_path: Path, *before: str) -> None:
    """Check the facts of several expressions in a hook, which is analysed once."""
    lines = [f"        {line}\n" for line in (*before, *(f"reveal_rank({expression})" for expression in wanted))]
    assert wanted, "no row is asked for"
    found = fact(HOOK + "".join(lines), tmp_path).split(" | ")
    assert dict(zip(wanted, found, strict=True)) == dict(wanted)


def at_top(expression: str, tmp_path: Path, root: str) -> str:
    """The fact of an expression in a script that imports `root`."""
    return fact(f"import {root}\nreveal_rank({expression})\n", tmp_path)


def named(*transfers: RankTransfer) -> list[str]:
    """The operations with one of these effects on the rank fact, without those that change a tensor in place."""
    return sorted(row.name for row in OPERATIONS if row.rank in transfers and row.in_place is None)


def changing(*how: InPlace) -> list[str]:
    return sorted(row.name for row in OPERATIONS if row.in_place in how)


# --- tensor methods, and functions of the same names ----------------------------------------------------


def test_a_reduction_makes_a_shard_partial(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.REDUCES):
        partial = f"partial({operation(name).reduction})"
        wanted |= {f"x.{name}()": partial, f"x.{name}(dim=0)": partial, f"x.{name}(dim=-1)": "shard"}
        wanted[f"torch.{name}(x)"] = partial
    all_in_hook(wanted, tmp_path)


def test_which_quantile_or_norm_is_no_dimension(tmp_path: Path) -> None:
    wanted = {}
    for row in OPERATIONS:
        if row.has_order:
            wanted[f"x.{row.name}(1)"] = f"partial({row.reduction})"
            wanted |= dict.fromkeys((f"x.{row.name}(1, dim=-1)", f"x.{row.name}(1, -1)"), "shard")
    all_in_hook(wanted, tmp_path)


def test_a_reduction_keeps_every_other_fact(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.REDUCES):
        wanted |= {f"loss.{name}()": "local(data)", f"same.{name}()": "same", f"torch.{name}(unknown)": "unknown"}
    all_in_hook(wanted, tmp_path)


def test_what_is_passed_through_keeps_its_fact(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.KEEPS, RankTransfer.IS_TRUE):
        wanted |= {
            f"x.{name}()": "shard",
            f"loss.{name}()": "local(data)",
            f"same.{name}()": "same",
            f"x.mean().{name}()": "local(data)" if name == "bool" else "partial(mean)",
            f"x.{name}": "shard",
        }
    all_in_hook(wanted, tmp_path)


def test_what_a_tensor_is_does_not_differ(tmp_path: Path) -> None:
    names = named(RankTransfer.UNIFORM)
    all_in_hook(dict.fromkeys((each for name in names for each in (f"x.{name}", f"loss.{name}()")), "same"), tmp_path)


def test_how_many_there_are_differs_with_the_data(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.SHAPE, RankTransfer.SIZE, RankTransfer.STRIDE, RankTransfer.COUNT):
        call = name if name in ("nbytes", "shape") else f"{name}()"
        wanted[f"x.{call}"] = "local(data)" if name in ("shape", "size", "stride") else "partial(count)"
        wanted[f"same.{call}"] = "same"
    all_in_hook(wanted, tmp_path)


def test_the_way_to_the_host_keeps_the_fact(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.TO_NUMBER, RankTransfer.TO_LIST):
        wanted |= {f"loss.{name}()": "local(data)", f"x.sum().{name}()": "partial(sum)", f"same.{name}()": "same"}
    all_in_hook(wanted, tmp_path)


def test_a_method_with_an_underscore_changes_the_tensor(tmp_path: Path) -> None:
    before, wanted = [], {}
    for name in changing(*set(InPlace) - {InPlace.DRAWS}):
        a, b, c = (f"{letter}_{name}" for letter in "abc")
        kept = "same" if operation(name).in_place is InPlace.REPLACES else "local(data)"
        before += [f"{a} = torch.zeros(3)", f"{a}.{name}(loss)", f"{b} = torch.zeros(3)", f"{b}.{name}(same)"]
        before += [f"{c} = loss.clone()", f"{c}.{name}(1.0)"]
        wanted |= {a: "local(data)", b: "same", c: kept}
    all_in_hook(wanted, tmp_path, *before)


def test_random_numbers_replace_what_was_there(tmp_path: Path) -> None:
    before, wanted = [], {}
    for name in changing(InPlace.DRAWS):
        made = {f"new_{name}": "torch.zeros(3)", f"own_{name}": "loss.clone()"}
        before += [line for t, value in made.items() for line in (f"{t} = {value}", f"{t}.{name}()")]
        wanted |= dict.fromkeys(made, "local(rng)")
    all_in_hook(wanted, tmp_path, *before)


def test_methods_that_return_nothing(tmp_path: Path) -> None:
    all_in_hook({f"loss.{name}()": "same" for name in named(RankTransfer.NOTHING)}, tmp_path)


def test_what_is_shaped_like_a_tensor_holds_constants(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.FILLS_LIKE, RankTransfer.FULL_LIKE):
        wanted[f"x.{name}((3,))" if name.startswith("new_") else f"torch.{name}(x)"] = "same"
        if "full" in name:
            wanted[f"torch.{name}(x, fill_value=loss)"] = "local(data)"
    all_in_hook(wanted, tmp_path)


def test_what_is_drawn_is_random_too(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.DRAWS, RankTransfer.DRAWS_LIKE):
        drawn = "local(rng)" if name.endswith("_like") else "local(data, rng)"
        wanted |= {f"torch.{name}(x)": drawn, f"x.{name}()": drawn}
    all_in_hook(wanted, tmp_path)


def test_one_answer_about_all_elements(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.DECIDES):
        wanted |= {f"torch.{name}(x, x)": "local(data)", f"torch.{name}(same, same)": "same"}
    all_in_hook(wanted, tmp_path)


def test_an_index_among_all_elements(tmp_path: Path) -> None:
    wanted = {}
    for name in named(RankTransfer.INDEX):
        wanted |= {f"torch.{name}(x)": "local(data)", f"x.{name}(dim=1)": "shard"}
    all_in_hook(wanted, tmp_path)


# --- functions ------------------------------------------------------------------------------------------


def test_what_is_put_together(tmp_path: Path) -> None:
    parts = {"x, x": "shard", "loss, same": "local(data)", "same, same": "same", "unknown, same": "unknown"}
    names = named(RankTransfer.JOINS)
    all_in_hook({f"torch.{name}([{given}])": each for name in names for given, each in parts.items()}, tmp_path)


def test_a_tensor_of_a_number_is_as_the_number(tmp_path: Path) -> None:
    wanted = {}
    for dotted in named(RankTransfer.CREATES):
        wanted |= {
            f"{dotted}(loss.item())": "local(data)",
            f"{dotted}(x.sum().item())": "partial(sum)",
            f"{dotted}([loss.item(), 1.0])": "local(data)",
            f"{dotted}([1.0, 2.0])": "same",
        }
    all_in_hook(wanted, tmp_path)


def test_a_filled_tensor_is_the_same_everywhere(tmp_path: Path) -> None:
    names = named(RankTransfer.FILLS, RankTransfer.ZEROS, RankTransfer.FULL)
    calls = (call for dotted in names for call in (f"{dotted}(3)", f"{dotted}(len(x), 3)"))
    all_in_hook(dict.fromkeys(calls, "same"), tmp_path, "import numpy")


def called(dotted: str) -> str:
    return f"{dotted}x" if dotted.endswith(".") else dotted


def test_what_differs_for_a_reason_of_its_own(tmp_path: Path) -> None:
    found = {dotted: at_top(f"{called(dotted)}()", tmp_path, dotted.partition(".")[0]) for dotted in table.ORIGINS}
    assert found == {dotted: str(wanted) for dotted, wanted in table.ORIGINS.items()}


def test_random_numbers_of_given_sizes(tmp_path: Path) -> None:
    names = named(RankTransfer.DRAWS_NEW)
    calls = (call for dotted in names for call in (f"{dotted}(3)", f"{dotted}(len(x))"))
    all_in_hook(dict.fromkeys(calls, "local(rng)"), tmp_path)


def test_a_tensor_made_beside_another_is_as_the_numbers(tmp_path: Path) -> None:
    all_in_hook({"x.new_tensor(loss.item())": "local(data)", "x.new_tensor([1.0])": "same"}, tmp_path)


def imports(dotted: Iterable[str]) -> list[str]:
    """What imports the packages of some names."""
    return [f"import {root}" for root in sorted({each.partition(".")[0] for each in dotted})]


def test_functions_whose_result_is_the_same(tmp_path: Path) -> None:
    names = sorted(name for name in table.SAME_FUNCTIONS if "." in name)
    all_in_hook({f"{dotted}(loss)": "same" for dotted in names}, tmp_path, *imports(names))


def test_gradients_are_synchronised(tmp_path: Path) -> None:
    names = sorted(table.GRADIENT_NORMS)
    all_in_hook({f"{dotted}(model.parameters(), 1.0)": "same" for dotted in names}, tmp_path)


def test_calls_under_pure_roots_are_as_their_arguments(tmp_path: Path) -> None:
    facts = {
        "loss": "local(data)",
        "x, 2": "shard",
        "x.mean()": "local(data)",
        "same, 2": "same",
        "unknown, 2": "unknown",
    }
    roots = sorted(table.PURE_ROOTS)
    wanted = {f"{root}.compute({given})": each for root in roots for given, each in facts.items()}
    all_in_hook(wanted, tmp_path, *(f"import {root}" for root in roots))


def test_calls_under_impure_roots_are_unknown(tmp_path: Path) -> None:
    roots = sorted(table.IMPURE)
    all_in_hook({f"{root}.compute(loss)": "unknown" for root in roots}, tmp_path, *imports(roots))


def test_pure_functions_under_impure_roots(tmp_path: Path) -> None:
    all_in_hook({f"{dotted}(x)": "shard" for dotted in sorted(table.PURE_FUNCTIONS)}, tmp_path)


# --- Python's own functions -----------------------------------------------------------------------------

# How to access the elements of their results.
_ELEMENTS = {
    "enumerate": "next(iter({}))[1]", "filter": "next(iter({}))", "frozenset": "next(iter({}))",
    "iter": "next({})", "list": "{}[0]", "reversed": "next(iter({}))", "set": "next(iter({}))",
    "sorted": "{}[0]", "tuple": "{}[0]", "zip": "next(iter({}))[0]",
}  # fmt: skip
# Tested separately in reveal/builtins.py.
_BY_HAND = {"dict", "getattr", "len", "map", "next", "range", "slice"}


def test_pure_builtins_are_as_their_arguments(tmp_path: Path) -> None:
    facts, wanted = {"loss": "local(data)", "same": "same", "unknown": "unknown"}, {}
    for name in sorted(table.PURE_BUILTINS - _BY_HAND):
        form = _ELEMENTS.get(name, "{}")
        given = "None, [{}]" if name == "filter" else "[{}]" if name in _ELEMENTS else "{}"
        wanted |= {form.format(f"{name}({given.format(value)})"): each for value, each in facts.items()}
    all_in_hook(wanted, tmp_path)


def test_reducing_builtins_reduce_iterables(tmp_path: Path) -> None:
    wanted = {}
    for name in ("all", "any", "max", "min", "sum"):
        wanted |= {f"{name}([loss, same])": "local(data)", f"{name}([same, same])": "same"}
        wanted[f"{name}(x.tolist())"] = "local(data)" if name in ("all", "any") else f"partial({name})"
    all_in_hook(wanted, tmp_path)


def test_methods_of_texts_are_pure(tmp_path: Path) -> None:
    wanted = {}
    for name in (name for name in vars(str) if not name.startswith("_")):
        wanted |= {f'"text".{name}("a")': "same", f'str(loss).{name}("a")': "local(data)"}
    all_in_hook(wanted, tmp_path)


# --- rows of the libraries ------------------------------------------------------------------------------

_RESULTS = {
    "barrier": "same", "broadcast": "same", "gathered": "same", "messages": "unknown", "objects": "same",
    "padded": "partial(mean)", "reduced": "same", "scattered": "shard",
}  # fmt: skip
COLLECTIVES = sorted(
    {(row.name, row.since) for row in library.ROWS if isinstance(row, schema.Collective)},
)


def row_of(name: str, since: str) -> schema.Collective:
    return next(
        row for row in library.ROWS if isinstance(row, schema.Collective) and (row.name, row.since) == (name, since)
    )


def version_within(row: schema.Row) -> dict[str, str]:
    """A release of the row's library in which it holds."""
    root = row.name.partition(".")[0]
    if row.since:
        return {root: row.since}
    return {root: "0.0.1"} if row.until else {}


def receiver(name: str) -> tuple[str, str]:
    """How a collective is accessed in a hook: what must be imported, and the expression to call."""
    owner, _, own = name.rpartition(".")
    if owner == "accelerate.Accelerator":
        return "", f"self.accelerator.{own}"
    if owner == "transformers.Trainer":
        return "", f"self.{own}"
    if owner.rpartition(".")[2][:1].isupper():
        return f"from {owner.rpartition('.')[0]} import {owner.rpartition('.')[2]}", f"made.{own}"
    return f"import {owner}", name


@pytest.mark.parametrize(("name", "since"), COLLECTIVES, ids=lambda value: value)
def test_every_collective(name: str, since: str, tmp_path: Path) -> None:
    row = row_of(name, since)
    imported, callee = receiver(name)
    arguments = ["given"] * (row.operand[0] + 1)
    if row.into is not None and row.into != row.operand:
        arguments += ["given"] * (row.into[0] + 1 - len(arguments))
        arguments[row.into[0]] = "into"
    elif row.operand[0] >= 0:
        arguments[row.operand[0]] = "given"
    listed = row.lists or row.result == "objects" or "list" in row.operand[1]
    before = [
        *([imported] if imported else []),
        *([f"made = {name.split('.')[-2]}()"] if callee.startswith("made.") else []),
        f"given = {'[x.mean()]' if listed else 'x.mean()'}",
        f"into = {'[None]' if row.into and ('list' in row.into[1]) else 'torch.zeros(1)'}",
    ]
    call = f"{callee}({', '.join(arguments)})"
    if row.into is None:
        shown = f"{call}[0]" if listed and row.result not in ("padded", "scattered") else call
    else:
        target = "given" if row.into == row.operand else "into"
        before.append(call)
        shown = f"{target}[0]" if "list" in row.into[1] or row.lists else target
    lines = "".join(f"        {line}\n" for line in (*before, f"reveal_rank({shown})"))
    on_one = "(root)" * (row.root is not None and row.result != "objects")
    assert fact(HOOK + lines, tmp_path, version_within(row)) == _RESULTS[row.result] + on_one


# Kinds whose fact contains everything that the row says.
_PLAIN = frozenset(Kind) - {Kind.MODEL, Kind.INSTANCE, Kind.LOADER, Kind.TUPLE, Kind.CONTAINER}
ATTRIBUTES = sorted(
    {row.name for row in library.ROWS if isinstance(row, schema.Attribute) and row.value.kind in _PLAIN}
)


def test_every_attribute(tmp_path: Path) -> None:
    for name in ATTRIBUTES:
        _check_attribute(name, tmp_path)


def _check_attribute(name: str, tmp_path: Path) -> None:
    rows = [row for row in library.ROWS if isinstance(row, schema.Attribute) and row.name == name]
    owner, _, own = name.rpartition(".")
    module, _, cls = owner.rpartition(".")
    if library.is_subclass(owner, "transformers.Trainer", version_within(rows[-1])):
        program = f"from {module} import {cls}\nclass My({cls}):\n    def extra(self):\n"
        program += f"        reveal_rank(self.{own})\n"
    else:
        program = f"from {module} import {cls}\ndef use(made: {cls}):\n    reveal_rank(made.{own})\n"
    assert fact(program, tmp_path, version_within(rows[-1])) == str(rows[-1].value.rank), name


HOOKS = sorted({row.name for row in library.ROWS if isinstance(row, schema.Hook) and row.called})


def test_every_hook_gets_what_its_row_says(tmp_path: Path) -> None:
    for name in HOOKS:
        _check_hook(name, tmp_path)


def _check_hook(name: str, tmp_path: Path) -> None:
    row = [row for row in library.ROWS if isinstance(row, schema.Hook) and row.name == name][-1]
    owner, _, own = name.rpartition(".")
    root, _, base = owner.rpartition(".")
    given = [key for key in row.parameters if key != "**"]
    lines = [f"from {root} import {base}", f"class My({base}):", f"    def {own}(self, {', '.join(given)}):"]
    lines += [f"        reveal_rank({key})" for key in given] or ["        reveal_rank(1)"]
    wanted = [str(row.parameters[key].rank) for key in given] or ["same"]
    assert fact("\n".join(lines) + "\n", tmp_path, version_within(row)) == " | ".join(wanted), name


FUNCTIONS = sorted(
    {
        row.name
        for row in library.ROWS
        if isinstance(row, schema.Function)
        and not row.switch
        and (row.returns in ("first", "pure") or getattr(row.returns, "kind", None) in _PLAIN)
    }
)


def test_every_function_returns_what_its_row_says(tmp_path: Path) -> None:
    """Those of the same releases in one program; methods of trainers each in a class of its own."""
    programs: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for name in FUNCTIONS:
        row = [row for row in library.ROWS if isinstance(row, schema.Function) and row.name == name][-1]
        wanted = "local(data)" if isinstance(row.returns, str) else str(row.returns.rank)
        versions = version_within(row)
        module, cls, own = parts_of(name)
        if cls and library.is_subclass(f"{module}.{cls}", "transformers.Trainer", versions):
            program = (
                f"from {module} import {cls}\nclass My({cls}):\n    def training_step(self, model, inputs):\n"
                f"        loss = model(**inputs).loss\n        reveal_rank(self.{own}(loss))\n"
            )
            assert fact(program, tmp_path, versions) == wanted, name
        else:
            programs.setdefault(tuple(versions.items()), {})[name] = wanted
    for releases, wanted_of in programs.items():
        lines = [line for number, name in enumerate(wanted_of) for line in _asking(name, number)]
        found = fact(HOOK + "".join(f"        {line}\n" for line in lines), tmp_path, dict(releases)).split(" | ")
        assert dict(zip(wanted_of, found, strict=True)) == wanted_of


def parts_of(name: str) -> tuple[str, str, str]:
    """The module, the class ("" for a function of the module) and the name of a function."""
    owner, _, own = name.rpartition(".")
    module, _, cls = owner.rpartition(".")
    return (module, cls, own) if cls[:1].isupper() else (owner, "", own)


def _asking(name: str, number: int) -> list[str]:
    """Lines of a hook that ask for what a function returns."""
    module, cls, own = parts_of(name)
    if not cls:
        return [f"import {module or name}", f"reveal_rank({name}(loss))"]
    return [
        f"from {module} import {cls} as {cls}{number}",
        f"def use{number}(made: {cls}{number}, loss):",
        f"    reveal_rank(made.{own}(loss))",
        f"use{number}({cls}{number}(), loss)",
    ]


@pytest.mark.parametrize("name", sorted(launcher_variables.RANK_VARIABLES))
def test_variables_of_the_rank(name: str, tmp_path: Path) -> None:
    assert at_top(f'int(os.environ["{name}"])', tmp_path, "os") == "local(rank)"
    assert at_top(f'os.environ.get("{name}", 0)', tmp_path, "os") == "local(rank)"
    assert at_top(f'os.getenv("{name}")', tmp_path, "os") == "local(rank)"


@pytest.mark.parametrize("name", sorted(launcher_variables.WORLD_VARIABLES))
def test_variables_of_the_world(name: str, tmp_path: Path) -> None:
    assert at_top(f'int(os.environ["{name}"])', tmp_path, "os") == "same"
    assert fact(f'import os\nif int(os.getenv("{name}", 1)) == 1:\n    reveal_rank(1)\n', tmp_path) == "never"


def test_no_table_of_origins_says_bottom() -> None:
    assert ranks.BOTTOM not in table.ORIGINS.values()


def test_functions_of_libraries_that_only_compute(tmp_path: Path) -> None:
    facts = {"loss": "local(data)", "x, 2": "shard", "same, 2": "same", "unknown, 2": "unknown"}
    roots = sorted(computing_libraries.FUNCTIONS)
    wanted = {f"{root}({given})": each for root in roots for given, each in facts.items()}
    all_in_hook(wanted, tmp_path, *imported(roots))


def test_functions_of_these_libraries_that_do_more(tmp_path: Path) -> None:
    names = sorted(computing_libraries.OTHERS)
    all_in_hook({f"{name}(loss)": "unknown" for name in names}, tmp_path, *imported(names))


def test_objects_of_libraries_that_only_compute(tmp_path: Path) -> None:
    names = [f"{prefix}Loss" if prefix.endswith(".") else prefix for prefix in computing_libraries.CLASSES]
    wanted = {}
    for name in names:
        made = f"{name}(2)"
        wanted |= {
            f"{made}(loss)": "local(data)",
            f"{made}.to('cuda').eval()(x)": "shard",
            f"{made}.score(x)": "shard",
            f"{made}(same)": "same",
            f"{made}(unknown)": "unknown",
        }
    all_in_hook(wanted, tmp_path, *imported(names))


def imported(names: Iterable[str]) -> list[str]:
    """What imports the modules of some names."""
    return [f"import {module}" for module in sorted({name.rpartition(".")[0] or name for name in names})]
