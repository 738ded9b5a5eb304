"""Changes that keep a program's meaning keep its verdict.

In the programs `«expression | names»` is an expression that uses these local names; each neutral step moves it
somewhere else. Findings must start on the lines marked `# finds: CODE` (or several), and on no others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest

from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

MARK = re.compile(r"# finds: (?P<codes>TRL\d+(, TRL\d+)*)$")
MOVED = re.compile(r"«(?P<expression>[^|»]+?)(?: \| (?P<names>[\w, ]+))?»")
HELPERS = "# helpers"

PROGRAMS = {
    "loop": '''\
import torch
import wandb
from accelerate import Accelerator
from accelerate.utils import gather
from torch.utils.data import DataLoader
# helpers


def main(args, dataset):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(torch.nn.Linear(2, 2), DataLoader(dataset))
    for batch in loader:
        loss = «model(batch["x"]).mean() | model, batch»
        number = «loss.item() | loss»
        wrong = accelerator.gather_for_metrics(number)  # finds: TRL001
        also_wrong = gather(«float(loss) | loss»)  # finds: TRL001
        right = accelerator.gather_for_metrics(«loss.detach() | loss»).mean().item()
        accelerator.log({"loss": «loss.item() | loss»})  # finds: TRL003
        accelerator.log({"loss": «right * 2 | right»})
        wandb.log({"size": «len(batch["x"]) | batch»})  # finds: TRL003, TRL008
        wandb.log({"rate": «args.learning_rate | args»})  # finds: TRL008
        size = «model | model».config  # finds: TRL002
        bare = accelerator.unwrap_model(model)
        size = «bare.config | bare»
''',
    "trainer": '''\
from transformers import Trainer
# helpers


class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = «outputs.loss | outputs»
        accuracy = «(outputs.logits.argmax(-1) == inputs["labels"]).float().mean() | outputs, inputs»
        self.log({"accuracy": «accuracy.item() | accuracy»})  # finds: TRL003
        reduced = self.accelerator.gather(«accuracy.detach() | accuracy»).mean()
        self.log({"accuracy": «reduced.item() | reduced»})
        counted = self._nested_gather(«accuracy.item() | accuracy»)  # finds: TRL001
        wrapped = «model | model»
        if wrapped.config.is_encoder_decoder:  # finds: TRL002
            loss = loss * 2
        if «self.model | self».config.is_encoder_decoder:
            loss = loss * 2
        return loss
''',
    "store": '''\
from collections import defaultdict

from trl import GRPOTrainer, SFTTrainer
# helpers


class Groups(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        mode = "train" if model.training else "eval"
        advantages = «inputs["advantages"].float() | inputs»
        self._metrics[mode]["advantage"].append(«advantages.mean().item() | advantages»)  # finds: TRL003
        all_advantages = self.accelerator.gather(«advantages.mean() | advantages»)
        self._metrics[mode]["advantage"].append(«all_advantages.mean().item() | all_advantages»)
        self._metrics[mode]["beta"].append(«self.args.beta | self»)
        return advantages.mean()


class Supervised(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        metrics = {"own": «loss.item() | loss»}  # finds: TRL003
        self.log(metrics)
        return loss
''',
    "script": '''\
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
# helpers


def main(dataset, module):
    model = DistributedDataParallel(module)
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    total = torch.zeros(1)
    for batch in loader:
        loss = «model(batch).loss | model, batch»
        total += «loss.detach() | loss»
        wandb.log({"loss": «loss.item() | loss»})  # finds: TRL003, TRL008
        value = «loss.detach().clone() | loss»
        dist.all_reduce(value)
        wandb.log({"loss": «value.item() / dist.get_world_size() | value»})  # finds: TRL008
        number = «loss.item() | loss»
        dist.all_reduce(number)  # finds: TRL001
    wandb.log({"total": «total.item() | total»})  # finds: TRL003, TRL008
    dist.all_reduce(total)
    wandb.log({"total": «total.item() | total»})  # finds: TRL008
''',
    "preference": '''\
from trl import DPOTrainer
# helpers


class Preference(DPOTrainer):
    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        loss, metrics = super().get_batch_loss_metrics(model, batch, train_eval)
        margin = «batch["margin"].float() | batch»
        metrics["margin"] = «margin.mean().item() | margin»  # finds: TRL003
        metrics["gathered"] = self.accelerator.gather(«margin.mean() | margin»).mean().item()
        metrics["count"] = «len(margin) | margin»  # finds: TRL003
        metrics["weight"] = «self.beta | self»
        prefix = «"eval_" if train_eval == "eval" else "" | train_eval»
        metrics[f"{prefix}spread"] = «margin.std().cpu() | margin»  # finds: TRL003
        return loss, metrics
''',
    "evaluation": '''\
import evaluate
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
# helpers


def run(model, dataset, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(dataset))
    losses, correct = [], 0
    for batch in loader:
        with torch.no_grad():
            outputs = «model(**batch) | model, batch»
        predictions = «outputs.logits.argmax(dim=-1) | outputs»
        predictions, labels = accelerator.gather_for_metrics((predictions, batch["labels"]))
        correct += «(predictions == labels).sum().item() | predictions, labels»
        losses.append(«outputs.loss.item() | outputs»)
    accelerator.log({"accuracy": «correct / len(dataset) | correct, dataset»})
    mean = «sum(losses) / len(losses) | losses»
    accelerator.log({"loss": mean})  # finds: TRL003
''',
    "effects": '''\
import os

import torch
import wandb
from accelerate import Accelerator
from torch.utils.data import DataLoader
# helpers


def main(args, dataset):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(torch.nn.Linear(2, 2), DataLoader(dataset))
    folder = «"samples"»
    os.makedirs(«folder + "/images" | folder»)  # finds: TRL008
    os.makedirs(«folder + "/images" | folder», exist_ok=True)
    for step, batch in enumerate(loader):
        if «accelerator.is_main_process | accelerator»:
            wandb.log({"step": step})
        if «step % 10 == 0 | step» and not «accelerator.is_local_main_process | accelerator»:
            wandb.log({"step": step})
        if «step % 10 == 0 | step»:
            wandb.log({"step": step})  # finds: TRL008
        if «step % 10 == 0 | step» and «wandb.run» is not None:
            wandb.log({"step": step})  # finds: TRL008
''',
}  # fmt: skip

# A step takes a program and returns the new program (and the text of its second file, if it has one).
Step = Callable[[str], tuple[str, str]]


# --- neutral steps on the marked expressions ------------------------------------------------------------


def _each(program: str, form: Callable[[str, str, str], tuple[list[str], str, str]]) -> tuple[str, str]:
    """Replace every marked expression: `form` returns lines to insert before it, a definition, and the replacement."""
    lines: list[str] = []
    definitions: list[str] = []
    for line in program.splitlines():
        found = MOVED.search(line)
        while found:
            name = f"moved_{len(definitions)}"
            before, definition, inside = form(name, found["expression"], found["names"] or "")
            indent = line[: len(line) - len(line.lstrip())]
            lines.extend(indent + each for each in before)
            definitions.append(definition)
            line = line[: found.start()] + inside + line[found.end() :]
            found = MOVED.search(line)
        lines.append(line)
    return "\n".join(lines) + "\n", "".join(definitions)


def unchanged(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([], "", expression))


def through_a_local(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([f"{name} = {expression}"], "", name))


def through_two_locals(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([f"{name}_ = {expression}", f"{name} = {name}_"], "", name))


def through_a_tuple(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([f"{name}, _ = {expression}, 0"], "", name))


def through_a_dict(program: str) -> tuple[str, str]:
    return _each(
        program,
        lambda name, expression, names: (
            [f'{name} = {{"kept": {expression}, "other": 1}}'],
            "",
            f'{name}["kept"]',
        ),
    )


def through_a_list(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([f"{name} = [1, {expression}]"], "", f"{name}[1]"))


def through_a_walrus(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([], "", f"({name} := {expression})"))


def through_a_conditional(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([], "", f"({expression} if True else None)"))


def in_a_nested_function(program: str) -> tuple[str, str]:
    return _each(
        program,
        lambda name, expression, names: ([f"def {name}():", f"    return {expression}"], "", f"{name}()"),
    )


def in_a_nested_function_with_arguments(program: str) -> tuple[str, str]:
    return _each(
        program,
        lambda name, expression, names: (
            [f"def {name}({names}):", f"    return {expression}"],
            "",
            f"{name}({names})",
        ),
    )


def in_a_lambda(program: str) -> tuple[str, str]:
    return _each(program, lambda name, expression, names: ([], "", f"(lambda: {expression})()"))


def _helper(name: str, expression: str, names: str) -> tuple[list[str], str, str]:
    definition = f"def {name}({names}):\n    return {expression}\n\n\n"
    return [], definition, f"{name}({names})"


def _imports(program: str) -> str:
    """The plain imports that helpers in another file need."""
    return "".join(f"{line}\n" for line in program.splitlines() if line.startswith("import "))


def in_a_helper(program: str) -> tuple[str, str]:
    text, definitions = _each(program, _helper)
    return text.replace(HELPERS, f"\n\n{definitions}".rstrip("\n")), ""


def in_a_helper_below(program: str) -> tuple[str, str]:
    text, definitions = _each(program, _helper)
    return f"{text}\n\n{definitions}", ""


def in_a_helper_with_keywords(program: str) -> tuple[str, str]:
    def form(name: str, expression: str, names: str) -> tuple[list[str], str, str]:
        _, definition, _ = _helper(name, expression, names)
        given = ", ".join(f"{each}={each}" for each in names.split(", ") if each)
        return [], definition, f"{name}({given})"

    text, definitions = _each(program, form)
    return text.replace(HELPERS, f"\n\n{definitions}".rstrip("\n")), ""


def in_a_helper_of_a_helper(program: str) -> tuple[str, str]:
    def form(name: str, expression: str, names: str) -> tuple[list[str], str, str]:
        _, definition, call = _helper(f"{name}_", expression, names)
        return [], f"{definition}def {name}({names}):\n    return {call}\n\n\n", f"{name}({names})"

    text, definitions = _each(program, form)
    return text.replace(HELPERS, f"\n\n{definitions}".rstrip("\n")), ""


def in_another_file(program: str) -> tuple[str, str]:
    text, definitions = _each(program, _helper)
    names = ", ".join(re.findall(r"def (\w+)", definitions))
    return text.replace(HELPERS, f"from helpers import {names}"), _imports(program) + "\n\n" + definitions


def in_another_file_by_its_name(program: str) -> tuple[str, str]:
    text, definitions = _each(program, _helper)
    text = re.sub(r"\bmoved_(\d+)\(", r"elsewhere.moved_\1(", text)
    return text.replace(HELPERS, "import helpers as elsewhere"), _imports(program) + "\n\n" + definitions


# --- neutral steps on imports and whole functions -------------------------------------------------------


def _renamed(program: str, imported: Callable[[str, str], str], used: Callable[[str, str], str]) -> tuple[str, str]:
    """Import every `from module import name` in another form, and change its uses."""
    lines, names = [], {}
    for line in unchanged(program)[0].splitlines():
        if line.startswith("from "):
            module, _, rest = line[5:].partition(" import ")
            for name in rest.split(", "):
                names[name] = used(module, name)
                lines.append(imported(module, name))
        else:
            for name, other in names.items():
                line = re.sub(rf"\b{name}\b", other, line)
            lines.append(line)
    return "\n".join(lines) + "\n", ""


def imports_renamed(program: str) -> tuple[str, str]:
    return _renamed(
        program,
        lambda module, name: f"from {module} import {name} as Other{name}",
        lambda module, name: f"Other{name}",
    )


def imports_of_modules(program: str) -> tuple[str, str]:
    return _renamed(
        program,
        lambda module, name: f"import {module} as module_{name}",
        lambda module, name: f"module_{name}.{name}",
    )


def imports_of_packages(program: str) -> tuple[str, str]:
    return _renamed(program, lambda module, name: f"import {module}", lambda module, name: f"{module}.{name}")


def modules_renamed(program: str) -> tuple[str, str]:
    text = unchanged(program)[0]
    for name in ("wandb", "dist", "torch"):
        text = re.sub(rf"^import {name}$", f"import {name} as other_{name}", text, flags=re.MULTILINE)
        text = text.replace("torch.distributed as dist\n", "torch.distributed as other_dist\n")
        if f" as other_{name}\n" in text:
            text = re.sub(rf"(?<!import )(?<!from )\b{name}\.(?!\w+ as )", f"other_{name}.", text)
    return text, ""


def imports_that_may_fail(program: str) -> tuple[str, str]:
    text = unchanged(program)[0]
    caught = "try:\n    {}\nexcept ImportError:\n    raise"
    lines = [caught.format(line) if line.startswith(("import ", "from ")) else line for line in text.splitlines()]
    return "\n".join(lines) + "\n", ""


class _Nest(cst.CSTTransformer):
    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        inner = updated_node.with_changes(
            name=cst.Name("inner"), params=cst.Parameters(), decorators=(), leading_lines=()
        )
        call = cst.parse_statement("return inner()")
        return updated_node.with_changes(body=cst.IndentedBlock([inner, call]))


def functions_wrapped(program: str) -> tuple[str, str]:
    program = program.replace("super()", "super(Preference, self)")
    return cst.parse_module(unchanged(program)[0]).visit(_Nest()).code, ""


def functions_indented(program: str) -> tuple[str, str]:
    """`if True:` around everything after the imports."""
    head, _, rest = unchanged(program)[0].partition(HELPERS)
    return head + "if True:\n" + "".join(f"    {line}\n" if line else "\n" for line in rest.splitlines()), ""


STEPS: list[Step] = [
    unchanged,
    through_a_local,
    through_two_locals,
    through_a_tuple,
    through_a_dict,
    through_a_list,
    through_a_walrus,
    through_a_conditional,
    in_a_nested_function,
    in_a_nested_function_with_arguments,
    in_a_lambda,
    in_a_helper,
    in_a_helper_below,
    in_a_helper_with_keywords,
    in_a_helper_of_a_helper,
    in_another_file,
    in_another_file_by_its_name,
    imports_renamed,
    imports_of_modules,
    imports_of_packages,
    modules_renamed,
    imports_that_may_fail,
    functions_wrapped,
    functions_indented,
]


# --- the comparison -------------------------------------------------------------------------------------


def verdict(directory: Path, program: str, helpers: str) -> list[tuple[str, str]]:
    """The places of findings, each as its code and the line it starts on."""
    files = {directory / "program.py": program}
    if helpers:
        files[directory / "helpers.py"] = helpers
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    settings = Settings(target_trl="0.17.0", target_transformers="4.51.3")
    linter = Linter(settings, (directory,), all_rules())
    found = []
    for path, text in files.items():
        lines = text.splitlines()
        for finding in linter.check(path, text.encode()):
            found += [(each.code, lines[each.start.line - 1].strip()) for each in (finding, *finding.also)]
    return found


def expected(program: str) -> list[tuple[str, str]]:
    """The findings that the marks of a program state."""
    marked = [(MARK.search(line), line.strip()) for line in program.splitlines()]
    return [(code, line) for mark, line in marked if mark for code in mark["codes"].split(", ")]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_neutral_step_changes_no_verdict(name: str, step: Step, tmp_path: Path) -> None:
    program, helpers = step(PROGRAMS[name])
    compile(program, "program.py", "exec")
    assert "«" not in program + helpers
    found = verdict(tmp_path, program, helpers)
    wanted = expected(program)
    assert [code for code, _ in wanted] == [code for code, _ in expected(PROGRAMS[name])]
    assert sorted(found) == sorted(wanted)
