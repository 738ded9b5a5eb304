"""Which lines of a stack are told."""

from __future__ import annotations

import os
import sysconfig

import pytest

from trl_lint.verify.rank import places

ROOT = "/home/me/project"
USER = (f"{ROOT}/train.py", 3, "main")
HELPER = (f"{ROOT}/lib/dist.py", 9, "mean")
SITE = "/venv/lib/python3.11/site-packages"
TORCH = (f"{SITE}/torch/distributed/distributed_c10d.py", 100, "all_reduce")
ACCELERATE = (f"{SITE}/accelerate/accelerator.py", 2, "gather")
TRAINER = (f"{SITE}/transformers/trainer.py", 50, "log")
PYTHON = (os.path.join(sysconfig.get_path("stdlib"), "runpy.py"), 1, "run_path")
FROZEN = ("<frozen importlib._bootstrap>", 5, "_load")
RECORDER = (places.__file__, 1, "here")
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
    assert places.telling(stack, ROOT) == told


def test_a_folder_whose_name_begins_like_the_project_is_another():
    other = (f"{ROOT}-old/train.py", 1, "f")
    assert places.telling([other, USER], ROOT) == [other, USER]


def test_an_interpreter_inside_the_project_is_not_the_users_own(monkeypatch):
    stdlib = f"{ROOT}/env/lib/python3.11"
    monkeypatch.setattr(places, "_PYTHON", (stdlib,))
    for each in (places.is_carrier, places.is_own):
        monkeypatch.setattr(places, each.__name__, each.__wrapped__)
    assert places.telling([(f"{stdlib}/threading.py", 1, "wait"), USER], ROOT) == [USER]


def test_an_exception_is_told_from_its_innermost_line():
    def inner():
        raise ValueError

    try:
        inner()
    except ValueError as error:
        stack = places.stack_of_error(error.__traceback__)
    assert [place[2] for place in stack] == ["inner", "test_an_exception_is_told_from_its_innermost_line"]
    assert stack[0][1] == inner.__code__.co_firstlineno + 1


def test_here_is_the_line_of_the_callers_caller():
    def wrapper():
        return places.here(os.path.dirname(__file__))

    def user():
        return wrapper()

    ((file, line, function),) = user()
    assert (file, line, function) == (__file__, user.__code__.co_firstlineno + 1, "user")
