"""Marked statements: a run records how often each was executed and which came last, and is otherwise unchanged."""

from __future__ import annotations

import builtins
import os
import textwrap

import pytest

from trl_lint.verify.proof.session import Session, Subject
from trl_lint.verify.proof.session import start as by_torchrun
from trl_lint.verify.rank import executing, marking, trace
from trl_lint.verify.rank.trace import trace_path
from trl_lint.verify.record.executed import Called, Ran
from trl_lint.verify.record.traces import read_run


@pytest.fixture(autouse=True)
def as_if_new(monkeypatch):
    """This process records nothing afterwards."""
    for name in ("_recorder", "_path", "_next", "_calls", "_owner"):
        monkeypatch.setattr(executing, name, getattr(executing, name))
    monkeypatch.setattr(trace, "current", None)
    yield
    for name in (executing.WRITE, executing.FULL):
        builtins.__dict__.pop(name, None)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a program: its variables at the end, and which of its statements were executed."""

    def made(text, name="program.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        monkeypatch.setattr(trace, "current", trace.Trace(trace_path(str(tmp_path), 0)))
        executing.keep(str(tmp_path), 0)
        names = {"__name__": "program", "__file__": str(path)}
        exec(marking.compiled(path.read_bytes(), str(path), str(path)), names)
        (rank,) = read_run(tmp_path, "").ranks
        assert [*rank.executed.files] == [str(path)]
        return names, rank.executed

    return made


def counts(executed, *lines):
    (file,) = executed.files
    return [executed.count(file, line) for line in lines]


def test_what_is_executed_is_counted(run):
    program = """\
    x = 1
    if x:
        y = 2
    else:
        y = 3
    def f():
        return (
            y +
            1
        )
    def g(): return f()
    if False:
        pass
    elif f():
        z = 4
    try:
        raise ValueError
    except ValueError:
        w = 5
    for each in range(3):
        f()
    match x:
        case 1:
            v = 6
        case _:
            v = 7
    with open(__file__):
        total = [f() for _ in range(4)]
    """
    _, executed = run(program)
    assert counts(executed, 1, 2, 3, 5, 7, 8, 9, 12, 13, 15, 17, 19) == [1, 1, 1, 0, 8, 8, 8, 1, 0, 1, 1, 1]
    assert counts(executed, 20, 21, 22, 24, 26, 27, 28) == [1, 3, 1, 1, 0, 1, 1]
    # The line is the definition's; the column may be that of the body, which is never called.
    (file,) = executed.files
    assert [executed.count(file, 11, column) for column in (1, 10)] == [1, 0]


def test_all_else_is_as_it_was(run):
    program = '''\
    """A docstring."""
    from __future__ import annotations
    import asyncio, inspect, pickle, sys, traceback
    def f(x: nowhere):
        """Another one."""
        global seen
        seen = sys._getframe().f_lineno
        return seen
    class C:
        """A third one."""
        a = 1
        async def g(self):
            return 2
    value = f(1)
    def numbers():
        got = yield 1
        yield got
    made = numbers()
    sent = [next(made), made.send(5), *made]
    answer = asyncio.run(C().g())
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            kind = sys.exc_info()[0]
            raise
    except ZeroDivisionError as error:
        line = traceback.extract_tb(error.__traceback__)[0].lineno
        has_context = error.__context__
    source = inspect.getsource(f)
    '''
    names, executed = run(program)
    assert names["__doc__"] == "A docstring." and names["f"].__doc__ == "Another one."
    assert names["C"].__doc__ == "A third one." and names["value"] == 7
    assert names["f"].__annotations__ == {"x": "nowhere"} and names["f"].__code__.co_firstlineno == 4
    assert names["sent"] == [1, 5] and names["answer"] == 2
    assert names["kind"] is ZeroDivisionError and names["line"] == 23 and names["has_context"] is None
    assert names["source"].startswith("def f(x") and executing.WRITE not in names["source"]
    assert executing.WRITE not in names
    # Neither a docstring nor a declaration is executed.
    assert counts(executed, 3, 7, 11, 13, 16, 17) == [1, 1, 1, 1, 1, 1]


def test_another_process_runs_it_as_well(run):
    """A newly started worker knows no ring buffer."""
    names, _ = run("def f():\n    return 1\n")
    for name in (executing.WRITE, executing.FULL):
        del builtins.__dict__[name]
    assert names["f"]() == 1


def test_where_nothing_is_kept_nothing_is_marked(monkeypatch):
    monkeypatch.setattr(executing, "_recorder", None)
    monkeypatch.setattr(marking.ast, "parse", None)
    exec(marking.compiled(b"x = 1\n", "program.py", "program.py"), {})


def test_no_python_is_told_as_ever(run):
    run("x = 1\n")
    with pytest.raises(SyntaxError):
        marking.compiled(b"x = (\n", "program.py", "program.py")


def test_code_that_is_nested_too_deeply_for_marks_has_none(tmp_path, run):
    run("x = 1\n")
    text = "".join(f"{' ' * depth}for _ in (1,):\n" for depth in range(20)) + " " * 20 + "x = 1\n"
    names = {}
    exec(marking.compiled(text.encode(), "program.py", "program.py"), names)
    assert names["x"] == 1


def test_a_ring_that_is_full_is_counted_and_begun_anew(run):
    rounds = executing.RING + 10
    program = f"for each in range({rounds}):\n    pass\nlast = 1\n"
    _, executed = run(program)
    (file,) = executed.files
    assert counts(executed, 1, 2, 3) == [1, rounds, 1]
    assert executed.is_whole and executed.events[-2:] == [Ran(file, 2), Ran(file, 1)]
    assert len(executed.events) == rounds + 2


def test_of_a_long_run_the_end_is_known(run):
    rounds = 3 * executing.RING
    _, executed = run(f"for each in range({rounds}):\n    pass\nlast = 1\n")
    assert counts(executed, 1, 2, 3) == [1, rounds, 1]
    assert not executed.is_whole and executing.RING < len(executed.events) <= 2 * executing.RING


def test_collectives_stand_between_statements(run):
    program = "import builtins\nx = 1\nbuiltins.met(0)\ny = 2\nbuiltins.waits()\nbuiltins.met(1)\nz = 3\n"
    builtins.met, builtins.waits = executing.collective, executing.synchronises
    try:
        _, executed = run(program)
    finally:
        del builtins.met, builtins.waits
    calls = [event for event in executed.events if isinstance(event, Called)]
    assert calls == [Called(0), Called(None), Called(1)]
    (file,) = executed.files
    assert [executed.calls_before(file, line) for line in (1, 3, 4, 6, 7)] == [0, 0, 1, 1, 2]


def test_what_a_handler_of_a_signal_raises_is_not_lost(run):
    names, _ = run("def f():\n    return 1\n")

    def handler(each):
        raise ValueError("of the script")

    setattr(builtins, executing.WRITE, handler)
    with pytest.raises(ValueError, match="of the script"):
        names["f"]()


@pytest.mark.torch
def test_the_datasets_library_takes_marked_functions_for_what_they_are(run):
    from datasets.fingerprint import Hasher
    from datasets.utils import _dill
    from dill import detect

    from trl_lint.verify.rank import pickling

    program = "def tokenize(row):\n    def inner(x):\n        return x\n    return inner(row)\n"
    plain = {"__name__": "program"}
    names, executed = run(program)
    (file,) = executed.files
    exec(compile(program, file, "exec", dont_inherit=True), plain)
    save = vars(_dill.Pickler)["save"]
    expected = Hasher.hash(plain["tokenize"])
    globalvars = detect.globalvars
    pickling.patch_hashing(_dill)
    pickling.patch_detect(detect)
    try:
        assert [Hasher.hash(each["tokenize"]) for each in (plain, names)] == [expected] * 2
    finally:
        _dill.Pickler.save, detect.globalvars = save, globalvars


HELPER = """\
def total(n):
    if n:
        return n
    return 0
"""
# A worker that the script forks reaches a line as well.
MAIN = """\
import os
from {module} import total

print(total(1))
if not (child := os.fork()):
    total(0)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.torch
@pytest.mark.parametrize("is_module", [False, True])
def test_modules_and_forks(launch, server, tmp_path, is_module, monkeypatch):
    package = tmp_path / "marked_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "helper.py").write_text(HELPER)
    (package / "main.py").write_text(MAIN.format(module="marked_package.helper"))
    (tmp_path / "main.py").write_text(MAIN.format(module="marked_package.helper"))
    # The server's folder is not that of the package.
    variables = dict(launch.environment)
    monkeypatch.setenv("PYTHONPATH", variables.get("PYTHONPATH", ""))
    script = "marked_package.main" if is_module else str(tmp_path / "main.py")
    main = str(package / "main.py") if is_module else script
    subject = Subject("main", script, tmp_path, is_module=is_module)
    if is_module:
        monkeypatch.chdir(tmp_path)
    judged = Session(launch, tmp_path / "traces", start=by_torchrun if is_module else server).judge(subject, "as it is")
    assert judged.ended_well, judged.verdicts
    for rank in judged.run.ranks:
        helper = str(package / "helper.py")
        assert [rank.executed.count(helper, line) for line in (1, 2, 3, 4)] == [1, 2, 1, 1]
        assert [rank.executed.count(main, line) for line in (4, 6, 8)] == [1, 1, 1]


def test_what_is_kept_survives_a_kill(tmp_path):
    child = os.fork()
    if not child:
        trace.current = trace.Trace(trace_path(str(tmp_path), 0))
        executing.keep(str(tmp_path), 0)
        path = tmp_path / "program.py"
        path.write_text("import os\nos.kill(os.getpid(), 9)\n")
        exec(marking.compiled(path.read_bytes(), str(path), str(path)), {})
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
    (rank,) = read_run(tmp_path, "").ranks
    assert counts(rank.executed, 1, 2) == [1, 1]
