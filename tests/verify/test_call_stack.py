"""Which lines of a stack are reported."""

from __future__ import annotations

import os
import sysconfig

import pytest

from trl_lint.verify.rank import call_stack

ROOT = "/home/me/project"
USER = (f"{ROOT}/train.py", 3, "main")
HELPER = (f"{ROOT}/lib/dist.py", 9, "mean")
SITE = "/venv/lib/python3.11/site-packages"
TORCH = (f"{SITE}/torch/distributed/distributed_c10d.py", 100, "all_reduce")
ACCELERATE = (f"{SITE}/accelerate/accelerator.py", 2, "gather")
TRAINER = (f"{SITE}/transformers/trainer.py", 50, "log")
PYTHON = (os.path.join(sysconfig.get_path("stdlib"), "runpy.py"), 1, "run_path")
FROZEN = ("<frozen importlib._bootstrap>", 5, "_load")
RECORDER = (call_stack.__file__, 1, "here")
# A virtual environment, and an interpreter with its library, inside the project.
VENV = (f"{ROOT}/.venv/lib/python3.11/site-packages/torch/x.py", 1, "f")


@pytest.mark.parametrize(
    ("stack", "told"),
    [
        ([TORCH, USER, PYTHON], [USER]),
        ([RECORDER, TORCH, ACCELERATE, HELPER, USER], [HELPER]),
        ([TORCH, TRAINER, USER], [TRAINER, USER]),
        ([FROZEN, VENV, PYTHON, USER], [USER]),
        ([TORCH, TRAINER], [TRAINER]),
        ([TORCH, PYTHON, FROZEN], []),
        ([], []),
    ],
)
def test_told_is_who_asks_and_the_users_own_line(stack, told):
    assert call_stack.relevant(stack, call_stack.UserFiles(ROOT)) == told


@pytest.mark.parametrize("package", ["mine", "torch", "trl_lint/fixtures"])
def test_a_program_that_is_installed_is_the_users_own(package):
    """The fixtures are, once the package is installed: whatever it is called, the modules next to them are not."""
    user, helper = ((f"{SITE}/{package}/{name}.py", 3, "main") for name in ("train", "helper"))
    own = call_stack.UserFiles(f"{SITE}/{package}")
    assert call_stack.relevant([helper, user], own) == [helper]
    assert call_stack.relevant([ACCELERATE, TRAINER, user], own) == [TRAINER, user]
    assert call_stack.relevant([TRAINER], own) == [TRAINER]


def test_files_that_are_named_are_the_users_own_wherever_they_lie():
    named = (f"{SITE}/trl/trainer/dpo_trainer.py", 7, "log")
    stack = [TORCH, TRAINER, named, USER]
    assert call_stack.relevant(stack, call_stack.UserFiles(ROOT)) == [TRAINER, USER]
    assert call_stack.relevant(stack, call_stack.UserFiles(ROOT, [named[0]])) == [TRAINER, named]


def test_a_script_among_what_is_installed_is_the_users_own_and_nothing_beside_it():
    script = (f"{SITE}/train.py", 3, "main")
    assert call_stack.relevant([TORCH, TRAINER, script], call_stack.UserFiles(SITE, [script[0]])) == [TRAINER, script]


def test_a_program_within_the_library_of_python_is_the_users_own(monkeypatch):
    """If Python is not in a virtual environment, packages are installed below its own library."""
    monkeypatch.setattr(call_stack, "_PYTHON", ("/usr/lib/python3.11",))
    monkeypatch.setattr(call_stack, "is_carrier", call_stack.is_carrier.__wrapped__)
    fixture = ("/usr/lib/python3.11/site-packages/trl_lint/fixtures/rule/broken.py", 3, "main")
    thread = ("/usr/lib/python3.11/threading.py", 3, "run")
    assert call_stack.relevant(
        [thread, fixture], call_stack.UserFiles(os.path.dirname(os.path.dirname(fixture[0])))
    ) == [fixture]


def test_a_folder_whose_name_begins_like_the_project_is_another():
    other = (f"{ROOT}-old/train.py", 1, "f")
    assert call_stack.relevant([other, USER], call_stack.UserFiles(ROOT)) == [other, USER]


def test_an_interpreter_inside_the_project_is_not_the_users_own(monkeypatch):
    stdlib = f"{ROOT}/env/lib/python3.11"
    monkeypatch.setattr(call_stack, "_PYTHON", (stdlib,))
    monkeypatch.setattr(call_stack, "is_carrier", call_stack.is_carrier.__wrapped__)
    assert call_stack.relevant([(f"{stdlib}/threading.py", 1, "wait"), USER], call_stack.UserFiles(ROOT)) == [USER]


def test_an_exception_is_told_from_its_innermost_line():
    def inner():
        raise ValueError

    try:
        inner()
    except ValueError as error:
        stack = call_stack.of_error(error.__traceback__)
    assert [place[2] for place in stack] == ["inner", "test_an_exception_is_told_from_its_innermost_line"]
    assert stack[0][1] == inner.__code__.co_firstlineno + 1


def test_here_is_the_line_of_the_callers_caller():
    def wrapper():
        return call_stack.current(call_stack.UserFiles(os.path.dirname(__file__)))

    def user():
        return wrapper()

    ((file, line, function),) = user()
    assert (file, line, function) == (__file__, user.__code__.co_firstlineno + 1, "user")
