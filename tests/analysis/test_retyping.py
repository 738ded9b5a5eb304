"""A function that is being edited: the analysis is resumed, with the same result as one from the start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trl_lint.analysis.program.project.partial_trees import functions_of
from trl_lint.analysis.program.project.project import Project
from trl_lint.analysis.program.project.reparsing import ChangedBody, reparsed
from trl_lint.analysis.program.project.structural_equality import same
from trl_lint.config import selection
from trl_lint.domain.provenance import Step
from trl_lint.linter.live_linter import LiveLinter
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parents[2] / "fixtures"
WANTED = selection(Settings(select=("ALL",)))
PROGRAMS = (
    "unreduced_metric/broken_preference.py",
    "item_before_gather/broken.py",
    "wrapped_model_attribute/broken_dpo.py",
    "unreduced_metric/broken_grpo.py",
    "wrong_device_collective/broken_evaluation.py",
)


def linted(path, text):
    """A linter that has analysed a text from the start, and its output."""
    source = text.encode()
    linter = LiveLinter(Settings(), (path.parent,), WANTED.rules, can_fix=False)
    linter.trees[path] = (source, reparsed(text, None))
    return linter, told(linter, path, text)


def told(linter, path, text):
    findings = linter.check(path, text.encode())
    return [(each.code, each.start, each.end, each.message, each.help, each.because) for each in findings]


def edits(text):
    """Texts in which one line of a body is missing, has a new line above it, or is partly typed."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        indentation = line[: len(line) - len(line.lstrip())]
        if len(indentation) < 8:
            continue
        for changed in ([], [f"{indentation}prin\n", line], [line.replace(".", ".x", 1)]):
            candidate = "".join((*lines[:number], *changed, *lines[number + 1 :]))
            try:
                compile(candidate, "", "exec")
            except SyntaxError:
                continue
            yield candidate


@pytest.mark.parametrize("step", [5, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_analysis_that_is_taken_up_says_what_a_new_one_says(name, step):
    """In every run after every fifth edit; after more of them it is slow."""
    path = FIXTURES / name
    text = path.read_text(encoding="utf-8")
    linter, first = linted(path, text)
    taken_up = 0
    for edited in list(edits(text))[::step]:
        if not linter.update(path, edited.encode()):
            linter = linted(path, text)[0]
            continue
        taken_up += 1
        assert told(linter, path, edited) == linted(path, edited)[1]
        if linter.update(path, text.encode()):
            assert told(linter, path, text) == first
        else:
            linter = linted(path, text)[0]
    assert taken_up or "evaluation" in name  # it returns something that a library gathers


TRAINER = """from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = self.scaled(model(**inputs).loss)
        return loss

    def scaled(self, loss):
        scale = 2
        return loss * scale

    def log(self, logs):
        super().log(logs)
"""


def test_a_note_at_a_class_stays_when_a_method_of_it_is_typed_again_and_again():
    """What `log` of a library class logs is noted at the class, whose node is another one after each change."""
    path = FIXTURES / "unreduced_metric" / "broken_grpo.py"
    text = path.read_text(encoding="utf-8")
    linter, first = linted(path, text)
    assert any("is logged here" in each.text for each in first[0][-1])
    line = "        repeats = "
    for typed in ("        prin\n", "        print\n", ""):
        edited = text.replace(line, typed + line)
        assert linter.update(path, edited.encode())
        assert told(linter, path, edited) == linted(path, edited)[1]


def test_what_changes_for_others_asks_for_a_new_analysis(tmp_path):
    path = tmp_path / "trainer.py"
    linter, _ = linted(path, TRAINER)
    assert linter.update(path, TRAINER.replace("scale = 2", "scale = 2\n        x").encode())
    assert linter.update(path, TRAINER.encode())
    assert not linter.update(
        path, TRAINER.replace("return loss * scale", "return self.accelerator.gather(loss)").encode()
    )


@pytest.mark.parametrize(
    "edited",
    [
        TRAINER.replace("log(self, logs)", "log(self, logs, *args)"),
        TRAINER.replace("scale = 2", "scale = 3").replace("super().log(logs)", "super().log({})"),
        TRAINER + "\n\ndef more():\n    pass\n",
        TRAINER.replace("scale = 2", "scale = ("),
    ],
)
def test_only_one_body_may_change(tmp_path, edited):
    path = tmp_path / "trainer.py"
    linter, _ = linted(path, TRAINER)
    assert not linter.update(path, edited.encode())


def test_a_tree_shares_the_nodes_of_what_has_the_same_text():
    before = reparsed(TRAINER, None)
    after = reparsed(TRAINER.replace("scale = 2", "scale = 3"), before)
    assert after.code == TRAINER.replace("scale = 2", "scale = 3")
    bodies = [{each.name.value: each.body.body[0] for each in functions_of(tree.body)} for tree in (before, after)]
    assert [name for name in bodies[0] if bodies[0][name] is not bodies[1][name]] == ["scaled"]
    assert reparsed("def f(:\n", None) is None


def test_a_changed_body_keeps_the_nodes_of_its_other_statements(tmp_path):
    path = tmp_path / "trainer.py"
    project = Project((tmp_path,))
    project.trees[path] = (TRAINER.encode(), reparsed(TRAINER, None))
    module = project.add(path, TRAINER, TRAINER.encode())
    edited = TRAINER.replace("return loss * scale", "x\n        return loss * scale")
    change = ChangedBody.between(module, edited.encode())
    assert change.tree.code == edited
    old, new = change.function.body.body, change.new.body.body
    assert len(new) == len(old) + 1 and new[0] is old[0] and new[-1] is old[-1]


def test_things_are_the_same_if_all_that_they_hold_is():
    step = Step(None, None, "here", Step(None, None, "there"))
    assert same(step, Step(None, None, "here", Step(None, None, "there")))
    assert not same(step, Step(None, None, "here", Step(None, None, "elsewhere")))
    assert same({"a": [1, (step,)]}, {"a": [1, (step,)]}) and not same({"a": 1}, {"b": 1}) and not same([1], (1,))
    assert not same(reparsed("x = 1\n", None), reparsed("x = 1\n", None))


BACKEND = """import torch
import torch.distributed as dist


def setup():
    dist.init_process_group("gloo")


def work():
    x = torch.zeros(3)
    dist.all_reduce(x)


def main():
    setup()
    work()
"""
VARIABLE = """import os
import torch.distributed as dist


def setup():
    os.environ["CHOSEN"] = str(dist.get_rank())


def work():
    with open(os.environ["CHOSEN"], "w") as file:
        file.write("done")


def main():
    dist.init_process_group("nccl")
    setup()
    work()
"""
FLAG = """import torch
import torch.distributed as dist


def setup(args):
    if args.spread:
        dist.init_process_group("nccl")


def work(args, x):
    if not args.spread:
        torch.save(x, "x.pt")


def main(args, x):
    setup(args)
    work(args, x)
"""
REFUSED = """import torch
from accelerate import Accelerator


class Refused(Exception):
    pass


class Net(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 3:
            raise ValueError
        return x


def main(loader, model):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        try:
            loss = model(batch)
            accelerator.backward(loss)
        except Refused:
            continue
"""


@pytest.mark.parametrize("is_undone", [False, True])
@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (BACKEND, '"gloo"', '"nccl"'),
        (VARIABLE, "str(dist.get_rank())", '"0"'),
        (FLAG, "if args.spread:", "if args.other:"),
        (REFUSED, "raise ValueError", "raise Refused"),
    ],
)
def test_what_a_function_tells_of_its_file_asks_for_a_new_analysis(tmp_path, text, old, new, is_undone):
    path = tmp_path / "program.py"
    edited = text.replace(old, new)
    before, after = (edited, text) if is_undone else (text, edited)
    linter, first = linted(path, before)
    assert first != linted(path, after)[1]
    assert not linter.update(path, after.encode())


@pytest.mark.parametrize("text", [BACKEND, VARIABLE, FLAG])
def test_what_tells_the_same_of_its_file_does_not(tmp_path, text):
    path = tmp_path / "program.py"
    linter, first = linted(path, text)
    edited = re.sub(r"(def setup.*\n)", r"\1    prin\n", text)
    assert linter.update(path, edited.encode())
    assert [each[0] for each in told(linter, path, edited)] == [each[0] for each in first]


CALLED = """\
import accelerate


def write(rows, accelerator):
    if rows:
        total = accelerator.gather(rows)
        open("rows.txt", "w").write(str(total))
        print(rows.mean().item())
"""
CALLER = """\
from accelerate import Accelerator
from program import write

accelerator = Accelerator()
model, loader = accelerator.prepare(model, loader)
for batch in loader:
    write(model(batch).loss, accelerator)
"""


def test_what_others_find_in_a_file_is_found_in_its_new_texts(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "caller.py").write_text(CALLER)
    path = tmp_path / "program.py"
    path.write_text(CALLED)
    linter, first = linted(path, CALLED)
    assert [each[0] for each in first] == ["TRL006", "TRL008"]
    taken_up = 0
    for edited in edits(CALLED):
        if linter.update(path, edited.encode()):
            taken_up += 1
            assert told(linter, path, edited) == linted(path, edited)[1]
        linter = linted(path, CALLED)[0]
    assert taken_up > 3
