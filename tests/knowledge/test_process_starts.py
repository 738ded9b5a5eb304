"""The functions that start processes are in one table, and the search in a file's bytes covers all of it."""

from __future__ import annotations

import pytest

from trl_lint.knowledge import engines, mentions
from trl_lint.knowledge.engines import SPAWN_WORDS, SPAWNS
from trl_lint.knowledge.process_starts import START_PROCESSES, STARTS

# It usually starts other programs, whose own commands say which ranks they create.
OTHER_PROGRAMS = {"Popen"}


@pytest.mark.parametrize("name", sorted(START_PROCESSES - OTHER_PROGRAMS))
def test_what_starts_processes_is_found_in_a_text(name):
    code = f"    {name}(main)\n".encode()
    assert SPAWNS.search(code)
    assert any(word in code for word in SPAWN_WORDS)


@pytest.mark.parametrize("code", ['f"--rank={i}"', '"--local_rank={}".format(i)', '"--local-rank=" + str(i)'])
def test_a_rank_that_a_program_is_given_is_found_in_a_text(code):
    assert SPAWNS.search(code.encode())
    assert any(word in code.encode() for word in SPAWN_WORDS)


@pytest.mark.parametrize("name", [row.name for row in STARTS])
def test_what_sets_up_several_processes_mentions_a_library_for_them(name):
    assert any(word in name.encode() for word in mentions.LIBRARIES)


@pytest.mark.parametrize("command", ["-m main", "-u -m main", "-um main", "-W ignore -u -m main", "-u main.py"])
def test_a_program_that_python_starts_is_found_in_a_text(command):
    assert engines.STARTS.search(f"srun python {command} \\\n    seed=1\n".encode())


@pytest.mark.parametrize("command", ["-c 'import m '", "--version", "-V", "-"])
def test_python_itself_is_no_program(command):
    assert not engines.STARTS.search(f"python {command}\n".encode())
