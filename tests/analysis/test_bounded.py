"""The work of the analysis, counted in calls of its functions: a text with twice as many repetitions costs at most a
small power of two as much, whatever its values hold.
"""

from __future__ import annotations

import itertools
import threading

import pytest

from trl_lint.analysis.interprocedural import contexts, summaries
from trl_lint.domain import small_tuples
from trl_lint.domain.control import UNIFORM
from trl_lint.domain.heap import Cell, Memory, join_cells
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import MAX_ALTERNATIVES, ContainerValue, IterableValue, TupleValue
from trl_lint.domain.small_tuples import is_small
from trl_lint.domain.values import SAME, Kind
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

HEAD = "from accelerate import Accelerator\naccelerator = Accelerator()\n"
# Far more than any of the programs below needs; if the work doubles with each line, it is reached soon.
ENOUGH = 3_000_000


class TooMuch(Exception):
    pass


def work(tmp_path, text, part="/trl_lint/analysis/"):
    """How many functions of the analysis, or of another part, are called for a text."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        if event == "call" and part in frame.f_code.co_filename.replace("\\", "/"):
            calls += 1
            if calls > ENOUGH:
                raise TooMuch

    def check():
        try:
            Linter(Settings(), (tmp_path,), all_rules()).check(tmp_path / "p.py", text.encode())
        except Exception as error:
            failed.append(error)

    failed: list[Exception] = []
    threading.setprofile(count)
    try:
        thread = threading.Thread(target=check)
        thread.start()
        thread.join()
    finally:
        threading.setprofile(None)
    assert not failed, repr(failed[0])[:200]
    return calls


PASSED_ON = "def f(x):\n    return x\n"
# Programs by how often a line of them is repeated, and the allowed growth: with which power of the number.
DOUBLING = {
    "tuples": lambda n: PASSED_ON + "m = (1, 2)\n" + "m = (m, m)\n" * n + "accelerator.gather(f(m))\n",
    "lists": lambda n: PASSED_ON + "m = [1, 2]\n" + "m = [m, m]\n" * n + "accelerator.gather(f(m))\n",
    "lists that are gathered": lambda n: "m = [1, 2]\n" + "m = [m, m]\n" * n + "accelerator.gather(m)\n",
    "lists that are padded": lambda n: "m = [1]\n" + "m = [m, m]\n" * n + "accelerator.pad_across_processes(m)\n",
    "dicts that are logged": lambda n: "m = {'a': 1}\n" + "m = {'a': m, 'b': m}\n" * n + "accelerator.log(m)\n",
    "dicts that a text is made of": lambda n: (
        "import json\nm = {'a': 1}\n" + "m = {'a': m, 'b': m, 'c': m}\n" * n + "accelerator.log(json.dumps(m))\n"
    ),
    "dicts that hold themselves": lambda n: (
        "import json\nm = {}\n" + "".join(f"m['a{i}'] = {{'b': m, 'c': m}}\n" for i in range(n)) + "json.dumps(m)\n"
    ),
    "lists of tuples": lambda n: PASSED_ON + "m = (1, 2)\n" + "m = ([m], [m])\n" * n + "accelerator.reduce(f(m))\n",
    "sums of tuples": lambda n: "m = (1, 2)\n" + "m = m + m\n" * n + "accelerator.gather(m)\n",
    "zips": lambda n: "m = [1]\n" + "m = list(zip(m, m))\n" * n + "accelerator.gather(m)\n",
    "arguments": lambda n: "def f(*x):\n    return x\nm = 1\n" + "m = f(m, m)\n" * n + "accelerator.gather(m)\n",
    "prepared": lambda n: "m = 1\n" + "m = accelerator.prepare(m, m)\n" * n + "accelerator.gather(m)\n",
    "arms": lambda n: (
        "import os\nm = (1, 2)\n"
        + "x = (m, None)\nif os.environ.get('A'):\n    x = (None, m)\nm = x\n" * n
        + "accelerator.gather(m)\n"
    ),
    "texts": lambda n: "s = 'ab'\n" + "s = s + s\ns = f'{s}{s}'\n" * n + "accelerator.log({s: 1})\n",
    "bases": lambda n: (
        "class A0: pass\nclass B0: pass\n"
        + "".join(f"class A{i}(A{i - 1}, B{i - 1}): pass\nclass B{i}(A{i - 1}, B{i - 1}): pass\n" for i in range(1, n))
    ),
}


@pytest.mark.parametrize("name", DOUBLING)
def test_what_doubles_in_the_program_does_not_double_in_the_analysis(tmp_path, name):
    counts = [work(tmp_path, HEAD + DOUBLING[name](n)) for n in (16, 32, 64)]
    assert counts[2] <= 6 * counts[1] <= 36 * counts[0]


GROWING = {
    "overrides with super": lambda n: (
        "class A0:\n    def __init__(self):\n        self.x = 1\n    def f(self, x):\n        return x\n"
        + "".join(
            f"class A{i}(A{i - 1}):\n    def __init__(self):\n        super().__init__()\n        self.y{i} = []\n"
            f"    def f(self, x):\n        self.y{i}.append(x)\n        return super().f(x)\n"
            for i in range(1, n)
        )
    ),
    "empty subclasses": lambda n: "class A0: pass\n" + "".join(f"class A{i}(A{i - 1}): pass\n" for i in range(1, n)),
    "copies": lambda n: "m = {}\n" + "m = {'a': m, 'b': dict(m), **m}\n" * n + "accelerator.log(m)\n",
    "logged again and again": lambda n: "m = {}\n" + "".join(f"m['k{i}'] = 1\naccelerator.log(m)\n" for i in range(n)),
    "conditions": lambda n: "x = " + " and ".join("y" * n) + "\n",
    "sums": lambda n: "x = " + " + ".join("y" * n) + "\n",
    "attributes": lambda n: "x = y" + ".y" * n + "\n",
    "elif": lambda n: "if y:\n    x = 1\n" + "elif y:\n    x = 1\n" * n,
}


@pytest.mark.parametrize("name", GROWING)
def test_what_grows_in_the_program_costs_its_square_at_most(tmp_path, name):
    # Of overrides the work is about the square of fewer, and that of more takes seconds.
    n = 32 if name == "overrides with super" else 64
    counts = [work(tmp_path, HEAD + GROWING[name](each)) for each in (n, 2 * n)]
    assert counts[1] <= 4.4 * counts[0]


# Names that are assigned to themselves, among others.
LEADING_BACK = {
    "an unwrapped model": (
        "def save(model, compiled):\n    inner = accelerator.unwrap_model(model)\n"
        "    inner = inner._orig_mod if compiled(inner) else inner\n    inner.save_all()\n"
        "model = accelerator.prepare(model)\nsave(model, compiled)\n"
    ),
    "a condition on a stage": (
        "import deepspeed\ndef gathered(engine, weights, enabled):\n"
        "    enabled = enabled and engine.zero_optimization_stage() == 2\n    if engine.local_rank == 0:\n"
        "        with deepspeed.zero.GatheredParameters(weights, enabled=enabled):\n            pass\n"
    ),
}


@pytest.mark.parametrize("name", LEADING_BACK)
def test_a_name_that_leads_back_to_itself_is_followed_once(tmp_path, name):
    assert work(tmp_path, HEAD + LEADING_BACK[name]) < ENOUGH


# Helpers that each call the next one several times, and the body of the last one, by their number.
_CALLS_ON = "def f{i}(m, x):\n    f{j}(m, [x])\n    f{j}(m, {{'a': x}})\n    f{j}(m, (x, x))\n"
_GIVES_ON = "def f{i}(m, x):\n    return f{j}(m, [x]), f{j}(m, (x, m)), f{j}(m, {{'a': x}})\n"
FANS = {
    "containers that are made": (_GIVES_ON, "    return x\n"),
    "containers that are filled": (_CALLS_ON, "    m.append([x])\n    m.append({'b': x})\n"),
}


def fan(name, n):
    between, last = FANS[name]
    helpers = "".join(between.format(i=i, j=i + 1) for i in range(n))
    return HEAD + helpers + f"def f{n}(m, x):\n{last}m = []\naccelerator.gather([f0(m, 1), m])\n"


def test_what_helpers_make_does_not_double_with_each_of_them(tmp_path, monkeypatch):
    """With a tenth of the limit, which is reached with fewer of them."""
    monkeypatch.setattr(summaries, "MAX_CONTAINERS", contexts.MAX_CONTAINERS // 10)
    counts = [work(tmp_path, fan("containers that are made", n)) for n in (5, 7)]
    assert counts[1] < 3 * counts[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", FANS)
def test_what_many_helpers_make_is_bounded(tmp_path, name):
    assert work(tmp_path, fan(name, 12)) < ENOUGH


def layers(count, depth=3):
    """A value that is one of as many lists, each of which holds one of as many others, and so on, on a heap."""
    heap, value = {}, SAME
    for level in range(depth):
        identities = range(level * count, (level + 1) * count)
        heap.update((each, Cell("list", {0: value})) for each in identities)
        value = ContainerValue(SAME.rank, identities=frozenset(identities))
    return value, Memory({}, heap, {}, UNIFORM)


def test_lists_that_hold_each_other_are_given_to_a_shared_run_once_for_each_place(monkeypatch):
    joined = []
    monkeypatch.setattr(contexts, "join_cells", lambda a, b: joined.append(a) or join_cells(a, b))
    value, memory = layers(40)
    represented = contexts.Joined((), itertools.count(1000).__next__).join_call({"x": value}, memory)
    assert [len(each) for each in represented.values()] == [40, 40, 40]
    assert len(joined) == 3 * 39


def test_one_of_too_many_lists_is_unknown():
    few, many = (layers(count, depth=1)[0] for count in (MAX_ALTERNATIVES // 2, MAX_ALTERNATIVES + 1))
    other = few.with_parts(frozenset(range(1000, 1000 + MAX_ALTERNATIVES // 2)))
    assert join(few, other).kind is Kind.CONTAINER
    assert join(many, other).kind is Kind.UNKNOWN


def test_a_helper_that_makes_a_few_containers_gives_them_to_its_callers(tmp_path):
    program = (
        "from accelerate import Accelerator\n"
        "def logged(loss):\n    return [{'loss': loss} for _ in range(3)][0]\n"
        "def main(model, loader):\n"
        "    accelerator = Accelerator()\n"
        "    model, loader = accelerator.prepare(model, loader)\n"
        "    for batch in loader:\n"
        "        accelerator.log(logged(model(batch).loss))\n"
    )
    found = Linter(Settings(), (tmp_path,), all_rules()).check(tmp_path / "p.py", program.encode())
    assert [each.code for each in found if each.code == "TRL003"] == ["TRL003"]


LOOP = HEAD + "def main(model, loader, {}):\n    model, loader = accelerator.prepare(model, loader)\n"
IN_LOOP = LOOP + "    for batch in loader:\n"
FINDINGS = {
    "conditions by their names": lambda n: (
        IN_LOOP.format("args")
        + "".join(
            f"        ok{i} = accelerator.is_main_process and args.f{i}\n"
            f"        if not ok{i}:\n            accelerator.gather(batch)\n"
            for i in range(n)
        )
    ),
    "wrapped models": lambda n: (
        HEAD + f"def main(loader, {_models(n)}):\n    {_models(n)} = accelerator.prepare({_models(n)})\n"
        "    for batch in loader:\n" + "".join(f"        c{i} = m{i}.config\n" for i in range(n))
    ),
    "classes that are asked for": lambda n: (
        IN_LOOP.format("N")
        + "".join(f"        if isinstance(model, N.M{i}):\n            c = model.config\n" for i in range(n))
    ),
    "results by their names": lambda n: (
        IN_LOOP.format("x") + "".join(f"        v{i} = accelerator.gather(batch.mean().item())\n" for i in range(n))
    ),
    "ways out": lambda n: (
        IN_LOOP.format("x")
        + "".join(
            f"        if batch.sum() > {i}:\n            continue\n        accelerator.gather(batch)\n"
            for i in range(n)
        )
    ),
}


def _models(n):
    return ", ".join(f"m{i}" for i in range(n))


@pytest.mark.parametrize("name", FINDINGS)
def test_what_is_found_again_and_again_in_a_function_costs_no_walk_through_it_each_time(tmp_path, name):
    counts = [work(tmp_path, FINDINGS[name](n), "/trl_lint/") for n in (32, 64)]
    assert counts[1] <= 3.2 * counts[0]


def test_loops_in_loops_are_not_unrolled_without_end(tmp_path):
    def nested(n):
        loops = "".join("    " * i + f"for a{i} in ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'):\n" for i in range(n))
        return HEAD + loops + "    " * n + "accelerator.gather(1)\n"

    counts = [work(tmp_path, nested(n)) for n in (3, 5)]
    assert counts[1] < 40 * counts[0]


# Nested functions that call the next ones in loops, as in a search for a matching of a graph.
_IN_LOOPS = (
    "    def f{i}(m, k):\n        while k:\n            for x in m:\n                k = f{j}(m, k + x) or f{h}(m, x)\n"
    "        return k\n"
)


def nested(n):
    inner = "".join(_IN_LOOPS.format(i=i, j=(i + 1) % n, h=(i + 2) % n) for i in range(n))
    return HEAD + f"def main(m):\n{inner}    for x in m:\n        f0(m, x)\naccelerator.gather([main(model)])\n"


def test_nested_functions_that_call_each_other_in_loops_end(tmp_path):
    assert work(tmp_path, nested(10)) < ENOUGH


def test_a_nested_function_is_followed_as_often_as_it_is_called(tmp_path):
    program = HEAD + (
        "def main(batches):\n    def reduced(loss):\n        return accelerator.reduce(loss, reduction='mean')\n"
        "    for batch in batches:\n"
        + "        accelerator.log({'loss': reduced(model(batch).loss)})\n" * 20
        + "        accelerator.log({'own': model(batch).loss})\nmain(accelerator.prepare(loader))\n"
    )
    found = Linter(Settings(), (tmp_path,), all_rules()).check(tmp_path / "p.py", program.encode())
    assert ["own" in each.message for each in found if each.code == "TRL003"] == [True]


def test_a_few_loops_in_loops_are_unrolled(tmp_path):
    program = (
        "from accelerate import Accelerator\n"
        "def main(model, loader):\n"
        "    accelerator = Accelerator()\n"
        "    model, loader = accelerator.prepare(model, loader)\n"
        "    for batch in loader:\n"
        "        loss, m = model(batch).loss, {}\n"
        "        for split in ('train', 'eval'):\n"
        "            for name in ('a', 'b'):\n"
        "                m[f'{split}/{name}'] = loss.item()\n"
        "        accelerator.log(m)\n"
    )
    found = Linter(Settings(), (tmp_path,), all_rules()).check(tmp_path / "p.py", program.encode())
    assert any("`train/a`, `train/b`, `eval/a`, `eval/b`" in each.message for each in found)


# --- containers that hold themselves --------------------------------------------------------------------

HOLDING = {
    "key": "m = {}\nm['self'] = m\n",
    "setdefault": "m = {}\nm.setdefault('self', m)\n",
    "update": "m = {}\nm.update({'self': m})\n",
    "keyword": "m = {}\nm.update(self=m)\n",
    "unknown key": "m = {}\nm[input()] = m\n",
    "append": "m = []\nm.append(m)\n",
    "extend": "m = []\nm.extend([m, m])\n",
    "insert": "m = []\nm.insert(0, m)\n",
    "plus": "m = [1]\nm += [m]\n",
    "index": "m = [1, 2]\nm[0] = m\n",
    "each other": "m = {}\no = [m]\nm['other'] = o\n",
    "tuple": "m = []\nm.append((1, (m, 2)))\n",
    "iterator": "m = {}\nm['self'] = iter([m])\n",
    "view": "m = {}\nm['self'] = m\nm['view'] = m.values()\n",
    "attribute": (
        "class A:\n    def f(self):\n        self.m = {}\n        self.m['self'] = self.m\nm = A()\nm.f()\nm = m.m\n"
    ),
}
USES = (
    "accelerator.gather(m)",
    "accelerator.gather_for_metrics(m)",
    "accelerator.gather_for_metrics(m, use_gather_object=True)",
    "accelerator.pad_across_processes(m)",
    "accelerator.reduce(m)",
    "accelerator.log(m)",
    "accelerator.log({'a': m, 'b': [m]})",
    "torch.distributed.all_gather_object(m, m)",
    "torch.stack(m)",
    "def f(x):\n    return x\naccelerator.gather(f(m))",
    "def f(x):\n    x['again'] = [x]\n    return (x, x)\nfor _ in range(3):\n    m = f(m)\naccelerator.gather(m)",
)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("how", HOLDING)
def test_a_container_that_holds_itself(tmp_path, how, use):
    text = "import torch\n" + HEAD + HOLDING[how] + use + "\n"
    assert work(tmp_path, text) < 30_000


def test_what_a_gathered_container_holds_is_gathered(tmp_path):
    text = (
        "from accelerate import Accelerator\n"
        "def main(model, loader):\n"
        "    accelerator = Accelerator()\n"
        "    model, loader = accelerator.prepare(model, loader)\n"
        "    for batch in loader:\n"
        "        m = {'loss': model(batch).loss}\n"
        "        m['self'] = m\n"
        "        accelerator.log(m)\n"
        "        accelerator.log(accelerator.gather(m))\n"
    )
    found = Linter(Settings(), (tmp_path,), all_rules()).check(tmp_path / "p.py", text.encode())
    assert [(each.code, each.start.line) for each in found if each.code == "TRL003"] == [("TRL003", 6)]


# --- the size of a tuple --------------------------------------------------------------------------------


def test_the_items_of_a_tuple_are_counted_with_those_inside(monkeypatch):
    monkeypatch.setattr(small_tuples, "MAX_ITEMS", 8)

    def made(*items):
        return TupleValue(items=items)

    assert is_small([SAME] * 8)
    assert not is_small([SAME] * 9)
    assert is_small([made(SAME, SAME), made(made(SAME))])
    assert not is_small([made(*[SAME] * 4), made(*[SAME] * 4)])
    assert not is_small([IterableValue(SAME.rank, made(*[SAME] * 8), SAME.rank)])


def test_what_further_calls_have_in_common_is_bounded_too(tmp_path):
    # Beyond the limit of contexts, calls share one, in which a container occurs once for each path to it.
    wide = "[" + ", ".join("m" for _ in range(40)) + "]"
    calls = "".join(f"f(m, {i}.5, '{i}', x{i})\n" for i in range(20))
    values = "".join(f"x{i} = [{'(' * (i % 4)}{i}{',)' * (i % 4)}]\n" for i in range(20))

    def program(n):
        return HEAD + "def f(a, b, c, d):\n    return a\n" + "m = [1]\n" + f"m = {wide}\n" * n + values + calls

    counts = [work(tmp_path, program(n)) for n in (4, 8)]
    assert counts[1] < 1.2 * counts[0]
