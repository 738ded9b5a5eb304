"""Modules are patched when they are imported, and some are loaded from a different text."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from contextlib import suppress

import pytest

from trl_lint.verify.rank import imports
from trl_lint.verify.rank.call_stack import UserFiles


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder on the import path; modules imported from it, and finders, are removed afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def seen(patched):
    """A patch that records which modules it was given, and what each contained by then."""
    return lambda module: patched.append((module.__name__, module.value))


def test_a_patch_runs_after_the_module_and_before_its_importer_goes_on(project):
    write(project, "vt_library.py", "value = 1\n")
    write(project, "vt_user.py", "from vt_library import value\n")

    def patch(module):
        module.value += 1

    imports.install({"vt_library": patch})
    assert importlib.import_module("vt_user").value == 2


def test_submodules_are_patched_and_their_packages_left_alone(project):
    write(project, "vt_package/__init__.py", "value = 0\n")
    write(project, "vt_package/inner/__init__.py", "value = 1\n")
    write(project, "vt_package/inner/deep.py", "value = 2\n")
    patched = []
    imports.install({"vt_package.inner.deep": seen(patched), "vt_package.absent": seen(patched)})
    importlib.import_module("vt_package.inner.deep")
    with suppress(ImportError):
        importlib.import_module("vt_package.absent")
    assert patched == [("vt_package.inner.deep", 2)]


def test_a_module_that_is_not_there_is_said_to_be_missing_as_ever(project):
    imports.install({"vt_missing": lambda module: None})
    with pytest.raises(ModuleNotFoundError, match="vt_missing"):
        importlib.import_module("vt_missing")


def test_what_is_asked_for_in_each_step_is_looked_for_once(project, monkeypatch):
    asked = []
    look = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: (asked.append(name), look(name))[1])
    finder = imports.Finder({"wanted": lambda module: None})
    finder.marked = UserFiles(str(project))
    assert [finder.find_spec(name) for name in ("not_there", "not_there", "wanted", "wanted")] == [None] * 4
    assert asked == ["not_there", "wanted", "wanted"]
    monkeypatch.syspath_prepend(str(project / "elsewhere"))
    assert finder.find_spec("not_there") is None
    assert asked[-1] == "not_there"


def test_a_module_that_fails_to_import_is_not_patched(project):
    write(project, "vt_broken.py", "value = 1\nraise ImportError('no')\n")
    patched = []
    imports.install({"vt_broken": seen(patched)})
    with pytest.raises(ImportError, match="no"):
        importlib.import_module("vt_broken")
    assert not patched


def test_another_text_runs_at_the_path_of_the_original(project):
    original = write(project, "vt_module.py", "value = 'original'\n")
    write(project, "data.txt", "beside")
    text = write(
        project / "copies",
        "vt_module.py",
        "from pathlib import Path\n\nvalue = Path(__file__).with_name('data.txt').read_text()\n\n"
        "def fail():\n    raise ValueError('in the copy')\n",
    )
    imports.install({}).sources[str(original)] = str(text)
    module = importlib.import_module("vt_module")
    assert (module.__file__, module.value) == (str(original), "beside")
    assert inspect.getsource(module.fail) == "def fail():\n    raise ValueError('in the copy')\n"
    try:
        module.fail()
    except ValueError:
        assert "    raise ValueError('in the copy')" in traceback.format_exc()


def test_no_compiled_file_is_read_or_left_for_another_text(project, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    original = write(project, "vt_module.py", "value = 'original'\n")
    assert importlib.import_module("vt_module").value == "original"
    compiled = {path: path.read_bytes() for path in project.rglob("*.pyc")}
    assert compiled
    del sys.modules["vt_module"]
    finder = imports.install({})
    finder.sources[str(original)] = str(write(project / "copies", "vt_module.py", "value = 'copy'\n"))
    assert importlib.import_module("vt_module").value == "copy"
    assert {path: path.read_bytes() for path in project.rglob("*.pyc")} == compiled


def test_another_text_is_patched_as_well(project):
    original = write(project, "vt_module.py", "value = 'original'\n")
    patched = []
    finder = imports.install({"vt_module": seen(patched)})
    finder.sources[str(original)] = str(write(project / "copies", "vt_module.py", "value = 'copy'\n"))
    importlib.import_module("vt_module")
    assert patched == [("vt_module", "copy")]


def test_a_link_to_a_file_with_another_text_is_that_file(project):
    original = write(project / "real", "vt_module.py", "value = 'original'\n")
    (project / "vt_module.py").symlink_to(original)
    imports.install({}).sources[str(original)] = str(write(project / "copies", "vt_module.py", "value = 'copy'\n"))
    assert importlib.import_module("vt_module").value == "copy"


@pytest.mark.parametrize("patches", [{}, {"vt_program": lambda module: None}])
def test_what_is_run_as_a_module_has_its_code_from_the_other_text(project, patches):
    original = write(project, "vt_program.py", "value = 'original'\n")
    copy = write(project / "copies", "vt_program.py", "value = 'copy'\n")
    imports.install(patches).sources[str(original)] = str(copy)
    names = {}
    exec(importlib.util.find_spec("vt_program").loader.get_code("vt_program"), names)
    assert names["value"] == "copy"
