"""However a run ends: one line, an exit code that says so, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CODE = """from accelerate import Accelerator

accelerator = Accelerator()


def main(loader):
    for batch in accelerator.prepare(loader):
        accelerator.gather(batch["x"].sum().item())
"""
# Loaded before the program: it counts the imports and sends a signal at one of them, or when the interpreter exits.
AT_AN_IMPORT = """
import os, signal, sys
state = {"count": 0}
def hook(event, args):
    if event == "import" and "trl_lint.linter.ending" in sys.modules and not state.get("over"):
        state["count"] += 1
        if state["count"] == int(os.environ["AT"]):
            os.kill(os.getpid(), signal.SIGINT)
        with open(os.environ["COUNTED"], "w") as file:
            file.write(str(state["count"]))
sys.addaudithook(hook)
import atexit
atexit.register(lambda: state.update(over=True))
"""
AT_THE_END = """
import atexit, os, signal, sys
class Last:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)
if os.environ["AT"] == "atexit":
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
else:
    sys.last = Last()
"""
# As in a terminal: processes that a shell starts in the background ignore interrupts, and so do their children.
LISTENING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
HERE = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text(CODE)
    return tmp_path


def run(folder: Path, hook: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The result of a run with a hook in its interpreter."""
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(LISTENING + hook)
    paths = os.pathsep.join([str(hooks), str(HERE)])
    environment = os.environ | {"PYTHONPATH": paths, "COUNTED": str(folder / "counted"), **environment}
    command = [sys.executable, "-m", "trl_lint", "--no-cache", *args]
    return subprocess.run(command, cwd=folder / "project", env=environment, capture_output=True, text=True, check=False)


def test_an_interrupt_at_any_import_is_one_line(folder):
    assert run(folder, AT_AN_IMPORT, AT="0").returncode == 1
    count = int((folder / "counted").read_text())
    assert count > 100
    for place in (1, 3, *range(8, count, max(count // 3, 1)), count):
        done = run(folder, AT_AN_IMPORT, AT=str(place))
        assert (done.returncode, done.stderr) == (130, "trl-lint: interrupted\n"), place


@pytest.mark.parametrize("moment", ["atexit", "teardown"])
def test_an_interrupt_when_all_is_done_is_no_traceback(folder, moment):
    done = run(folder, AT_THE_END, AT=moment)
    assert "Traceback" not in done.stderr
    # Once Python has restored the signal handlers, the signal itself ends the process.
    assert (done.returncode, done.stderr) in ((130, "trl-lint: interrupted\n"), (-signal.SIGINT, ""))
    assert "Found 1 finding" in done.stdout


def test_an_interrupt_that_is_to_be_ignored_is(folder):
    hook = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + AT_AN_IMPORT
    assert run(folder, hook, AT="50").returncode == 1


def test_a_command_with_processes_of_its_own_gets_an_exception(folder):
    hook = """
    import sys
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "trl_lint.verify.reports":  # imported once the command runs
                import os, signal
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                except KeyboardInterrupt:
                    print("told", file=sys.stderr)
                    raise
    sys.meta_path.insert(0, Finder())
    """
    done = run(folder, textwrap.dedent(hook), "verify", "TRL001")
    assert "Traceback" not in done.stderr
    assert done.returncode != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_while_it_writes_leaves_nothing(folder, number):
    hook = f"""
    import os
    replace = os.replace
    def ended(source, target, **options):
        if str(target).endswith("train.py"):
            os.kill(os.getpid(), {int(number)})
        return replace(source, target, **options)
    os.replace = ended
    """
    done = run(folder, textwrap.dedent(hook), "--fix")
    assert done.returncode == (130 if number == signal.SIGINT else -signal.SIGTERM)
    assert os.listdir(folder / "project") == ["train.py"]
    assert (folder / "project" / "train.py").read_text() == CODE


# Streams that do not exist


def shell(folder: Path, redirect: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = f'exec "{sys.executable}" -m trl_lint --no-cache --isolated "$@" {redirect}'
    return subprocess.run(
        ["sh", "-c", command, "sh", *args], cwd=folder / "project", capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> str:
    """What is said of the code where nothing is closed."""
    folder = tmp_path_factory.mktemp("usual")
    (folder / "project").mkdir()
    (folder / "project" / "train.py").write_text(CODE)
    return shell(folder, "").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no shell")
@pytest.mark.parametrize("redirect", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_closed_stream_changes_nothing_else(folder, redirect, usual):
    closed = shell(folder, redirect)
    assert (closed.returncode, closed.stderr) == (1, "")
    assert closed.stdout == ("" if ">&-" in redirect.split() else usual)
    assert shell(folder, redirect, "--fix").returncode == 0
    assert (folder / "project" / "train.py").read_text() != CODE


def test_a_closed_standard_input_is_not_an_empty_file(folder):
    done = shell(folder, "<&-", "-")
    assert (done.returncode, done.stderr) == (2, "trl-lint: cannot read standard input: it is closed\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_behind_standard_output_is_said(folder):
    done = shell(folder, ">/dev/full")
    assert (done.returncode, done.stderr) == (2, "trl-lint: cannot write the report: no space left on device\n")


# Packages that are not installed


@pytest.mark.parametrize("missing", ["click", "libcst", "tree_sitter"])
@pytest.mark.parametrize("command", ["trl_lint", "flake8"])
def test_a_package_that_is_missing_is_said_once(folder, command, missing):
    if (command, missing) == ("flake8", "click"):
        pytest.skip("it asks for no click")
    project = folder / "project"
    for name in ("again.py", "run.sh"):
        (project / name).write_text(CODE if name.endswith(".py") else "python train.py\n")
    start = {"trl_lint": "from trl_lint.__main__ import main", "flake8": "from flake8.__main__ import main"}[command]
    options = {"trl_lint": ["--no-cache", "--isolated"], "flake8": ["--select=TRL", "-j1"]}[command]
    program = f"import sys\nsys.modules[{missing!r}] = None\nsys.argv = [{command!r}, *{options}, '.']\n{start}\n"
    program += "sys.exit(main())\n"
    shown = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=False)
    said = f"trl-lint: cannot run: `{missing}` is not installed; reinstall trl-lint to get it"
    assert shown.returncode != 0
    assert (shown.stdout + shown.stderr).splitlines()[-1] == said
    assert "Traceback" not in shown.stderr and shown.stderr.count("trl-lint:") <= 1
