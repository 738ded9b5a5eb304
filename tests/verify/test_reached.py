"""Lines that are watched: a run tells of those that it gets to, and nothing else of it changes."""

from __future__ import annotations

import textwrap

import pytest

from trl_lint.verify.proof.session import Session, Subject
from trl_lint.verify.rank import reached, trace
from trl_lint.verify.rank.job import Job
from trl_lint.verify.rank.trace import trace_path
from trl_lint.verify.record.traces import read_run


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a program with watched lines: what it has at its end, and the lines that were reached."""

    def made(text, *lines):
        path = str(tmp_path / "program.py")
        monkeypatch.setattr(trace, "current", trace.Trace(trace_path(str(tmp_path), 0)))
        reached.watch(Job("", (), str(tmp_path), "", watched={path: list(lines)}))
        names = {"__name__": "program"}
        exec(reached.compiled(textwrap.dedent(text).encode(), path, lines), names)
        (rank,) = read_run(tmp_path, "").ranks
        assert all(file == path for file, _ in rank.reached)
        return names, sorted(line for _, line in rank.reached)

    return made


def test_what_is_reached_is_told(run):
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
    """
    _, lines = run(program, 1, 3, 5, 7, 8, 9, 11, 13, 15, 17, 19)
    # Line 11 is reached where the function is called, which nobody does.
    assert lines == [1, 3, 7, 8, 9, 15, 17, 19]


def test_what_is_called_later_is_told_then(run):
    assert run("def g(): return 1\n", 1)[1] == []
    assert run("def g(): return 1\ng()\n", 1)[1] == [1]


def test_all_else_is_as_it_was(run):
    program = '''\
    """A docstring."""
    from __future__ import annotations
    import inspect, sys
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
    '''
    names, lines = run(program, 3, 7, 11, 13, 14)
    assert lines == [3, 7, 11, 14]
    assert names["__doc__"] == "A docstring." and names["f"].__doc__ == "Another one."
    assert names["C"].__doc__ == "A third one." and names["value"] == 7
    assert names["f"].__annotations__ == {"x": "nowhere"} and names["f"].__code__.co_firstlineno == 4


def test_a_line_that_is_none_is_never_reached(run):
    assert run("x = 1\n", 7)[1] == []


def test_another_process_runs_it_as_well(tmp_path):
    """A worker that is started anew knows of no watcher."""
    names = {}
    exec(reached.compiled(b"x = 1\n", "program.py", [1]), names)
    assert names["x"] == 1


def test_nothing_that_is_not_watched_is_touched(monkeypatch):
    monkeypatch.setattr(reached.ast, "parse", None)
    exec(reached.compiled(b"x = 1\n", "program.py", []), {})


def test_no_python_is_told_as_ever():
    with pytest.raises(SyntaxError):
        reached.compiled(b"x = (\n", "program.py", [1])


HELPER = """\
def total(n):
    if n:
        return n
    return 0
"""
# A worker of its own, which is forked, gets to a line as well.
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
    package = tmp_path / "reached_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "helper.py").write_text(HELPER)
    (package / "main.py").write_text(MAIN.format(module="reached_package.helper"))
    (tmp_path / "main.py").write_text(MAIN.format(module="reached_package.helper"))
    # The server's folder is not that of the package.
    variables = dict(launch.environment)
    monkeypatch.setenv("PYTHONPATH", variables.get("PYTHONPATH", ""))
    script = "reached_package.main" if is_module else str(tmp_path / "main.py")
    file = str(package / ("main.py" if is_module else "helper.py"))
    lines = (4, 6) if is_module else (3, 4)
    subject = Subject("main", script, tmp_path, is_module=is_module, watched={file: lines})
    if is_module:
        monkeypatch.chdir(tmp_path)
        from trl_lint.verify.proof.session import start as by_torchrun

        start = by_torchrun
    else:
        start = server
    judged = Session(launch, tmp_path / "traces", start=start).judge(subject, "as it is")
    assert judged.ended_well, judged.verdicts
    assert all(set(rank.reached) == {(file, line) for line in lines} for rank in judged.run.ranks)
