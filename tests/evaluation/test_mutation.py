"""The operators, neutral steps and judgement of the mutation benchmark, on small snippets."""

import textwrap
from pathlib import Path

import pytest

from evaluation import mutation
from evaluation.flow import is_global, reached
from evaluation.mutation import OPERATORS, Mutant, build, every, judge
from evaluation.neutral import STEPS, NotPossible
from evaluation.operators import sites_of
from evaluation.source import Edit, Source, apply, line_of, moved
from trl_lint.findings import Finding, Position

PATH = Path("package/trainer.py")
BY_NAME = {operator.name: operator for operator in OPERATORS}
DROP, ITEM, WRAPPED, HELPER = (
    BY_NAME[name]
    for name in (
        "drop the collective",
        "item inside the gather",
        "read from the wrapped model",
        "helper returns local",
    )
)


def source_of(code: str) -> Source:
    return Source(PATH, textwrap.dedent(code).lstrip("\n"))


def method(*lines: str, name: str = "compute_loss") -> Source:
    """A trainer with one hook that has these lines."""
    body = "\n".join(f"        {line}" for line in lines)
    head = f"import torch\n\n\nclass MyTrainer(Trainer):\n    def {name}(self, model, inputs):\n"
    return Source(PATH, f"{head}{body}\n")


def sites(operator, source: Source) -> list[tuple[str, str, list[int]]]:
    """For each site: what is replaced, the replacement, and the lines where a finding is due."""
    return [
        (source.code(s.place.target), s.place.broken, [source.line(node) for node in s.due])
        for s in sites_of(operator, source, "trainer.py")[0]
    ]


FIRST = 6


class TestDropTheCollective:
    @pytest.mark.parametrize(
        ("line", "target", "broken"),
        [
            (
                'self._metrics["k"].append(self.accelerator.gather(kl).mean().item())',
                "self.accelerator.gather(kl)",
                "kl",
            ),
            (
                'self._metrics[mode]["k"] = [self.accelerator.reduce(kl.sum(), reduction="sum").item()]',
                'self.accelerator.reduce(kl.sum(), reduction="sum")',
                "kl.sum()",
            ),
            (
                'self.stats["k"].append(self.accelerator.gather_for_metrics(a - b).mean())',
                "self.accelerator.gather_for_metrics(a - b)",
                "(a - b)",
            ),
            (
                'self.log({"k": self.accelerator.gather(kl).mean().item()})',
                "self.accelerator.gather(kl)",
                "kl",
            ),
        ],
    )
    def test_in_the_statement_that_logs(self, line, target, broken):
        assert sites(DROP, method(line)) == [(target, broken, [FIRST])]

    def test_through_locals_to_every_log(self):
        source = method(
            "agg = self.accelerator.gather(x)",
            "mean = agg.float().mean()",
            'self._metrics["mean"].append(mean.item())',
            'self._metrics["max"].append(agg.max().item())',
        )
        assert sites(DROP, source) == [("self.accelerator.gather(x)", "x", [FIRST + 2, FIRST + 3])]

    @pytest.mark.parametrize(
        "lines",
        [
            ["loss = self.accelerator.gather(x).mean()", "return loss"],
            ["agg = self.accelerator.gather(x)", "agg = y", 'self._metrics["k"].append(agg)'],
            ["agg = self.accelerator.gather(x)", 'self._metrics["k"].append(agg.shape[0])'],
            ["agg = self.accelerator.gather(x)", 'self._metrics["k"].append(self.reduced(agg))'],
            ["agg = self.accelerator.gather(x)", 'self._metrics["k"].append(self.accelerator.gather(agg))'],
            [
                "if mode:",
                "    agg = self.accelerator.gather(x)",
                "else:",
                '    self._metrics["k"].append(agg)',
            ],
            ['self._metrics["k"].append(torch.gather(x, 0, y).mean())'],
            ['other["k"].append(self.accelerator.gather(x).mean())'],
        ],
    )
    def test_not_where_the_value_does_not_surely_reach_a_log(self, lines):
        assert sites(DROP, method(*lines)) == []

    def test_not_where_the_value_is_global_already(self):
        source = method(
            "rewards = self.accelerator.gather(rewards)",
            'self._metrics["k"].append(self.accelerator.gather(rewards.mean()).mean().item())',
        )
        assert sites(DROP, source) == []

    def test_a_dict_of_metrics_counts_where_it_is_logged(self):
        line = 'metrics["k"] = self.accelerator.gather(x).mean()'
        assert sites(DROP, method(line)) == []
        assert sites(DROP, method(line, "self.log(metrics)"))
        assert sites(DROP, method(line, name="get_batch_loss_metrics"))


class TestItemInsideTheGather:
    @pytest.mark.parametrize(
        ("call", "target", "broken"),
        [
            ("gather_for_metrics(x.sum()).sum().item()", "x.sum()", "x.sum().item()"),
            ("gather(x).mean().item()", "x", "x.mean().item()"),
            ("gather(a - b).detach().mean().item()", "a - b", "(a - b).mean().item()"),
        ],
    )
    def test_sites(self, call, target, broken):
        assert sites(ITEM, method(f"y = self.accelerator.{call}")) == [(target, broken, [])]

    @pytest.mark.parametrize("call", ["gather((a, b))", "gather(x)", "gather(x).view(-1, 2).sum(dim=0).tolist()"])
    def test_not_without_a_known_reduction(self, call):
        assert sites(ITEM, method(f"y = self.accelerator.{call}")) == []


class TestReadFromTheWrappedModel:
    @pytest.mark.parametrize(
        ("line", "target", "broken"),
        [
            ("x = self.is_encoder_decoder", "self.is_encoder_decoder", "model.config.is_encoder_decoder"),
            ("x = self.model.config.eos", "self.model.config", "model.config"),
            (
                "x = self.accelerator.unwrap_model(model).config",
                "self.accelerator.unwrap_model(model).config",
                "model.config",
            ),
        ],
    )
    def test_in_a_hook(self, line, target, broken):
        assert sites(WRAPPED, method(line)) == [(target, broken, [])]

    def test_of_a_name_bound_to_the_unwrapped_model(self):
        source = method(
            "with unwrap_model_for_generation(model, self.accelerator) as unwrapped:",
            "    y = unwrapped.config",
        )
        assert sites(WRAPPED, source) == [("unwrapped.config", "model.config", [])]

    @pytest.mark.parametrize(
        "lines",
        [
            ["x = self.model.training"],
            ["model = self.accelerator.unwrap_model(model)", "x = self.model.config"],
            ['if hasattr(model, "config"):', "    x = self.model.config"],
        ],
    )
    def test_not_where_the_read_would_be_right(self, lines):
        assert sites(WRAPPED, method(*lines)) == []

    def test_not_outside_the_hooks(self):
        assert sites(WRAPPED, method("x = self.model.config", name="save")) == []

    def test_in_a_method_that_a_hook_hands_the_model_to(self):
        source = source_of("""
            class MyTrainer(Trainer):
                def training_step(self, model, inputs):
                    return self._forward(model, inputs)

                def _forward(self, model, inputs):
                    return self.is_encoder_decoder
        """)
        assert sites(WRAPPED, source) == [
            ("self.is_encoder_decoder", "model.config.is_encoder_decoder", []),
        ]


class TestHelperReturnsLocal:
    SOURCE = """
        class MyTrainer(Trainer):
            def compute_loss(self, model, inputs):
                def gather_mean(tensor):
                    return self.accelerator.gather(tensor).mean().item()

                self._metrics["a"].append(gather_mean(a))
                self._metrics["b"].append(gather_mean(b) + 1)
                return gather_mean(loss)
    """

    def test_callers_that_log(self):
        found = sites(HELPER, source_of(self.SOURCE))
        assert found == [("self.accelerator.gather(tensor)", "tensor", [6, 7])]

    def test_a_method_and_a_local_of_its_caller(self):
        source = source_of("""
            class MyTrainer(Trainer):
                def _rewards(self, x):
                    x = self.accelerator.gather(x)
                    return x

                def compute_loss(self, model, inputs):
                    rewards = self._rewards(inputs)
                    self._metrics["k"].append(rewards.mean().item())
        """)
        assert sites(HELPER, source) == [("self.accelerator.gather(x)", "x", [8])]

    def test_not_a_helper_that_returns_something_else(self):
        source = source_of("""
            class MyTrainer(Trainer):
                def _rewards(self, x):
                    self.seen = self.accelerator.gather(x)
                    return x

                def compute_loss(self, model, inputs):
                    self._metrics["k"].append(self._rewards(inputs))
        """)
        assert sites(HELPER, source) == []


class TestNeutralSteps:
    LINE = 'self._metrics["k"].append(self.accelerator.gather(kl.detach()).mean().item())'

    def mutate(self, step: str, operator=DROP, line: str = LINE) -> tuple[Source, Mutant]:
        source = method("kl = inputs", line)
        (site,) = sites_of(operator, source, "trainer.py")[0]
        return source, build(source, operator, site, step)

    def changed(self, step: str, operator=DROP, line: str = LINE) -> list[str]:
        source, mutant = self.mutate(step, operator, line)
        old = source.text.splitlines()
        return [text.strip() for text in mutant.texts[PATH].splitlines() if text not in old]

    def test_none(self):
        assert self.changed("none") == ['self._metrics["k"].append(kl.detach().mean().item())']

    def test_alias(self):
        assert self.changed("alias") == [
            "alias_ = kl",
            'self._metrics["k"].append(alias_.detach().mean().item())',
        ]

    def test_extra_local(self):
        assert self.changed("extra local") == [
            "value_ = (kl.detach().mean().item())",
            'self._metrics["k"].append(value_)',
        ]

    def test_helper(self):
        assert self.changed("helper") == [
            "def helper_(kl):",
            "return (kl.detach().mean().item())",
            'self._metrics["k"].append(helper_(kl))',
        ]

    def test_helper_takes_self_and_locals_but_no_globals(self):
        line = 'self._metrics["k"].append(self.accelerator.gather(torch.stack([kl, self.x])).mean())'
        assert self.changed("helper", line=line)[0] == "def helper_(kl, self):"

    def test_other_file_imports_what_the_helper_needs(self):
        line = 'self._metrics["k"].append(self.accelerator.gather(torch.abs(kl)).mean())'
        _, mutant = self.mutate("other file", line=line)
        (moved_to,) = set(mutant.texts) - {PATH}
        assert moved_to.parent == PATH.parent
        assert mutant.texts[moved_to].startswith("import torch\n")
        assert "return (torch.abs(kl).mean())" in mutant.texts[moved_to]
        assert f"from {moved_to.stem} import helper_\n" in mutant.texts[PATH]

    def test_a_helper_of_the_file_can_not_follow_to_another(self):
        line = 'self._metrics["k"].append(self.accelerator.gather(own(kl)).mean())'
        with pytest.raises(NotPossible, match="own is defined in the file"):
            self.mutate("other file", line=line)

    def test_nothing_can_stand_before_an_expression_that_is_not_always_evaluated(self):
        line = "y = [self.is_encoder_decoder for _ in inputs]"
        for step in ("alias", "extra local"):
            with pytest.raises(NotPossible):
                self.mutate(step, WRAPPED, line)

    @pytest.mark.parametrize("step", STEPS)
    def test_the_due_place_follows_the_statement(self, step):
        _, mutant = self.mutate(step)
        ((path, first, last),) = mutant.due[0]
        lines = mutant.texts[path].splitlines()[first - 1 : last]
        assert lines[0].strip().startswith("self._metrics")

    @pytest.mark.parametrize("step", STEPS)
    def test_a_gather_stays_where_it_is(self, step):
        _, mutant = self.mutate(step, ITEM)
        ((path, first, _),) = mutant.due[0]
        assert "self.accelerator.gather(" in mutant.texts[path].splitlines()[first - 1]

    @pytest.mark.parametrize("step", STEPS)
    def test_a_read_is_due_where_it_goes(self, step):
        _, mutant = self.mutate(step, WRAPPED, "x = self.is_encoder_decoder")
        held = [
            text for path, first, last in mutant.due[0] for text in mutant.texts[path].splitlines()[first - 1 : last]
        ]
        assert any(".config.is_encoder_decoder" in text for text in held)


class TestFlow:
    def test_a_value_reaches_a_later_log(self):
        source = method("x = f(inputs)", 'self._metrics["k"].append(x)')
        call = next(iter(source.module.body[-1].body.body[0].body.body[0].body)).value
        statements, names = reached(source, call)
        assert [source.line(statement) for statement in statements] == [FIRST + 1]
        assert names == {"x"}

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("g", True),
            ("g.mean()", True),
            ("g + g", True),
            ("g + x", False),
            ("x", False),
            ("g.mean() * x", False),
        ],
    )
    def test_global(self, expression, expected):
        source = method("g = self.accelerator.gather(inputs)", f"y = {expression}")
        value = source.module.body[-1].body.body[0].body.body[1].body[0].value
        assert is_global(source, value) is expected


class TestEdits:
    TEXT = "one\ntwo\nthree\n"

    def test_all_edits_are_made_and_places_move(self):
        edits = [Edit(4, 4, "new\n"), Edit(8, 13, "3")]
        new = apply(self.TEXT, edits)
        assert new == "one\nnew\ntwo\n3\n"
        assert [line_of(new, moved(offset, edits)) for offset in (0, 4, 10)] == [1, 3, 4]


def finding(line: int, code: str = "TRL003") -> Finding:
    return Finding(code, "name", "message", str(PATH), Position(line, 1), Position(line, 2))


class TestJudge:
    DUE = (((PATH, 10, 12),), ((PATH, 20, 20),))
    MUTANT = Mutant(PATH, {PATH: ""}, "TRL003", DUE, ((PATH, 30, 30),), ((PATH, 9, 9),))

    def judge(self, before: list[Finding], after: list[Finding]) -> tuple:
        return judge(self.MUTANT, before, [(PATH, f) for f in after], lambda line: line + 1)

    def test_all_due_and_nothing_else(self):
        assert self.judge([finding(4)], [finding(5), finding(11), finding(20)]) == ([], [])

    def test_a_missing_one_is_named(self):
        assert self.judge([], [finding(11)]) == ([20], [])

    def test_a_further_finding_on_a_carrier_is_fair(self):
        assert self.judge([], [finding(11), finding(20), finding(30)]) == ([], [])

    def test_what_was_said_of_the_right_code_may_be_gone(self):
        right = [finding(8, "TRL014"), finding(11, "TRL014")]
        assert self.judge(right, [finding(11), finding(20)]) == ([], ["lost TRL014 at trainer.py:12"])

    def test_what_was_said_of_the_right_code_may_go_with_it(self):
        place = ((PATH, 9, 9), (PATH, 40, 42))
        mutant = Mutant(PATH, {PATH: ""}, "TRL003", self.DUE, (), place)
        due = [finding(11), finding(20)]
        judged = [
            judge(mutant, before, [(PATH, each) for each in (*due, finding(41, "TRL014"))], lambda line: line + 1)
            for before in ([finding(8, "TRL014")], [])
        ]
        assert judged == [([], []), ([], ["new TRL014 at trainer.py:41"])]

    def test_what_came_and_what_went_is_said(self):
        _, changed = self.judge([finding(4)], [finding(11), finding(20), finding(7), finding(30, "TRL001")])
        assert sorted(changed) == [
            "lost TRL003 at trainer.py:5",
            "new TRL001 at trainer.py:30",
            "new TRL003 at trainer.py:7",
        ]


@pytest.mark.parametrize(("cap", "expected"), [(None, [0, 1, 2, 3, 4]), (1, [2]), (2, [1, 3]), (9, [0, 1, 2, 3, 4])])
def test_sites_are_capped_evenly(cap, expected):
    assert every(range(5), cap) == expected


def test_recall_has_limits_over_all_and_per_operator():
    def results(found: int, of: int, operator: str):
        return [mutation.Result(operator, "none", "c", "f", 1, "s", "x", found=i < found) for i in range(of)]

    good = [result for operator in OPERATORS for result in results(9, 10, operator.name)]
    assert mutation.passed(good)
    assert not mutation.passed([*good, *results(0, 20, HELPER.name)])
    assert not mutation.passed([*good, mutation.Result(DROP.name, "none", "c", "f", 1, "s", "x", True, [], ["new"])])


def test_what_leaves_the_default_set_fails():
    def results(of: int, operator: str, unasked: int = 0):
        place = (operator, "none", "c", "f")
        return [mutation.Result(*place, i, "s", "x", found=True, by_default=i >= unasked) for i in range(of)]

    others = [each for operator in OPERATORS[1:] for each in results(10, operator.name)]
    first = OPERATORS[0]
    assert mutation.passed([*others, *results(10, first.name)])
    worse = [*others, *results(10, first.name, unasked=1)]
    assert not mutation.passed(worse)
    shown = "\n".join(mutation.report(mutation.Tally(worse), mutation.Plan(steps=("none",)), verbose=False))
    assert (
        f"not in the default set: 1\n  {first.name}: c f:0 s\ntoo few of it in the default set: {first.name}" in shown
    )


class TestModelsAndTheirWrappers:
    FORWARD, GENERATE, BARE = (
        BY_NAME[name]
        for name in ("forward through the module", "generate on the wrapped model", "bare model for generation")
    )

    def test_a_training_forward(self):
        source = method("out = model(**inputs)", "return out.loss")
        assert sites(self.FORWARD, source) == [("model", "model.module", [])]

    def test_a_training_forward_in_a_loop(self):
        source = source_of("""
            def train(model, accelerator, loader):
                model, loader = accelerator.prepare(model, loader)
                for batch in loader:
                    accelerator.backward(model(batch))
                for batch in loader:
                    print(model(batch))
        """)
        assert sites(self.FORWARD, source) == [("model", "model.module", [])]

    @pytest.mark.parametrize(
        "lines",
        [
            ["with torch.no_grad():", "    out = model(**inputs)"],
            ["model(**inputs)"],
            ["model = other", "out = model(**inputs)"],
        ],
    )
    def test_not_where_no_gradients_come_of_it(self, lines):
        assert sites(self.FORWARD, method(*lines)) == []
        assert sites(self.FORWARD, method("out = model(**inputs)", name="prediction_step")) == []

    def test_what_the_unwrapped_model_generates(self):
        source = method(
            "with unwrap_model_for_generation(model, self.accelerator) as unwrapped:",
            "    y = unwrapped.generate(inputs)",
        )
        assert sites(self.GENERATE, source) == [("unwrapped.generate", "model.generate", [])]
        assert sites(self.BARE, source) == []

    def test_what_is_prepared_for_generation(self):
        source = method("with unwrap_model_for_generation(self.model_wrapped, self.accelerator):", "    pass")
        assert sites(self.BARE, source) == [("self.model_wrapped", "self.model", [])]
