"""Deep nesting: valid code is analysed, code that is too deep is reported in a line, and other files are unaffected."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import tracemalloc

import pytest

from trl_lint.analysis.program.project.nesting import MAX_DEPTH, TooDeep, measure
from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.linter import deep_stack
from trl_lint.linter.cached_linter import CachedLinter
from trl_lint.linter.deep_stack import deeply
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError
from trl_lint.linter.runner import check, run_one
from trl_lint.linter.store.cache import Cache
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

HEAD = "from accelerate import Accelerator\na = Accelerator()\ndef f(loss):\n    a.gather(loss.item())\n"

# Shapes of nesting, by depth.
SHAPES = {
    "adjacent strings": lambda n: "x = (" + "'line\\n'\n" * n + ")",
    "and": lambda n: "x = " + " and ".join("y" * n),
    "attributes": lambda n: "x = y" + ".y" * n,
    "await": lambda n: "async def g():\n    x = " + "await (" * n + "y" + ")" * n,
    "calls": lambda n: "x = y" + "(1)" * n,
    "conditional": lambda n: "x = " + "y if y else " * n + "y",
    "dict": lambda n: "x = " + "{1: " * n + "1" + "}" * n,
    "elif": lambda n: "if y:\n    pass\n" + "elif y:\n    pass\n" * n,
    "f-string": lambda n: "x = f'" + "{y:" * n + "}" * n + "'",
    "lambda": lambda n: "x = " + "lambda y, z: " * n + "y",
    "list": lambda n: "x = " + "[" * n + "]" * n,
    "methods": lambda n: "x = y" + ".y(1)" * n,
    "minus": lambda n: "x = " + "-" * n + "y",
    "not": lambda n: "x = " + "not " * n + "y",
    "open": lambda n: "x = " + "(" * n,
    "or": lambda n: "x = " + " or ".join("y" * n),
    "parentheses": lambda n: "x = " + "(" * n + "y" + ")" * n,
    "pattern": lambda n: "match y:\n    case " + "{1: " * n + "z" + "}" * n + ":\n        pass",
    "power": lambda n: "x = " + "**".join("y" * n),
    "quotes in quotes": lambda n: "x = " + 'f"{' * n + "y" + '}"' * n,
    "subscripts": lambda n: "x = y" + "[0]" * n,
    "sum": lambda n: "x = " + " + ".join("y" * n),
}


def linter(tmp_path):
    return Linter(Settings(), (tmp_path,), all_rules())


def codes(tmp_path, text, name="p.py"):
    return [finding.code for finding in linter(tmp_path).check(tmp_path / name, text.encode())]


# --- what is valid is analysed --------------------------------------------------------------------------

WRITTEN = {
    "adjacent strings": 600,
    "and": 800,
    "attributes": 900,
    "calls": 300,
    "conditional": 512,
    "elif": 512,
    "lambda": 400,
    "methods": 150,
    "or": 800,
    "sum": 800,
}


@pytest.mark.parametrize("shape", WRITTEN)
def test_what_people_and_generators_write_is_analysed(tmp_path, shape):
    text = HEAD + SHAPES[shape](WRITTEN[shape]) + "\n"
    assert codes(tmp_path, text) == ["TRL001"]


def test_a_long_table_is_not_deep(tmp_path):
    table = "x = {" + ", ".join(f"'k{i}': (a.b.c, [{i}, -1], lambda y, z: y + z)" for i in range(1000)) + "}\n"
    assert codes(tmp_path, HEAD + table) == ["TRL001"]


def test_findings_inside_of_a_deep_expression(tmp_path):
    text = HEAD + "def g(loss):\n    return " + " + ".join(["loss"] * 700) + " + a.gather(loss.item())\n"
    assert codes(tmp_path, text) == ["TRL001", "TRL001"]


def test_a_fix_beside_a_deep_expression(tmp_path):
    head = HEAD.replace("a.gather(loss.item())", 'a.reduce(loss.item(), "mean")').encode()
    deep = (SHAPES["adjacent strings"](600) + "\n" + SHAPES["sum"](600) + "\n").encode()
    alone = linter(tmp_path).fix(tmp_path / "p.py", head, unsafe=True).source
    assert alone != head
    assert linter(tmp_path).fix(tmp_path / "p.py", head + deep, unsafe=True).source == alone + deep


# --- what is too deep is reported -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "elif"])
def test_what_no_parser_bears_is_refused_before_it_is_parsed(tmp_path, shape):
    text = HEAD + "y = 1\n" + SHAPES[shape](100_000 if shape != "quotes in quotes" else 3000)
    with pytest.raises(SourceError) as raised:
        linter(tmp_path).check(tmp_path / "p.py", text.encode())
    assert raised.value.verdict == "not analysed"
    assert raised.value.message.startswith("nested too deeply (more than ")
    line = {"await": 7, "pattern": 7}.get(shape, 6)
    assert str(raised.value).startswith(f"{tmp_path / 'p.py'}:{line}:1: not analysed: nested too deeply")


def test_many_that_are_each_allowed_are_bounded_together():
    measure(("x = " + "f(" * 150 + ")" * 150 + "\n") * 5)
    with pytest.raises(TooDeep, match="too much of it"):
        measure(("x = " + "f(" * 150 + ")" * 150 + "\n") * 200)


@pytest.mark.parametrize(
    "hidden",
    [
        "x = f\"{ '' + DEEP }\"",
        'x = f"{ "" + DEEP }"',
        "x = f'{y:{DEEP}}'",
        "x = f'''{\nDEEP}'''",
        "x = 'it\\\n' + DEEP + ''",
        "x = '\\'' + DEEP + '\\''",
        "x = r'\\\\' + DEEP + ''",
        "x = y if'a'else DEEP",
        "x = 1.0 + DEEP",
        "# it's\nx = DEEP",
        "x = \\\n  DEEP",
        "x = (lambda y, z: DEEP)",
        "x = [1, 2, DEEP, 3]",
        "@y(DEEP)\ndef g(): pass",
    ],
)
def test_nothing_hides_it(hidden):
    with pytest.raises(TooDeep):
        measure(hidden.replace("DEEP", "-" * MAX_DEPTH + "y"))
    measure(hidden.replace("DEEP", "-" * 100 + "y"))


@pytest.mark.parametrize(
    "text",
    [
        "x = '((((((" + "(" * 400 + "'",
        'x = """' + "(" * 400 + '"""',
        "# " + "(" * 400,
        "x = f'" + "(" * 400 + "{y}'",
        "x = f'" + "{{" * 400 + "'",
        "x = rb'" + "(" * 400 + "'",
        "\n".join(["x = (1)"] * 400),
        "; ".join(["x = [y]"] * 400),
        "x = [" + "(y), " * 4000 + "]",
        "case = [[[[[[[[y]]]]]]]]",
        "match y:\n    case 1 if f(f(f(f(f(f(f(y))))))):\n        x = [[[[[[[[y]]]]]]]]",
    ],
)
def test_what_only_looks_deep(text):
    measure(text)


def test_every_shape_is_parsed_up_to_its_limit_on_a_fraction_of_the_stack(tmp_path):
    # In a separate process, which an overflow would end. LibCST has its own limits, which raise errors.
    script = (
        "import sys, threading; sys.path.insert(0, sys.argv[1]); import libcst\n"
        "from test_depth import SHAPES, most\n"
        "def parse():\n"
        "    sys.setrecursionlimit(200_000)\n"
        "    for shape in SHAPES:\n"
        "        if shape == 'pattern': continue\n"
        "        try: libcst.parse_module(SHAPES[shape](most(shape)))\n"
        "        except libcst.ParserSyntaxError: assert shape == 'open', shape\n"
        "    print('all')\n"
        "threading.stack_size(16 << 20)\n"
        "thread = threading.Thread(target=parse); thread.start(); thread.join()\n"
    )
    folder = __file__.rpartition("/")[0]
    done = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all\n"), done.stderr[-500:]


def most(shape):
    """How deep a shape may nest (at most 500, which takes the slowest of them a quarter of a second)."""
    low, high = 1, 500
    while low < high:
        middle = (low + high + 1) // 2
        try:
            measure(SHAPES[shape](middle))
            low = middle
        except TooDeep:
            high = middle - 1
    return low


# --- files that import it -------------------------------------------------------------------------------


@pytest.mark.parametrize("prompts", [SHAPES["adjacent strings"](600), SHAPES["minus"](100_000), SHAPES["list"](5000)])
def test_an_import_never_loses_the_findings_of_who_imports(tmp_path, prompts):
    (tmp_path / "prompts.py").write_text(prompts + "\n")
    assert codes(tmp_path, "from prompts import x\n" + HEAD + "print(x)\n", "train.py") == ["TRL001"]


def test_an_import_that_can_not_be_followed_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(deep_stack, "_RECURSION", 900)
    prompts = SHAPES["elif"](2000) + "x = 1\n"
    (tmp_path / "prompts.py").write_text(prompts)
    one = linter(tmp_path)
    train = ("from prompts import x\n" + HEAD + "print(x)\n").encode()
    assert [finding.code for finding in one.check(tmp_path / "train.py", train)] == ["TRL001"]
    with pytest.raises(SourceError, match="not analysed: nested too deeply"):
        one.check(tmp_path / "prompts.py", prompts.encode())
    assert [finding.code for finding in one.check(tmp_path / "other.py", HEAD.encode())] == ["TRL001"]


# --- ways in --------------------------------------------------------------------------------------------


def test_the_line_that_the_user_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = HEAD + "x = " + "(" * 5000 + "\n"
    result = run_one(tmp_path / "p.py", text.encode(), linter(tmp_path), check)
    assert result.problem == "p.py:5:1: not analysed: nested too deeply (more than 3000 deep)"


def test_the_command_line_goes_on_with_the_other_files(tmp_path):
    (tmp_path / "deep.py").write_text(HEAD + SHAPES["minus"](100_000) + "\n")
    (tmp_path / "fine.py").write_text(HEAD)
    command = [sys.executable, "-m", "trl_lint", ".", "--output-format", "concise"]
    for _ in range(2):  # the second time from the cache
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.strip() == "deep.py:5:1: not analysed: nested too deeply (more than 3000 deep)"
        assert "fine.py:4:5: TRL001" in done.stdout


def test_the_verdict_is_kept(tmp_path):
    source = (HEAD + SHAPES["minus"](100_000)).encode()
    said = []
    for _ in range(2):
        one = CachedLinter(Settings(), (tmp_path,), all_rules(), Cache(tmp_path / "kept"))
        one.prepare([(tmp_path / "p.py", source)])
        with pytest.raises(SourceError) as raised:
            one.check(tmp_path / "p.py", source)
        said.append(str(raised.value))
    assert said[0] == said[1] and ": not analysed: " in said[0]


# --- the stack ------------------------------------------------------------------------------------------


def test_a_deep_stack_is_given_back():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    limit, size, threads = sys.getrecursionlimit(), threading.stack_size(), threading.active_count()
    assert deeply(down)(50_000) == 50_000
    with pytest.raises(ZeroDivisionError):
        deeply(lambda: 1 / 0)()
    assert (sys.getrecursionlimit(), threading.stack_size(), threading.active_count()) == (limit, size, threads)


def test_what_runs_deeply_stays_in_its_thread():
    inner = deeply(threading.get_ident)
    assert deeply(lambda: inner() == threading.get_ident())()


def test_with_less_memory_the_stack_is_smaller(monkeypatch):
    asked = []
    start = threading.Thread.start

    def refuse(thread):
        asked.append(threading.stack_size())
        if len(asked) < 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert deeply(lambda: 7)() == 7
    assert asked == [256 << 20, 128 << 20, 64 << 20]


# --- the prefilter --------------------------------------------------------------------------------------


def spent(source):
    start = time.process_time()
    code_of(source)
    return time.process_time() - start


@pytest.mark.parametrize("line", [b"\\'''\n", b"'\\\n\\'\\\n", b'\\"""\n', b"'\n", b"'''\\'''\n"])
def test_quotes_that_nothing_closes_cost_what_others_do(line):
    count = 60_000 // len(line)
    usual = max(spent(b"x = 'a b'\n" * count), 0.01)
    assert spent(line * count) < 20 * usual


def test_code_behind_quotes_that_nothing_closes_still_matters():
    assert b"Accelerator" in code_of(b"x = '''\nimport Accelerator\n")
    assert b"Accelerator" in code_of(b"don't\nimport Accelerator\n")
    assert b"Accelerator" in code_of(b"x = 'Accelerator\n")
    assert b"Accelerator" not in code_of(b"x = ''' \\''' Accelerator '''\n")
    assert b"Accelerator" in code_of(b"x = ''' \\\\''' Accelerator '''\n")


def test_a_long_docstring_takes_no_memory_of_its_own():
    source = b'"""' + b"some words, isn't it\n" * 100_000 + b'"""\n'
    tracemalloc.start()
    try:
        assert not code_of(source).strip()
        assert tracemalloc.get_traced_memory()[1] < 2 * len(source)
    finally:
        tracemalloc.stop()
