"""Users' own names: each setting makes the difference between a finding and none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent, indent

import pytest
from click.testing import CliRunner

from trl_lint.findings import Applicability, Finding
from trl_lint.frontends.cli import main
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

RELEASES = {"target_trl": "0.17.0", "target_transformers": "4.51.3"}


def lint(folder: Path, text: str, others: dict[str, str] | None = None, **settings) -> list[Finding]:
    """The findings in a text next to other files, with these settings."""
    for name, content in (others or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(content), encoding="utf-8")
    linter = Linter(Settings(**RELEASES | settings), (folder,), all_rules())
    path, source = folder / "train.py", dedent(text).encode()
    return linter.check(path, source) if linter.may_matter(source) else []


def shown(text: str, findings: list[Finding]) -> list[str]:
    """The lines where findings start, with their codes."""
    lines = dedent(text).splitlines()
    return [f"{each.code} {lines[each.start.line - 1].strip()}" for each in findings]


def trainer(body: str, *, imports: str = "", base: str = "transformers.Trainer") -> str:
    """A trainer whose loss is computed and then processed by `body`."""
    module, _, name = base.rpartition(".")
    head = f"{dedent(imports).strip()}\nfrom {module} import {name}\n\nclass Mine({name}):\n"
    hook = "    def compute_loss(self, model, inputs, **kwargs):\n        loss = model(**inputs).loss\n"
    return head + hook + indent(dedent(body).strip() + "\nreturn loss\n", " " * 8)


# --- reducers -------------------------------------------------------------------------------------------

# Local on one branch, on the other the result of a call: local if the call is known, otherwise unknown.
JOINED = "self.log({{'joined': loss if self.args.debug else {call}}})"
# Ways to write a call of `mylib.dist.all_mean`.
SPELLINGS = {
    "name": ("from mylib.dist import all_mean", "all_mean(loss)"),
    "alias": ("from mylib.dist import all_mean as am", "am(loss)"),
    "module": ("import mylib.dist", "mylib.dist.all_mean(loss)"),
    "module alias": ("import mylib.dist as d", "d.all_mean(loss)"),
    "package alias": ("import mylib as m", "m.dist.all_mean(loss)"),
    "from the package": ("from mylib import dist", "dist.all_mean(loss)"),
    "as a value": ("from mylib import dist", "(lambda reduce: reduce(loss))(dist.all_mean)"),
    "keyword": ("from mylib.dist import all_mean", "all_mean(tensor=loss)"),
    "accelerator first": ("from mylib.dist import all_mean", "all_mean(self.accelerator, loss)"),
    "name first": ("from mylib.dist import all_mean", "all_mean('loss', loss, group=None)"),
    "number": ("from mylib.dist import all_mean", "all_mean(loss.item())"),
}
# The places of `mylib`.
PLACES = {
    "out of sight": {},
    "in sight": {
        "mylib/__init__.py": "from . import dist",
        "mylib/dist.py": "def all_mean(*a, **b): return out_of_sight()",
    },
    "namespace": {"mylib/dist.py": "def all_mean(*a, **b): return out_of_sight()"},
    "wrong body": {"mylib/__init__.py": "", "mylib/dist.py": "def all_mean(x=None, *a, tensor=None, **b): return x"},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_a_reducer_returns_is_the_same_on_all_ranks(tmp_path, place, spelling):
    imports, call = SPELLINGS[spelling]
    joined = JOINED.format(call=call)
    text = trainer(f"self.log({{'known': {call} }})\n{joined}", imports=imports)
    found = lint(tmp_path, text, PLACES[place], reducers=(("mylib.dist.all_mean", "mean"),))
    assert shown(text, found) == [f"TRL003 {joined}"]
    if place != "wrong body":
        assert lint(tmp_path, text, PLACES[place]) == []


FACT = """
    from accelerate import Accelerator
    import mylib

    def main(model, loader):
        accelerator = Accelerator()
        model, loader = accelerator.prepare(model, loader)
        for batch in loader:
            loss = model(**batch).loss
            reveal_rank({})
"""


def fact(folder: Path, expression: str, **settings) -> str:
    """The rank fact of an expression on a local `loss`."""
    from trl_lint.analysis.events import Revealed
    from trl_lint.analysis.interprocedural.entry_points import Engine
    from trl_lint.analysis.program.project.project import Project
    from trl_lint.linter.versions import known_of

    project = Project((folder,))
    module = project.add(folder / "program.py", dedent(FACT.format(expression)))
    events = Engine(project, known_of(Settings(**RELEASES | settings))).analyse(module)
    return " | ".join(sorted({str(event.value.rank) for event in events if isinstance(event, Revealed)}))


@pytest.mark.parametrize("word", ["broadcast", "gather", "max", "mean", "min", "objects", "sum"])
def test_every_word_makes_a_value_the_same(tmp_path, word):
    taken = "mylib.f(loss)[0]" if word == "objects" else "mylib.f(loss)"
    assert fact(tmp_path, taken) == "unknown"
    assert fact(tmp_path, taken, reducers=(("mylib.f", word),)) == "same"


def test_a_reducer_of_a_dict_reduces_its_entries(tmp_path):
    reducers = (("mylib.f", "mean"),)
    assert fact(tmp_path, "mylib.f({'a': loss})['a']", reducers=reducers) == "same"
    assert fact(tmp_path, "mylib.f()", reducers=reducers) == "same"
    assert fact(tmp_path, "mylib.f(*[loss])", reducers=reducers) == "same"
    assert fact(tmp_path, "mylib.f(accelerator)", reducers=reducers) == "same"


IN_PLACE = """
    from accelerate import Accelerator
    import mylib

    def main(model, loader):
        accelerator = Accelerator()
        model, loader = accelerator.prepare(model, loader)
        for batch in loader:
            loss, known = model(**batch).loss, {{}}
            known["loss"] = loss
            {}
            accelerator.log({{"plain": loss}})
            accelerator.log({{"joined": loss if accelerator.sync_gradients else batch.loss}})
            accelerator.log({{"known": known["loss"]}})
"""


@pytest.mark.parametrize(
    ("call", "word", "found"),
    [
        ("mylib.f(loss)", "", ["known"]),  # nothing is known of the loss
        ("mylib.f(loss)", "sum", ["joined", "known"]),
        ("mylib.f(accelerator, value=loss)", "mean", ["joined", "known"]),
        ("mylib.f(known)", "mean", ["plain", "joined"]),  # its effect on a dict is unknown
        ("mylib.f([], loss)", "gather", ["known"]),  # it is unknown which of the two receives the result
        ("mylib.f()", "gather", ["plain", "joined", "known"]),
    ],
)
def test_a_reducer_whose_result_is_thrown_away_works_in_place(tmp_path, call, word, found):
    text = IN_PLACE.format(call)
    findings = lint(tmp_path, text, reducers=(("mylib.f", word),) if word else ())
    names = re.findall(r"`(plain|joined|known|loss)`", " ".join(each.message for each in findings))
    assert sorted(names) == sorted(found), [each.message for each in findings]


def test_a_number_in_a_reducer_is_no_finding(tmp_path):
    # It is unknown whether a user's function accepts Python numbers.
    text = trainer("mylib.f(loss.item())\nreturn self.accelerator.gather(loss.item())", imports="import mylib")
    found = lint(tmp_path, text, reducers=(("mylib.f", "gather"),))
    assert shown(text, found) == ["TRL001 return self.accelerator.gather(loss.item())"]


METHOD = "mylib.trainers.BaseTrainer.gather_mean"
BASES = {
    "out of sight": {},
    "in sight": {
        "mylib/__init__.py": "",
        "mylib/trainers.py": """
            from transformers import Trainer

            class BaseTrainer(Trainer):
                def gather_mean(self, value):
                    return value
        """,
    },
    "between": {
        "ours.py": """
            from mylib.trainers import BaseTrainer as Base

            class BaseTrainer(Base):
                pass
        """
    },
    "overridden": {
        "ours.py": """
            from mylib.trainers import BaseTrainer as Base

            class BaseTrainer(Base):
                def gather_mean(self, value):
                    return value
        """
    },
}


@pytest.mark.parametrize("place", BASES)
@pytest.mark.parametrize("call", ["self.gather_mean(loss)", "super().gather_mean(loss)"])
def test_a_method_of_a_class_holds_for_all_subclasses(tmp_path, place, call):
    base = "ours.BaseTrainer" if "ours.py" in BASES[place] else "mylib.trainers.BaseTrainer"
    joined = JOINED.format(call=call)
    text = trainer(f"self.log({{'known': {call}}})\n{joined}", base=base)
    bases = (("mylib.trainers.BaseTrainer", "transformers.Trainer"),)
    found = lint(tmp_path, text, BASES[place], reducers=((METHOD, "mean"),), trainer_bases=bases)
    assert shown(text, found) == [f"TRL003 {joined}"]
    # Without it, a body that returns its argument makes two findings; if its source is unavailable, there is none.
    is_in_sight = "gather_mean" in "".join(BASES[place].values())
    assert len(lint(tmp_path, text, BASES[place], trainer_bases=bases)) == 2 * is_in_sight


def test_a_body_in_sight_counts_only_where_the_settings_say_nothing(tmp_path):
    text = trainer("self.log({'loss': self.gather_mean(loss)})", base="mylib.trainers.BaseTrainer")
    assert [each.code for each in lint(tmp_path, text, BASES["in sight"])] == ["TRL003"]
    assert lint(tmp_path, text, BASES["in sight"], reducers=((METHOD, "mean"),)) == []


def test_a_method_of_an_object_that_is_built(tmp_path):
    joined = JOINED.format(call="world.mean(loss)")
    text = trainer(
        f"world = World()\nself.log({{'loss': world.mean(loss)}})\n{joined}", imports="from mylib import World"
    )
    assert lint(tmp_path, text) == []
    assert shown(text, lint(tmp_path, text, reducers=(("mylib.World.mean", "mean"),))) == [f"TRL003 {joined}"]


def test_functions_of_the_same_file_and_of_a_package_that_hands_them_on(tmp_path):
    text = """
        from accelerate import Accelerator
        from mylib import total

        @lost
        def mean(value):
            return value

        def main(model, loader):
            accelerator = Accelerator()
            model, loader = accelerator.prepare(model, loader)
            for batch in loader:
                loss = model(**batch).loss
                accelerator.log({"a": mean(loss)})
                accelerator.log({"b": total(loss)})
    """
    others = {"mylib/__init__.py": "from .dist import total", "mylib/dist.py": "def total(value): return value"}
    assert len(lint(tmp_path, text, others)) == 2
    reducers = (("train.mean", "mean"), ("mylib.dist.total", "sum"))
    assert lint(tmp_path, text, others, reducers=reducers) == []
    assert lint(tmp_path, text, others, reducers=(("train.mean", "mean"), ("mylib.total", "sum"))) == []


def test_a_name_of_a_library_can_be_given_another_meaning(tmp_path):
    text = trainer("self.log({'loss': self.floating_point_ops(inputs)})")
    assert [each.code for each in lint(tmp_path, text)] == ["TRL003"]
    assert lint(tmp_path, text, reducers=(("transformers.Trainer.floating_point_ops", "sum"),)) == []


# --- guards ---------------------------------------------------------------------------------------------

GUARDED = {
    "function": ("if is_captain():", "mylib.is_captain"),
    "variable": ("if is_captain:", "mylib.is_captain"),
    "negated": ("if not is_captain():", "mylib.is_captain"),
    "through a local": ("first = is_captain()\nif first:", "mylib.is_captain"),
    "method": ("if self.is_first():", "mylib.Base.is_first"),
    "property": ("if self.is_first:", "mylib.Base.is_first"),
}
GUARD_PLACES = {
    "out of sight": {},
    "in sight": {
        "mylib/__init__.py": """
            from transformers import Trainer

            is_captain = out_of_sight()

            class Base(Trainer):
                is_first = out_of_sight()
        """
    },
    "assigned": {
        "mylib.py": """
            from transformers import Trainer

            def is_captain():
                return environment.leads

            class Base(Trainer):
                def __init__(self, **kwargs):
                    super().__init__(**kwargs)
                    self.is_first = True
        """
    },
}


@pytest.mark.parametrize("place", GUARD_PLACES)
@pytest.mark.parametrize("way", GUARDED)
def test_a_guard_divides_the_ranks(tmp_path, place, way):
    condition, name = GUARDED[way]
    imports = "from mylib import is_captain"
    text = trainer(f"{condition}\n    self.accelerator.gather(loss.item())", imports=imports, base="mylib.Base")
    bases = (("mylib.Base", "transformers.Trainer"),)
    (without,) = lint(tmp_path, text, GUARD_PLACES[place], trainer_bases=bases)
    known, alone = lint(tmp_path, text, GUARD_PLACES[place], trainer_bases=bases, guards=(name,))
    assert (known.code, alone.code) == ("TRL001", "TRL006")
    assert without.fix.applicability in (Applicability.SAFE, Applicability.UNSAFE)
    assert (known.fix.applicability, known.fix.reason) == (
        Applicability.DISPLAY,
        "some ranks may not get here",
    )


# --- sinks ----------------------------------------------------------------------------------------------

SINKS = {
    "dict": ("push({'loss': loss})", "`loss` is computed"),
    "second": ("push(3, {'loss': loss}, step=1)", "`loss` is computed"),
    "keyword": ("push(metrics={'loss': loss})", "`loss` is computed"),
    "value": ("push(loss)", "`loss` is computed"),
    "named value": ("push('train/loss', loss, 3)", "`train/loss` is computed"),
    "named by keyword": ("push(loss=loss)", "`loss` is computed"),
    "starred": ("push(**{'loss': loss})", "`loss` is computed"),
    "nested": ("push({'train': {'loss': loss}})", "`loss` is computed"),
    "list": ("push([loss])", "this value is computed"),
}


@pytest.mark.parametrize("body", ["", "def push(*args, **kwargs): pass"], ids=["out of sight", "in sight"])
@pytest.mark.parametrize("way", SINKS)
def test_a_sink_shows_what_it_is_given(tmp_path, way, body):
    call, said = SINKS[way]
    others = {"mylib/__init__.py": "", "mylib/tracking.py": body} if body else {}
    right = "push({'reduced': self.accelerator.gather(loss).mean()})"
    text = trainer(f"{call}\n{right}", imports="from mylib.tracking import push")
    assert lint(tmp_path, text, others) == []
    (found,) = lint(tmp_path, text, others, sinks=("mylib.tracking.push",))
    assert shown(text, [found]) == [f"TRL003 {call}"]
    assert found.message.startswith(said)
    assert " reaches `tracking.push` unreduced" in found.message


@pytest.mark.parametrize("others", [{}, {"mylib.py": "class Board:\n    def show(self, name, value): pass\n"}])
def test_a_method_can_be_a_sink(tmp_path, others):
    text = trainer("Board().show('a', loss)\nself.board: Board = make()\n", imports="from mylib import Board")
    assert lint(tmp_path, text, others) == []
    (found,) = lint(tmp_path, text, others, sinks=("mylib.Board.show",))
    assert "`a` is computed from this rank's own data and reaches `Board.show` unreduced" in found.message


def test_what_is_put_into_a_container_is_reported_where_it_is_put(tmp_path):
    text = trainer(
        "metrics = {}\nmetrics['loss'] = loss\nmetrics['step'] = 1\npush(metrics)", imports="from mylib import push"
    )
    assert lint(tmp_path, text) == []
    assert shown(text, lint(tmp_path, text, sinks=("mylib.push",))) == ["TRL003 metrics['loss'] = loss"]


def test_a_sink_is_told_of_where_a_file_names_no_library(tmp_path):
    # It contains neither a library nor a word for logging; a user's own name is enough.
    text = """
        import torch.distributed as dist
        from mylib import push

        def main():
            push({"rank": dist.get_rank(), "loss": model_out_of_sight()})
    """
    plain = Linter(Settings(), (tmp_path,), all_rules())
    mine = Linter(Settings(sinks=("mylib.push",)), (tmp_path,), all_rules())
    assert not plain.may_matter(b"from mylib import push\n")
    assert mine.may_matter(b"from mylib import push\n")
    assert not mine.may_matter(b"from mylib import pull\n")
    assert lint(tmp_path, text, sinks=("mylib.push",)) == []  # a rank's own number is not a metric


# --- unwrappers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["unwrap(model)", "unwrap(self.accelerator, model)"])
@pytest.mark.parametrize("others", [{}, {"mylib.py": "def unwrap(*args): return args[-1]\n"}])
def test_an_unwrapper_gives_the_bare_model(tmp_path, call, others):
    text = trainer(
        f"known = {call} if loss is None else {call}\nprint(known.config)\nself.other(known)",
        imports="from mylib import unwrap",
    )
    text += "\n    def other(self, model):\n        print(self.accelerator.prepare(model).config)\n"
    found = lint(tmp_path, text, others, unwrappers=("mylib.unwrap",))
    assert shown(text, found) == ["TRL002 print(self.accelerator.prepare(model).config)"]


def test_without_an_unwrapper_its_body_counts(tmp_path):
    text = trainer("print(unwrap(model).config)", imports="from mylib import unwrap")
    others = {"mylib.py": "def unwrap(model): return model\n"}
    assert [each.code for each in lint(tmp_path, text, others)] == ["TRL002"]
    assert lint(tmp_path, text, others, unwrappers=("mylib.unwrap",)) == []


# --- trainer bases --------------------------------------------------------------------------------------

HOOKED = trainer(
    """
    print(model.config)
    print(self.model.config)
    self.log({"loss": loss})
    self.log({"all": self.accelerator.gather(loss).mean()})
    self.accelerator.gather(loss.item())
    """,
    base="mylib.trainers.BaseTrainer",
)
IN_HOOKED = [
    "TRL002 print(model.config)",
    'TRL003 self.log({"loss": loss})',
    "TRL001 self.accelerator.gather(loss.item())",
]
BASE_PLACES = {
    "out of sight": {},
    "base unknown": {
        "mylib/__init__.py": "",
        "mylib/trainers.py": """
            class BaseTrainer(chosen_at_run_time()):
                pass
        """,
    },
    "made at run time": {
        "mylib/__init__.py": "",
        "mylib/trainers.py": "BaseTrainer = chosen_at_run_time()\n",
    },
}


@pytest.mark.parametrize("place", BASE_PLACES)
def test_subclasses_of_a_base_are_known_as_trainers(tmp_path, place):
    bases = (("mylib.trainers.BaseTrainer", "transformers.Trainer"),)
    assert lint(tmp_path, HOOKED, BASE_PLACES[place]) == []
    found = lint(tmp_path, HOOKED, BASE_PLACES[place], trainer_bases=bases)
    assert shown(HOOKED, found) == IN_HOOKED
    assert "reaches `Trainer.log` unreduced" in found[1].message


def test_a_base_in_between_is_enough(tmp_path):
    others = {"ours.py": "from mylib.trainers import BaseTrainer\n\n\nclass OurTrainer(BaseTrainer):\n    pass\n"}
    text = trainer("print(model.config)", base="ours.OurTrainer")
    bases = (("mylib.trainers.BaseTrainer", "transformers.Trainer"),)
    assert lint(tmp_path, text, others) == []
    assert shown(text, lint(tmp_path, text, others, trainer_bases=bases)) == ["TRL002 print(model.config)"]


STORES = """
    from mylib import Base

    class Mine(Base):
        def get_batch_loss_metrics(self, model, batch, train_eval="train"):
            loss = model(**batch).loss
            return loss, {"mine": loss}
"""


def test_a_base_can_behave_like_any_trainer(tmp_path):
    assert lint(tmp_path, STORES, trainer_bases=(("mylib.Base", "transformers.Trainer"),)) == []
    found = lint(tmp_path, STORES, trainer_bases=(("mylib.Base", "trl.trainer.DPOTrainer"),))
    assert shown(STORES, found) == ['TRL003 return loss, {"mine": loss}']


def test_a_base_that_is_built(tmp_path):
    text = """
        from mylib import Base

        def main(model, batch):
            trainer = Base(model)
            print(trainer.model_wrapped.config)
    """
    assert lint(tmp_path, text) == []
    found = lint(tmp_path, text, trainer_bases=(("mylib.Base", "transformers.Trainer"),))
    assert shown(text, found) == ["TRL002 print(trainer.model_wrapped.config)"]


def test_functions_handed_to_a_base_are_called_by_it(tmp_path):
    text = """
        from mylib import Base
        from accelerate import Accelerator

        def my_loss(outputs, labels, num_items_in_batch=None):
            Accelerator().log({"loss": outputs.loss})

        class Mine(Base):
            pass

        trainer = Mine(compute_loss_func=my_loss)
    """
    assert lint(tmp_path, text) == []
    found = lint(tmp_path, text, trainer_bases=(("mylib.Base", "transformers.Trainer"),))
    assert shown(text, found) == ['TRL003 Accelerator().log({"loss": outputs.loss})']


# --- around the analysis --------------------------------------------------------------------------------

PUSHED = trainer("push({'a': loss})", imports="from mylib import push")


def test_linters_in_one_process_do_not_share_names(tmp_path):
    path = tmp_path / "train.py"
    with_names = Linter(Settings(sinks=("mylib.push",)), (tmp_path,), all_rules())
    without = Linter(Settings(), (tmp_path,), all_rules())
    later = Linter(Settings(sinks=("mylib.push",), reducers=(("mylib.f", "sum"),)), (tmp_path,), all_rules())
    counts = [len(each.check(path, PUSHED.encode())) for each in (with_names, without, later, without, with_names)]
    assert counts == [1, 0, 1, 0, 1]


@pytest.mark.parametrize(("arguments", "count"), [([], 1), (["--isolated"], 0)])
@pytest.mark.parametrize("stdin", [False, True])
def test_the_command_line_reads_them(tmp_path, monkeypatch, arguments, count, stdin):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.trl-lint]\nsinks = ['mylib.push']\n")
    if stdin:
        arguments = [*arguments, "-", "--stdin-filename", "train.py"]
    else:
        (tmp_path / "train.py").write_text(PUSHED)
    done = CliRunner().invoke(main, ["--output-format=json", *arguments], input=PUSHED if stdin else None)
    assert [row["code"] for row in json.loads(done.stdout)] == ["TRL003"] * count


def test_a_fix_is_judged_with_them(tmp_path):
    # Under a user's own guard, gathering the number in another way is no fix; TRL006 has to fix the guard.
    text = trainer("if mylib.is_captain():\n    self.accelerator.gather(loss.item())", imports="import mylib").encode()
    path = tmp_path / "train.py"
    rules = [rule for rule in all_rules() if rule.code != "TRL006"]
    plain = Linter(Settings(**RELEASES), (tmp_path,), rules)
    known = Linter(Settings(**RELEASES, guards=("mylib.is_captain",)), (tmp_path,), rules)
    assert plain.fix(path, text, unsafe=True).source != text
    assert known.fix(path, text, unsafe=True).source == text


# --- releases -------------------------------------------------------------------------------------------

SPANS = {
    "trl": (
        """
        from trl import DPOTrainer

        class Mine(DPOTrainer):
            def compute_loss(self, model, inputs, **kwargs):
                loss, metrics = self.get_batch_loss_metrics(model, inputs)
                self.accelerator.log({"mine": metrics["logps/chosen"]})
        """,
        {"0.13.0": 1, "0.14.0": 0},
    ),
    "transformers": (
        trainer("self._nested_gather(loss.item())"),
        {"4.51.3": 1, "5.2.0": 0},
    ),
}


@pytest.mark.parametrize(
    ("library", "release"), [(library, release) for library, (_, found) in SPANS.items() for release in found]
)
def test_the_targets_choose_the_rows(tmp_path, monkeypatch, library, release):
    monkeypatch.chdir(tmp_path)
    text, found = SPANS[library]
    (tmp_path / "pyproject.toml").write_text(f"[tool.trl-lint]\ntarget-{library} = '{release}'\n")
    (tmp_path / "train.py").write_text(dedent(text))
    done = CliRunner().invoke(main, ["--output-format=json"])
    assert len(json.loads(done.stdout)) == found[release]
