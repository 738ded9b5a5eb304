"""The comparison with other tools: how an output is judged, and how the page shows it."""

from __future__ import annotations

import json
import sys

import pytest

from evaluation.compared import __main__ as command
from evaluation.compared import cases, page, started, tools
from evaluation.compared.cases import NAMES, PROGRAMS, Case
from evaluation.compared.judging import Said, judge, pieces, spoken
from evaluation.compared.tools import RECORDER, TOOLS, TORCHRUN, VERIFY, Limits

HANGS = Case("hangs", "A hang: of two ranks", 5, {0: 7, 1: 9})
RAISES = Case("raises", "An exception: of one rank", 5, {1: 5})
TRACEBACK = """[rank1]: Traceback (most recent call last):
[rank1]:   File "/x/raises.py", line 5, in <module>
[rank1]: ValueError: no rows
[rank0]: RuntimeError: Connection closed by peer [127.0.0.1]:2048
"""
REPORT = (
    "| ends | **no** | they wait<br>rank 0: waits in barrier at hangs.py:7 (\\<module\\>)"
    "<br>rank 1: waits in all\\_gather at hangs.py:9 (f)<br>called from hangs.py:5 (main) |"
)
STACK = "error msg: Culprit rank 0; Error type: COLLECTIVE_TYPE_MISMATCH\ncount at /x/hangs.py:9\n"


def told(case, output, status: int | None = 1):
    return page.cell(case, judge(case, Said(output, status)))


class TestTheCases:
    def test_each_program_is_listed_and_marks_what_is_looked_for(self):
        assert sorted(NAMES) == sorted(path.stem for path in PROGRAMS.glob("*.py"))
        for case in cases.cases():
            assert case.title.count(":") == 1 or case.is_right
            assert bool(case.cause) is not case.is_right
            assert set(case.shows) <= {0, 1}

    def test_a_program_with_two_causes_is_none(self, tmp_path, monkeypatch):
        (tmp_path / "two.py").write_text('"""A: b."""\nx = 1  # cause\ny = 2  # cause\n')
        monkeypatch.setattr(cases, "PROGRAMS", tmp_path)
        with pytest.raises(ValueError):
            cases.read("two")


class TestWhatIsTold:
    def test_a_traceback_names_a_rank_and_its_line(self):
        assert told(RAISES, TRACEBACK) == "cause, rank 1"

    def test_a_report_names_the_line_of_each_rank(self):
        assert told(HANGS, REPORT) == "cause, ranks 0, 1"

    def test_a_stack_of_nobody_in_particular_is_a_line(self):
        assert told(HANGS, STACK) == "apart, line"

    def test_the_line_of_another_rank_is_not_that_of_this_one(self):
        assert told(HANGS, "rank 0: at hangs.py:9 (f)") == "line"

    @pytest.mark.parametrize(
        ("status", "output", "said"),
        [
            (1, "Connection reset by peer", "error"),
            (0, "all is well", "nothing"),
            (None, "", "hangs"),
            (None, "rank 1: hangs.py:9", "hangs; rank 1"),
        ],
    )
    def test_an_end_without_a_name(self, status, output, said):
        assert told(HANGS, output, status) == said

    def test_other_files_and_other_lines_are_none_of_it(self):
        assert told(RAISES, 'File "raises.py", line 55\nfraises.py:5\nraises.py:50\n') == "error"

    def test_what_is_said_always_is_nothing(self):
        assert spoken("tabulate is not installed. Proceeding without it.\n\n") == ""

    def test_pieces_carry_their_ranks_on_a_line_alone(self):
        text = "| ends | no | ranks 0, 1: TypeError<br>at raises.py:5 |\nat raises.py:5"
        assert [ranks for ranks, _ in pieces(text)] == [(0, 1), (0, 1), ()]


class TestThePage:
    def compared(self):
        return [(RAISES, {TORCHRUN: Said(TRACEBACK, 1), RECORDER: Said("", 0), VERIFY: Said(REPORT, 1)})]

    def test_the_table(self):
        lines = list(page.table(self.compared()))
        assert lines[0] == f"| program | {' | '.join(TOOLS)} |"
        assert lines[2] == "| An exception | cause, rank 1 |  |  | nothing |  |  | error |"
        assert "| names the cause | 1 | 0 | 0 | 0 | 0 | 0 | 0 |" in lines

    def test_quotes_are_without_what_is_of_this_machine(self):
        assert page.quote(Said(TRACEBACK, 1)) == "rank 1: ValueError: no rows"
        assert page.quote(Said("[rank0]: RuntimeError: peer [127.0.0.1]:2048 left", 1)).endswith("peer 127.0.0.1 left")
        assert page.quote(Said(REPORT, 1)).startswith(
            "ends: they wait; rank 0: waits in barrier at hangs.py:7 (<module>)"
        )
        assert page.quote(Said("all is well", 0)) == ""
        assert page.cleaned('File "/opt/venv/site-packages/torch/x.py", line 1') == 'File "torch/x.py", line 1'

    def test_the_whole_page(self):
        text = page.page(self.compared(), "nothing of the program", Limits(8, 60))
        assert "## Versions" in text and "time out after 8 seconds" in text and "{" not in text.partition("## What")[0]

    def test_a_tool_that_fails_the_control_is_named(self):
        control = (Case("right", "A right program", 0, {}), {TORCHRUN: Said("", 0), RECORDER: Said("Signal 11", 1)})
        assert page.unfit([control, *self.compared()]) == [RECORDER]
        assert "Of 1 broken programs:\n" in list(page.table([control, *self.compared()]))

    def test_another_tool_that_names_more_is_told(self):
        assert list(command.better(self.compared())) == [f"raises ({TORCHRUN})"]


class TestTheCommand:
    def test_what_is_kept_is_not_run_again(self, tmp_path, monkeypatch, capsys):
        started_ = []

        def run(case, tool, limits):
            started_.append(tool)
            return {name: Said(TRACEBACK.replace("raises", case.name), 1) for name in (tool,)}

        monkeypatch.setattr(tools, "run", run)
        for _ in range(2):
            assert command.main(["--only", "one_raises", "--keep", str(tmp_path)]) == 0
        assert started_ == list(command.STARTED)
        assert "another tool names more: none" in capsys.readouterr().out

    def test_a_command_is_stopped_at_its_limit(self, tmp_path):
        program = "import time; print('begun', flush=True); time.sleep(600)"
        said = tools.command_said([sys.executable, "-c", program], tmp_path, 0.01, tools._environment())
        assert said.status is None

    def test_the_one_group_that_has_no_name_gets_it(self):
        dump = {"entries": [{"process_group": ("0", "default_pg")}], "pg_config": {"": {"name": "", "ranks": "[0]"}}}
        named = {"name": "0", "desc": "default_pg", "ranks": "[0]"}
        assert started.with_its_group(dump)["pg_config"] == {"0": named}
        nccl = {**dump, "pg_config": {"0": named}}
        assert started.with_its_group(nccl) == nccl
        assert json.dumps(dump)  # unchanged
