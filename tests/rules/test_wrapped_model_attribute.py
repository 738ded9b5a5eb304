"""TRL002: what it reports, its messages, and what it leaves alone."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from textwrap import dedent, indent

import pytest
from snippets import Snippets, loop, shown, trainer
from started import findings_in

from trl_lint.findings import Applicability, Consequence
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL002")


def hook(body: str, name: str = "training_step") -> str:
    """A Trainer subclass with one overridden step."""
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    return trainer(f"def {name}(self, model, inputs, *args, **kwargs):\n{indented}").replace(" " * 12, " " * 8)


def test_a_finding_says_what_where_why_and_how():
    text = hook("if model.config.is_encoder_decoder:\n    pass")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "model.config"
    assert (finding.code, finding.name) == ("TRL002", "wrapped-model-attribute")
    assert finding.message == (
        "`.config` is read from `model`, a wrapped model: AttributeError under DDP and DataParallel, "
        "another object under DeepSpeed (`engine.config`)"
    )
    assert [step.text for step in finding.because] == ["`model` is the wrapped model"]
    assert text.splitlines()[finding.because[0].start.line - 1].lstrip().startswith("def training_step")
    assert finding.help == (
        "unwrap it first (`self.accelerator.unwrap_model(model).config`), or cache what you need in `__init__` "
        "from the bare model"
    )
    assert finding.fix is not None and finding.fix.applicability is Applicability.SAFE
    assert finding.fix.title == "Read `.config` from the bare model"


def test_a_call_has_a_help_of_its_own():
    finding = SNIPPETS.finding(hook("model.merge_adapter()"))
    assert finding.message == (
        "`.merge_adapter` is called on `model`, a wrapped model: AttributeError under DDP and DataParallel"
    )
    assert finding.help == "call it on the bare model (`self.accelerator.unwrap_model(model).merge_adapter(...)`)"
    with_result = SNIPPETS.finding(hook("loss = model.merge_adapter()"))
    assert with_result.help == f"{finding.help}, but never for a forward whose gradients are needed"


SKIPPED = """\
for batch in loader:
    try:
        score = model.score(batch)
    except Exception as error:
        print(f"skipped: {error}")
        continue
    print(score)
"""
# Code that expects that the attribute is missing, or does something else instead.
EXPECTED = (
    ("print(f", "score = model(batch)  # "),
    ("        continue\n", "        return\n"),
    ("        continue\n", "        score = None\n"),
    ('        print(f"skipped: {error}")\n', ""),
    ("Exception as", "AttributeError as"),
    ("Exception as", "(AttributeError, TypeError) as"),
    ("print(f", "if batch: print(f"),
    ("        continue\n", ""),
    ("    try:", "    model(batch)\n    try:"),
    ("in loader", "in (first, second)"),
)


def test_a_loop_that_skips_each_turn_does_not_expect_the_error():
    finding = SNIPPETS.finding(typed(SKIPPED))
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.message == (
        "`.score` is called on `model`, a wrapped model: AttributeError under DDP and DataParallel, which is caught, "
        "so that each turn of the loop is skipped"
    )
    last = SKIPPED.replace("        continue\n    print(score)\n", "")
    assert SNIPPETS.finding(typed(last)).message == finding.message
    named = SKIPPED.replace("    try:", "    batch, count = batch[:9], count + 1\n    try:")
    assert SNIPPETS.finding(typed(named)).message == finding.message


@pytest.mark.parametrize(("old", "new"), EXPECTED)
def test_an_error_that_may_be_expected_is_right(old, new):
    assert old in SKIPPED
    assert SNIPPETS.findings(typed(SKIPPED.replace(old, new))) == []


def test_outside_of_a_class_there_is_no_init_to_read_it_in():
    help_ = SNIPPETS.finding(typed("x = model.depth")).help
    assert help_ == "unwrap it first (`accelerator.unwrap_model(model).depth`), or read it before the model is wrapped"


def test_generate_is_another_rules():
    assert SNIPPETS.findings(hook("model.generate(**inputs)")) == []


def test_a_chain_leads_from_prepare():
    text = loop("print(model.config)")
    (step,) = SNIPPETS.finding(text).because
    assert step.text == "`prepare` wraps it here"
    assert "accelerator.prepare(" in text.splitlines()[step.start.line - 1]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (hook("print(model.config)", "compute_loss"), "model.config"),
        (hook("print(model.config)", "prediction_step"), "model.config"),
        (hook("print(self.model_wrapped.config)"), "self.model_wrapped.config"),
        (hook("bare = model\nprint(bare.config.vocab_size)"), "bare.config"),
        (hook("print(model.my_own_attribute)"), "model.my_own_attribute"),
        (hook("self._read(model)") + "    def _read(self, m):\n        return m.config\n", "m.config"),
        (loop("def read(m):\n    return m.config\nread(model)"), "m.config"),
        (loop("model.config.use_cache = False"), "model.config"),
        (
            "import torch\ndef f(net: torch.nn.Module):\n    m = torch.nn.DataParallel(net)\n    m.config\n",
            "m.config",
        ),
    ],
)
def test_wrapped_models_are_followed(text, where):
    assert shown(text, SNIPPETS.finding(text)) == where


@pytest.mark.parametrize(
    "body",
    [
        "print(self.model.config)",
        "print(self.accelerator.unwrap_model(model).config)",
        "model = self.accelerator.unwrap_model(model)\nprint(model.config)",
        "print(model.module.config)",
        "print(model.training, list(model.parameters()), model.device_ids)",
        "model.train()\nmodel.eval()\nmodel(**inputs)",
        "if hasattr(model, 'config'):\n    print(model.config)",
        "print(getattr(model, 'config', None))",
        "try:\n    config = model.config\nexcept AttributeError:\n    config = None",
        "if hasattr(model, 'module'):\n    model = model.module\nprint(model.config)",
        "while hasattr(model, 'module'):\n    model = model.module\nprint(model.config)",
        "print(unknown(model).config)",
        "print(inputs.config, self.args.config)",
    ],
)
def test_right_code_in_a_hook_is_silent(body):
    assert SNIPPETS.findings(hook(body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "print(accelerator.unwrap_model(model).config)",
        "print(model.module.config)",
        "print(optimizer.param_groups, loader.dataset)",
        "model.eval()\nprint(model.training)",
        "if hasattr(model, 'config'):\n    print(model.config)",
        # Whatever the condition is, it is about the wrapper: the other branch unwraps it.
        "if args.distributed:\n    print(model.module.config)\nelse:\n    print(model.config)",
        "if args.single:\n    print(model.config)\nelse:\n    print(model.module.config)",
        "print(model.config if args.parallel_mode.value != 'distributed' else model.module.config)",
        # `torch.compile` is around the wrapper.
        "own = model if not args.torch_compile else model._orig_mod",
    ],
)
def test_right_code_in_a_loop_is_silent(body):
    assert SNIPPETS.findings(loop(body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "if args.distributed:\n    print(model.module.config)\nelse:\n    print(1)\nprint(model.config)",
        "print(1 if args.single else model.module.config)\nprint(model.config)",
        "if args.distributed:\n    print(other.module.config)\nelse:\n    print(model.config)",
    ],
)
def test_beside_a_test_for_the_wrapper_nothing_is_known_of_it(body):
    assert len(SNIPPETS.findings(loop(body))) == 1


@pytest.mark.parametrize(
    ("test", "is_reported"),
    [
        ("accelerator.distributed_type == DistributedType.TPU", False),
        ("accelerator.state.distributed_type == DistributedType.XLA", False),
        ("accelerator.distributed_type in (DistributedType.TPU, DistributedType.XLA)", False),
        ("step and accelerator.distributed_type == DistributedType.TPU", False),
        ("kind == Kind.TPU", False),
        ("accelerator.distributed_type != DistributedType.TPU", True),
        ("accelerator.distributed_type == DistributedType.MULTI_GPU", True),
        ("accelerator.distributed_type in (DistributedType.TPU, DistributedType.MULTI_GPU)", True),
        ("step or accelerator.distributed_type == DistributedType.TPU", True),
        ("kind == Own.TPU", True),
    ],
)
def test_on_a_tpu_there_is_no_wrapper(test, is_reported):
    imports = "from accelerate import DistributedType\nfrom accelerate.utils import DistributedType as Kind\n"
    own = "class Own:\n    TPU = 'an accelerator'\n"
    body = f"kind = accelerator.distributed_type\nif {test}:\n    print(model.config)\n"
    assert len(SNIPPETS.findings(imports + own + loop(body))) == is_reported
    behind = imports + own + loop(body + "print(model.config)\n")
    assert [len(each.also) for each in SNIPPETS.findings(behind)] == [is_reported]
    if not test.startswith("step "):
        otherwise = loop(f"if {test}:\n    pass\nelse:\n    print(model.config)\n".replace("kind", "step"))
        assert len(SNIPPETS.findings(imports + own + otherwise)) == ("!=" not in test)


def test_what_is_read_before_it_is_wrapped_is_right():
    text = loop("print(config)").replace("    model, optimizer", "    config = model.config\n    model, optimizer")
    assert SNIPPETS.findings(text) == []


def test_a_configuration_cached_in_the_constructor_is_right():
    text = trainer("""
        def __init__(self, model, *args, **kwargs):
            super().__init__(model, *args, **kwargs)
            self.is_encoder_decoder = self.model.config.is_encoder_decoder
            self.vocab_size = model.config.vocab_size

        def training_step(self, model, inputs, num_items_in_batch=None):
            return self.is_encoder_decoder
    """)
    assert SNIPPETS.findings(text) == []


def test_the_model_of_a_callback_is_bare():
    text = (
        "from transformers import TrainerCallback\n"
        "class C(TrainerCallback):\n"
        "    def on_step_end(self, args, state, control, model=None, **kwargs):\n"
        "        print(model.config)\n"
    )
    assert SNIPPETS.findings(text) == []


# --- the fix: its result --------------------------------------------------------------------------------


def mended(text: str) -> str:
    """The text after `--fix`, which has no such finding any more and is still Python."""
    result = SNIPPETS.mended(text)
    assert SNIPPETS.findings(result) == []
    compile(result, "mended", "exec")
    return result


def changed(text: str) -> tuple[list[str], list[str]]:
    """The lines that `--fix` removes and adds, without their indentation."""
    before, after = text.splitlines(), mended(text).splitlines()
    edits = list(unified_diff(before, after, lineterm="", n=0))[2:]
    return tuple([line[1:].strip() for line in edits if line[0] == sign] for sign in "-+")


def put_in(text: str) -> list[str]:
    return changed(text)[1]


CONSTRUCTOR = """\
def __init__(self, model, *args, **kwargs):
    super().__init__(model, *args, **kwargs)
"""


def typed(body: str) -> str:
    """A loop whose model is known to be one before anything is read from it."""
    return loop(body).replace("train(model,", "train(model: torch.nn.Module,")


UNWRAPPED = "self.accelerator.unwrap_model(model).config"


def built(body: str, name: str = "training_step", constructor: str = CONSTRUCTOR, more: str = "") -> str:
    """A Trainer subclass with a constructor and a hook."""
    method = f"def {name}(self, model, inputs, *args, **kwargs):\n" + indent(dedent(body).strip("\n"), "    ")
    return trainer("\n\n".join(part.strip("\n") for part in (constructor, method, dedent(more)) if part))


CACHED = ["self.depth = self.model.config.depth", "print(self.depth)"]
READ = "print(model.config.depth)"


def test_a_plain_chain_is_cached_behind_the_constructor_call():
    assert changed(built(READ)) == ([READ], CACHED)
    text = mended(built(READ, constructor=CONSTRUCTOR + "    self.more = 1\n"))
    lines = [line.strip() for line in text.splitlines()]
    where = lines.index("super().__init__(model, *args, **kwargs)")
    assert lines[where + 1 : where + 3] == ["self.depth = self.model.config.depth", "self.more = 1"]


@pytest.mark.parametrize(
    "constructor",
    [
        "def __init__(self, *args, **kwargs):\n    super().__init__(*args, **kwargs)\n",
        "def __init__(self, *args, **kwargs):\n    super(MyTrainer, self).__init__(*args, **kwargs)\n",
        "def __init__(self, model):\n    if model is None:\n        raise ValueError\n    super().__init__(model)\n",
        "def __init__(self, model):\n    super().__init__(\n        model=model,\n    )  # kept\n\n    self.more = 1\n",
        "def __init__(self, model):\n    super().__init__(model)\n    if model:\n        return\n    self.x = 1\n",
    ],
)
def test_constructors_that_cache(constructor):
    text = built(READ, constructor=constructor)
    assert changed(text) == ([READ], CACHED)


def test_self_may_have_another_name():
    text = built(READ, constructor="def __init__(this, model):\n    super().__init__(model)\n")
    assert put_in(text) == ["this.depth = this.model.config.depth", "print(self.depth)"]


@pytest.mark.parametrize(
    "constructor",
    [
        "",
        "def __init__(self, model):\n    if model:\n        super().__init__(model)\n",
        "def __init__(self, model):\n    with unknown():\n        super().__init__(model)\n",
        "def __init__(self, model):\n    if model:\n        return\n    super().__init__(model)\n",
        "def __init__(self, model):\n    super().__init__(model)\n    super().__init__(model)\n",
        "def __init__(self, model):\n    super().__init__(model); self.x = 1\n",
        "def __init__(self, model): super().__init__(model)\n",
        "def __init__(self, model):\n    Trainer.__init__(self, model)\n",
        "def __init__(self, model):\n    self.training_step(model, {})\n    super().__init__(model)\n",
        "def __init__(self, model):\n    super().__init__(model, self._early())\n\n"
        "def _early(self):\n    return self.training_step\n",
    ],
)
def test_constructors_that_do_not_cache(constructor):
    assert put_in(built(READ, constructor=constructor)) == [f"print({UNWRAPPED}.depth)"]


@pytest.mark.parametrize(
    "write",
    [
        "self.model.config.depth = 2",
        "self.args.config.depth += 2",
        "model_config = self.model.config\nmodel_config.depth = 2",
        "del self.model.config.depth",
        "self.x, self.model.config.depth = 1, 2",
        "for self.model.config.depth in range(2):\n    pass",
        "setattr(self.model.config, 'depth', 2)",
        "setattr(self.model.config, self.args.name, 2)",
        "self.model.config.update({'depth': 2})",
        "self.model.config = self.args.config",
    ],
)
def test_what_is_written_in_sight_is_not_cached(write):
    more = "def anywhere(self):\n" + indent(write, "    ")
    assert put_in(built(READ, more=more)) == [f"print({UNWRAPPED}.depth)"]


@pytest.mark.parametrize(
    "write", ["self.model.config.width = 2", "setattr(self.model.config, 'width', 2)", "self.args.update(depth=2)"]
)
def test_what_else_is_written_does_not_matter(write):
    assert put_in(built(READ, more=f"def anywhere(self):\n    {write}")) == CACHED


def test_a_table_knows_the_methods_that_write_to_a_config():
    more = "def grow(self):\n    self.model.resize_token_embeddings(8)"
    assert put_in(built("print(model.config.vocab_size)", more=more)) == [f"print({UNWRAPPED}.vocab_size)"]
    assert put_in(built(READ, more=more)) == CACHED


@pytest.mark.parametrize("name", ["pad_token_id", "eos_token_id", "use_cache"])
def test_what_trainer_itself_writes_is_not_cached(name):
    assert put_in(built(f"print(model.config.{name})")) == [f"print({UNWRAPPED}.{name})"]


@pytest.mark.parametrize(
    "body",
    [
        "if inputs:\n    print(model.config.depth)",
        "for x in inputs:\n    print(x and model.config.depth)",
        "if inputs:\n    return 1\nprint(model.config.depth)",
        "try:\n    print(model.config.depth)\nexcept KeyError:\n    pass",
        "print(inputs and model.config.depth)",
        "print(1 if inputs else model.config.depth)",
        "print([model.config.depth for x in inputs])",
    ],
)
def test_what_may_never_be_read_is_not_asked_of_every_config(body):
    assert put_in(built(body)) == [
        line.strip().replace("model.config", UNWRAPPED) for line in body.splitlines() if "model.config" in line
    ]
    sure = body.replace("depth", "is_encoder_decoder")
    assert put_in(built(sure))[0] == "self.is_encoder_decoder = self.model.config.is_encoder_decoder"


@pytest.mark.parametrize(
    "body",
    [
        "with torch.no_grad():\n    print(model.config.depth)",
        "if model.config.depth:\n    print(1)",
        "x = 1 if model.config.depth else 2",
        "if inputs:\n    raise ValueError\nprint(model.config.depth)",
        "for x in inputs:\n    if x:\n        break\nprint(model.config.depth)",
        "print(f'{model.config.depth:>3}', [1, 2][model.config.depth], model.config.depth[0])",
    ],
)
def test_what_each_step_reads_is_cached(body):
    taken, new = changed(built(body))
    assert new == [CACHED[0], *(line.replace("model.config.depth", "self.depth") for line in taken)]


def test_only_a_hook_of_each_step_is_sure_to_read():
    assert put_in(built(READ, "compute_loss")) == CACHED
    assert put_in(built(READ, "prediction_step")) == [f"print({UNWRAPPED}.depth)"]


# --- an attribute that is there already ------------------------------------------------------------------


@pytest.mark.parametrize(
    "constructor",
    [
        CONSTRUCTOR + "    self.kept = self.model.config.depth\n",
        CONSTRUCTOR + "    self.kept = model.config.depth\n",
        "def __init__(self, model, x):\n    self.kept = model.config.depth\n    super().__init__(model)\n",
        "def __init__(self, x, model):\n    super().__init__(args=x, model=model)\n"
        "    self.kept = model.config.depth\n",
    ],
)
def test_an_attribute_from_the_same_place_is_reused(constructor):
    assert changed(built(READ, constructor=constructor)) == ([READ], ["print(self.kept)"])
    # Even if it is not sure to be read: the config needs no other attribute.
    assert put_in(built(READ, "prediction_step", constructor)) == ["print(self.kept)"]


@pytest.mark.parametrize(
    "constructor",
    [
        CONSTRUCTOR + "    self.kept = self.args.config.depth\n",
        CONSTRUCTOR + "    self.kept = model.config.width\n",
        CONSTRUCTOR + "    if model:\n        self.kept = model.config.depth\n",
        CONSTRUCTOR + "    self.kept = model.config.depth\n    self.kept = 2\n",
        "def __init__(self, model):\n    model = unknown(model)\n    super().__init__(model)\n"
        "    self.kept = model.config.depth\n",
        "def __init__(self, model, other):\n    super().__init__(model)\n    self.kept = other.config.depth\n",
        "def __init__(self, other, model):\n    super().__init__(other, model)\n    self.kept = model.config.depth\n",
    ],
)
def test_other_attributes_are_not_reused(constructor):
    assert put_in(built(READ, constructor=constructor)) == CACHED


def test_an_attribute_that_others_assign_is_not_reused():
    constructor = CONSTRUCTOR + "    self.kept = model.config.depth\n"
    assert put_in(built(READ, constructor=constructor, more="def x(self):\n    self.kept = 1")) == CACHED


def test_an_attribute_of_a_base_in_sight_is_reused():
    base = trainer(CONSTRUCTOR + "    self.kept = model.config.depth\n")
    below = "class Below(MyTrainer):\n    def training_step(self, model, inputs):\n        " + READ + "\n"
    assert put_in(base + below) == ["print(self.kept)"]
    constructor = "    def __init__(self, model):\n        {}.__init__(model)\n"
    assert put_in(base + below + constructor.format("super()")) == ["print(self.kept)"]
    # Whether the base's constructor runs is unknown.
    assert put_in(base + below + constructor.format("unknown")) == [f"print({UNWRAPPED}.depth)"]


@pytest.mark.parametrize(("first", "kept"), [("model", True), ("judge", False)])
def test_what_is_handed_on_first_is_the_model_if_the_base_says_so(first, kept):
    base = f"    def __init__(self, {first}, *args):\n        super().__init__(*args)\n"
    text = "from transformers import Trainer\nclass Base(Trainer):\n" + base
    constructor = f"def __init__(self, {first}, *args):\n    super().__init__({first}, *args)\n"
    constructor += f"    self.kept = {first}.config.depth\n"
    text += built(READ, constructor=constructor).replace("(Trainer)", "(Base)")
    assert put_in(text) == (["print(self.kept)"] if kept else CACHED)


def test_a_base_beside_the_trainer_may_not_go_on_to_it():
    mixin = "class Mixin:\n    def __init__(self, x):\n        {}\n"
    text = built(READ).replace("(Trainer)", "(Mixin, Trainer)")
    assert put_in(mixin.format("self.x = x") + text) == [f"print({UNWRAPPED}.depth)"]
    assert put_in(mixin.format("super().__init__(x)") + text) == CACHED


def test_an_attribute_that_comes_too_late_is_not_reused():
    constructor = CONSTRUCTOR + "    self.training_step(self.model_wrapped, {})\n    self.kept = model.config.depth\n"
    assert put_in(built(READ, constructor=constructor)) == CACHED


# --- names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        "depth = 2",
        "depth: int",
        "def depth(self):\n    pass",
        "def other(self):\n    self.depth = 2",
        "def other(self):\n    print(self.depth)",
    ],
)
def test_a_taken_name_gets_another(more):
    assert put_in(built(READ, more=more)) == [
        "self.model_depth = self.model.config.depth",
        "print(self.model_depth)",
    ]


def test_a_second_name_may_be_taken_as_well():
    more = "depth = model_depth = 2"
    assert put_in(built(READ, more=more)) == [
        "self._model_depth = self.model.config.depth",
        "print(self._model_depth)",
    ]


def test_a_name_of_a_base_or_a_subclass_is_taken():
    text = "from transformers import Trainer\nclass Base(Trainer):\n    depth = 1\n"
    text += built(READ).replace("(Trainer)", "(Base)") + "class Below(MyTrainer):\n    model_depth = 1\n"
    assert put_in(text)[0] == "self._model_depth = self.model.config.depth"


@pytest.mark.parametrize("name", ["label_names", "num_examples", "is_in_train"])
def test_a_name_of_trainer_is_taken(name):
    assert put_in(built(f"print(model.config.{name})"))[0] == f"self.model_{name} = self.model.config.{name}"


def test_a_name_of_a_trainer_of_trl_is_taken():
    text = built("print(model.config.is_encoder_decoder)").replace("(Trainer)", "(DPOTrainer)")
    text = text.replace("from transformers import Trainer", "from trl import DPOTrainer")
    assert put_in(text)[0] == "self.model_is_encoder_decoder = self.model.config.is_encoder_decoder"


def test_two_reads_share_one_attribute():
    text = built("print(model.config.depth, model.config.depth)\nprint(model.config.width)")
    assert put_in(text) == [
        "self.depth = self.model.config.depth",
        "self.width = self.model.config.width",
        "print(self.depth, self.depth)",
        "print(self.width)",
    ]


# --- whose config it is ---------------------------------------------------------------------------------

DECODER = "print(model.config.is_encoder_decoder)"
CACHED_DECODER = ["self.is_encoder_decoder = self.model.config.is_encoder_decoder", "print(self.is_encoder_decoder)"]


def helped(*calls: str) -> str:
    """A helper that reads from the model that it is passed, and a hook that calls it."""
    more = "def _help(self, model):\n    " + DECODER
    return built("\n".join(calls), more=more, constructor=CONSTRUCTOR + "    self.ref_model = kwargs['ref']\n")


def test_a_helper_that_gets_the_trained_model_reads_the_cached_attribute():
    assert put_in(helped("self._help(model)")) == CACHED_DECODER
    bare = "self._help(self.accelerator.unwrap_model(model))"
    assert put_in(helped("self._help(model)", "self._help(self.model_wrapped)", bare)) == CACHED_DECODER


@pytest.mark.parametrize(
    "other",
    [
        "self._help(self.ref_model)",
        "self._help(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1)))",
    ],
)
def test_a_helper_that_gets_other_models_as_well_reads_from_the_one_it_got(other):
    assert put_in(helped("self._help(model)", other)) == [DECODER.replace("model.config", UNWRAPPED)]


def test_a_model_that_is_chosen_is_unwrapped_as_it_is():
    body = "other = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))\n"
    body += "model = model if inputs else other\n" + DECODER
    assert put_in(built(body)) == [DECODER.replace("model.config", UNWRAPPED)]


def test_another_model_is_not_cached_from_the_trained_one():
    constructor = CONSTRUCTOR + "    self.judge = self.accelerator.prepare(torch.nn.Linear(1, 1))\n"
    text = built("print(self.judge.config.depth)", constructor=constructor)
    assert put_in(text) == ["print(self.accelerator.unwrap_model(self.judge).config.depth)"]


def test_the_wrapped_model_of_the_trainer_is_the_trained_one():
    assert put_in(built("print(self.model_wrapped.config.depth)")) == CACHED


def test_a_trainer_whose_model_is_the_wrapper_does_not_cache():
    constructor = CONSTRUCTOR + "    self.model = self.accelerator.prepare(self.model)\n"
    assert put_in(built(READ, constructor=constructor)) == [f"print({UNWRAPPED}.depth)"]


def test_a_trainer_that_has_a_loop_of_its_own_does_not_cache():
    text = built(READ).replace("from transformers import Trainer", "from trl import RLOOTrainer as Trainer")
    assert [line for line in put_in(text) if "self.depth" in line] == []


def test_a_base_out_of_sight_may_call_anything():
    text = built(READ).replace("MyTrainer(Trainer)", "MyTrainer(Mixin, Trainer)")
    assert put_in("from elsewhere import Mixin\n" + text) == [f"print({UNWRAPPED}.depth)"]


@pytest.mark.parametrize(
    "below",
    [
        "    def __init__(self):\n        pass\n",
        "    def __init__(self, model):\n        self.training_step(model, {})\n        super().__init__(model)\n",
    ],
)
def test_a_subclass_that_does_not_run_the_constructor_first(below):
    assert put_in(built(READ) + "class Below(MyTrainer):\n" + below) == [f"print({UNWRAPPED}.depth)"]


def test_a_subclass_that_does():
    below = "class Below(MyTrainer):\n    def __init__(self, model):\n        super().__init__(model)\n"
    assert put_in(built(READ) + below) == CACHED


def test_a_static_method_has_no_self():
    more = "@staticmethod\ndef _help(model, accelerator):\n    " + DECODER
    text = built("self._help(model, self.accelerator)", more=more)
    assert put_in(text) == ["print(accelerator.unwrap_model(model).config.is_encoder_decoder)"]


def test_a_nested_function_is_mended_in_place():
    body = "def read():\n    return model.config.is_encoder_decoder\nprint(read())"
    assert put_in(built(body)) == [f"return {UNWRAPPED}.is_encoder_decoder"]


# --- read from the unwrapped model ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "new"),
    [
        ("model.config", "accelerator.unwrap_model(model).config"),
        ("model.config.depth", "accelerator.unwrap_model(model).config.depth"),
        ("model.config.text_config.depth", "accelerator.unwrap_model(model).config.text_config.depth"),
        ("model.config.to_dict()", "accelerator.unwrap_model(model).config.to_dict()"),
        ("model.config.id2label[0]", "accelerator.unwrap_model(model).config.id2label[0]"),
        ("isinstance(model.config, dict)", "isinstance(accelerator.unwrap_model(model).config, dict)"),
        ("f'{model.config.depth!r:>{4}}'", "f'{accelerator.unwrap_model(model).config.depth!r:>{4}}'"),
        ("getattr(model.config, 'x', 1)", "getattr(accelerator.unwrap_model(model).config, 'x', 1)"),
        ("getattr(model, 'config').depth", "getattr(accelerator.unwrap_model(model), 'config').depth"),
        ("(model . config) . depth", "(accelerator.unwrap_model(model) . config) . depth"),
        ("(model).dtype", "accelerator.unwrap_model((model)).dtype"),
        ("model.generation_config", "accelerator.unwrap_model(model).generation_config"),
        ("model.name_or_path", "accelerator.unwrap_model(model).name_or_path"),
        ("model.peft_config['default']", "accelerator.unwrap_model(model).peft_config['default']"),
    ],
)
def test_plain_data_is_read_from_the_unwrapped_model(read, new):
    text = typed("pass") + f"    print({read})  # kept\n"
    assert changed(text) == ([f"print({read})  # kept"], [f"print({new})  # kept"])


def test_a_comment_in_a_chain_is_kept():
    text = loop("pass") + "    print(\n        model  # why\n        .config.depth\n    )\n"
    assert "# why" in mended(text)
    text = built("print(model\n    # why\n    .config.depth)")
    assert "# why" in mended(text)


def test_the_model_of_a_trainer_that_is_read_from_elsewhere():
    text = (
        "from transformers import Trainer, TrainerCallback\n"
        "class C(TrainerCallback):\n"
        "    def __init__(self, trainer: Trainer):\n"
        "        self.trainer = trainer\n"
        "    def on_log(self, args, state, control, **kwargs):\n"
        "        print(self.trainer.model_wrapped.config)\n"
    )
    trainer_of = "self.trainer"
    assert put_in(text) == [f"print({trainer_of}.accelerator.unwrap_model({trainer_of}.model_wrapped).config)"]


def test_in_the_constructor_the_accelerator_must_be_there():
    wrap = "other = torch.nn.DataParallel(torch.nn.Linear(1, 1))\n    "
    late = f"def __init__(self, model):\n    super().__init__(model)\n    {wrap}print(other.config)\n"
    assert put_in(trainer(late)) == ["print(self.accelerator.unwrap_model(other).config)"]
    early = f"def __init__(self, model):\n    {wrap}print(other.config)\n    super().__init__(model)\n"
    assert reason(trainer(early)) == "there is no accelerator yet: `super().__init__` comes later"


# --- once before a loop ---------------------------------------------------------------------------------


def test_in_a_loop_the_config_is_bound_once_before_it():
    assert changed(loop("print(model.config.depth)\nprint(model.config)")) == (
        ["print(model.config.depth)", "print(model.config)"],
        ["config = accelerator.unwrap_model(model).config", "print(config.depth)", "print(config)"],
    )


def test_the_binding_stands_right_before_the_outermost_loop():
    text = loop("pass") + "\n    # twice\n    while unknown():\n        for x in loader:\n"
    text += "            print(model.config.depth)\n"
    lines = [line.strip() for line in mended(text).splitlines()]
    where = lines.index("config = accelerator.unwrap_model(model).config")
    assert lines[where + 1 : where + 3] == ["# twice", "while unknown():"]


def test_the_test_of_a_loop_is_inside_and_what_it_goes_over_is_not():
    text = loop("pass") + "    while model.config.depth:\n        pass\n"
    assert put_in(text) == ["config = accelerator.unwrap_model(model).config", "while config.depth:"]
    text = loop("pass") + "    for x in range(model.config.depth):\n        pass\n"
    assert put_in(text) == ["for x in range(accelerator.unwrap_model(model).config.depth):"]


@pytest.mark.parametrize(
    "body",
    [
        "if unknown(step):\n    print(model.config.depth)",
        "if unknown(step):\n    continue\nprint(model.config.depth)",
        "print([model.config.depth for x in batch])",
        "def f():\n    return model.config.depth\nprint(f())",
        "print(model.config.depth)\naccelerator = Accelerator()",
        "print(model.config.depth)\nother.config = 1",
        "print(model.dtype)",
    ],
)
def test_in_a_loop_it_may_have_to_be_read_in_place(body):
    text = typed(body)
    new = [line.strip().replace("model.", "accelerator.unwrap_model(model).") for line in body.splitlines()]
    assert put_in(text) == [line for line in new if "unwrap_model" in line]


def test_a_model_that_a_loop_binds_is_read_before_the_inner_loop():
    text = loop("pass") + (
        "    for trial in range(2):\n"
        "        model = accelerator.prepare(torch.nn.Linear(1, 1))\n"
        "        for x in loader:\n"
        "            print(model.config.depth)\n"
    )
    lines = mended(text).splitlines()
    where = lines.index("        config = accelerator.unwrap_model(model).config")
    assert lines[where + 1 : where + 3] == ["        for x in loader:", "            print(config.depth)"]


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("config = 1", "model_config"),
        ("config = model_config = 1", "bare_model_config"),
        ("def f(config):\n        return config", "model_config"),
        ("print(accelerator.config)\n    f(config=1)", "config"),
    ],
)
def test_the_name_is_one_that_the_function_does_not_use(before, name):
    text = loop("print(model.config.depth)").replace("    for step", f"    {before}\n    for step")
    assert put_in(text) == [f"{name} = accelerator.unwrap_model(model).config", f"print({name}.depth)"]


def test_two_models_get_two_names():
    text = loop("print(model.config.depth, judge.config.depth)").replace(
        "    for step", "    judge = accelerator.prepare(torch.nn.Linear(1, 1))\n    for step"
    )
    assert sorted(put_in(text)) == [
        "config = accelerator.unwrap_model(model).config",
        "judge_config = accelerator.unwrap_model(judge).config",
        "print(config.depth, judge_config.depth)",
    ]


def test_a_script_has_its_loop_at_the_top():
    text = (
        "from accelerate import Accelerator\nimport torch\naccelerator = Accelerator()\n"
        "model = accelerator.prepare(torch.nn.Linear(1, 1))\n"
        "for x in range(2):\n    print(model.config.depth)\n"
    )
    assert put_in(text) == ["config = accelerator.unwrap_model(model).config", "print(config.depth)"]
    other = text + "def f():\n    global model\n    model = None\n"
    assert put_in(other) == ["print(accelerator.unwrap_model(model).config.depth)"]


# --- hints ----------------------------------------------------------------------------------------------


def reason(text: str, unsafe: bool = True) -> str:
    """Why the one finding of a text is a hint; no fix of any level changes the text."""
    finding = SNIPPETS.finding(text)
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY
    assert SNIPPETS.fix(text.encode(), unsafe=unsafe).source == text.encode()
    return finding.fix.reason


CALLED = "it is called: on the bare model a forward would not synchronise the gradients"
MODULE = "it is a module: a forward through it would not synchronise the gradients"
PARAMETER = "it is a parameter: an engine may have sharded it"
CUSTOM = "it is not known whether it is a module, a parameter or a property"
WRITTEN = "it is also written"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("model.merge_adapter(**inputs)", CALLED),
        ("with model.disable_adapter():\n    pass", CALLED),
        ("model.get_input_embeddings()", CALLED),
        ("print(model.lm_head.weight)", MODULE),
        ("print(model.base_model)", MODULE),
        ("print(model.weight.norm())", PARAMETER),
        ("print(model.my_own_attribute)", CUSTOM),
        ("print(model.active_adapter)", CUSTOM),
        ("model.config.use_cache = False", WRITTEN),
        ("model.config.depth += 1", WRITTEN),
        ("model.config = self.args.config", None),
        ("del model.config.depth", WRITTEN),
        ("model.config.labels['x'] = 1", WRITTEN),
        ("model.config.text_config.depth = 1", WRITTEN),
        ("x, model.config.depth = 1, 2", WRITTEN),
        ("setattr(model.config, 'depth', 1)", WRITTEN),
        ("model.config.update({'depth': 1})", WRITTEN),
    ],
)
def test_a_hint_says_why(body, why):
    for text in (hook(body), built(body)):
        if why is None:  # the wrapper itself is given an attribute: nothing is read from it
            assert SNIPPETS.findings(text) == []
        else:
            assert reason(text) == why


def test_what_is_saved_and_restored_belongs_together():
    body = "before = model.config.depth\nmodel.config.depth = 2\nmodel.config.depth = before"
    found = SNIPPETS.findings(built(body))
    near = "the same function writes it through the wrapper, and reads and writes must use the same object"
    assert [finding.fix.reason for finding in found] == [near]
    assert [each.start.line for each in found[0].also] == [found[0].start.line + 1, found[0].start.line + 2]


def test_what_is_called_on_one_model_in_a_function_is_one_finding():
    calls = "model.freeze()\nmodel.encode(1)\nmodel.decode(2)\nprint(model.depth, model.width)"
    found = SNIPPETS.findings(loop(calls))
    assert [
        [finding.message.split("`")[1], *(each.message.split("`")[1] for each in finding.also)] for finding in found
    ] == [
        [".freeze", ".encode", ".decode"],
        [".depth"],
        [".width"],
    ]


def test_the_head_of_a_wrapped_model_is_a_hint_even_if_it_is_unwrapped():
    text = typed("head = accelerator.unwrap_model(model.lm_head)")
    assert reason(text) == MODULE


def test_what_is_read_in_another_way_is_a_hint():
    text = built("read = getattr\nprint(read(model, 'config'))")
    assert reason(text) == "it is not known how it is read"
    assert reason(built("read = model.merge_adapter\nread(**inputs)")) == CUSTOM


def test_without_an_accelerator_the_help_says_what_to_write():
    text = "import torch\ndef f(net: torch.nn.Module):\n    m = torch.nn.DataParallel(net)\n    print(m.config.depth)\n"
    assert reason(text) == "no `Accelerator` is available here to unwrap the model"
    assert SNIPPETS.finding(text).help == (
        "read it before the model is wrapped (`config = model.config`), and use that here"
    )


def test_the_wrapper_is_never_taken_off_for_good():
    for text in (built(READ), loop(READ), hook(READ)):
        assert ".module" not in mended(text)
        assert "model = " not in "".join(put_in(text))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_everything_else_stays_to_the_byte(newline):
    text = built("x = [ 1,2 ]  # \u00e9\nprint( model . config . depth )  # why\n" + READ).replace("\n", newline)
    source = text.encode()
    result = SNIPPETS.fix(source).source
    kept = [line for line in result.splitlines() if b"self.depth = " not in line]
    assert b"".join(result.splitlines()).count(b"self.depth = self.model.config.depth") == 1
    assert kept == [
        line.replace(b"model . config . depth", b"self.depth").replace(b"model.config.depth", b"self.depth")
        for line in source.splitlines()
    ]
    assert result.count(b"\n") == result.count(newline.encode()) == source.count(b"\n") + 1


@pytest.mark.parametrize(("call", "cached"), [("setup_chat_format(self.model, 1)", False), ("len(self.model)", True)])
def test_a_model_that_is_handed_on_in_the_constructor_may_get_another_config(call, cached):
    text = trainer(f"""
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            {call}

        def compute_loss(self, model, inputs, *args, **kwargs):
            return model(**inputs).loss * model.config.vocab_size
    """)
    mended = SNIPPETS.mended(text)
    assert ("self.vocab_size = self.model.config.vocab_size" in mended) == cached
    assert ("unwrap_model(model).config.vocab_size" in mended) != cached


@pytest.mark.parametrize(
    ("imported", "found"),
    [
        ("torch.nn.parallel import DistributedDataParallel as Wrapper", 1),
        ("torch.nn import DataParallel as Wrapper", 1),
        ("torch.distributed.fsdp import FullyShardedDataParallel as Wrapper", 0),
        ("somewhere import DDPModel as Wrapper", 0),
    ],
)
def test_a_wrapper_is_told_by_its_class_and_not_by_how_it_is_called(imported, found):
    asked = "if isinstance(model, Wrapper):\n        print(model.config)\n"
    hook = f"def compute_loss(self, model, inputs, *args):\n    {asked}"
    assert len(SNIPPETS.findings(f"from {imported}\n" + trainer(hook))) == found


@pytest.mark.parametrize(
    ("imported", "found"),
    [
        ("transformers import PreTrainedModel as Class", 0),
        ("transformers import LlamaForCausalLM as Class", 0),
        ("lightning import LightningModule as Class", 0),
        ("torch.nn import Module as Class", 1),
    ],
)
def test_a_wrapper_is_no_model_of_a_library(imported, found):
    text = f"from {imported}\n" + loop("if isinstance(model, Class):\n    print(model.config)")
    assert len(SNIPPETS.findings(text)) == found


@pytest.mark.parametrize(("attribute", "is_reported"), [("optimizer", False), ("backward", False), ("config", True)])
def test_what_only_an_engine_of_deepspeed_has_is_read_under_deepspeed(attribute: str, is_reported: bool):
    found = SNIPPETS.findings(loop(f"rate = model.{attribute}.param_groups[0]['lr']"))
    assert bool(found) is is_reported


# --- engines that forward attributes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "attribute", "speaks"),
    [
        ({}, "base_model", True),
        ({"run.sh": "deepspeed train.py --deepspeed ds.json\n"}, "base_model", False),
        # DeepSpeed's engine has its own `config`.
        ({"run.sh": "deepspeed train.py --deepspeed ds.json\n"}, "config", True),
        ({"run.sh": "deepspeed train.py --deepspeed ds.json\n"}, "config.name if args.named else ''", True),
        # The engine has no such attribute, and nothing fails.
        ({"run.sh": "deepspeed train.py --deepspeed ds.json\n"},
         "config.name if hasattr(model.config, 'name') and model.config.name else ''", False),
        ({"run.sh": "deepspeed train.py --deepspeed ds.json\n"},
         "config.name if hasattr(model.config, 'name') or args.named else ''", True),
        # A default instead of the model's value is a wrong number.
        ({"run.sh": "deepspeed train.py --deepspeed ds.json\n"},
         "training if getattr(model.config, 'name', '') else ''", True),
        ({"run.sh": "torchrun train.py\n"},
         "config.name if hasattr(model.config, 'name') and model.config.name else ''", True),
        ({"run.sh": "accelerate launch --use_fsdp train.py\n"}, "config", False),
        # The training may also be started differently.
        ({"run.sh": "accelerate launch --use_fsdp train.py\naccelerate launch train.py\n"}, "base_model", True),
        ({"run.sh": "accelerate launch --use_fsdp $SCRIPT\n", "a.yaml": "distributed_type: MULTI_GPU\n"},
         "base_model", True),
        # A launch of this program fully determines how it is run.
        ({"run.sh": "accelerate launch --use_fsdp train.py\n", "a.yaml": "distributed_type: MULTI_GPU\n"},
         "base_model", False),
        ({"a.yaml": "distributed_type: FSDP\n"}, "base_model", True),
        ({"run.sh": "deepspeed train.py\n"}, "base_model", True),
        ({"run.sh": "accelerate launch --config_file a.yaml train.py\n", "a.yaml": "distributed_type: FSDP\n"},
         "base_model", False),
        ({"run.sh": "accelerate launch --config_file b.yaml train.py\n", "a.yaml": "distributed_type: FSDP\n"},
         "base_model", True),
        ({"run.sh": "accelerate launch --config_file $KIND.yaml train.py\n",
          "a.yaml": "distributed_type: FSDP\nnum_processes: 2\n"}, "base_model", False),
        ({"run.sh": "accelerate launch train.py\n", "a.yaml": "distributed_type: FSDP\nnum_processes: 2\n"},
         "base_model", True),
        # One of the project's files, of which one starts a single process, which wraps nothing.
        ({"run.sh": "accelerate launch --config_file path/to/your_config train.py\n",
          "a.yaml": "distributed_type: FSDP\nnum_processes: 2\n", "b.yaml": "distributed_type: NO\nnum_processes: 1\n"},
         "base_model", False),
        ({"run.sh": "accelerate launch --config_file path/to/your_config train.py\n",
          "a.yaml": "distributed_type: FSDP\nnum_processes: 2\n",
          "b.yaml": "distributed_type: MULTI_GPU\nnum_processes: 2\n"}, "base_model", True),
    ],
)  # fmt: skip
def test_a_project_that_is_only_run_under_engines_that_hand_it_on(files, attribute, speaks, tmp_path):
    for name, content in {**files, "train.py": loop(f"print(model.{attribute})")}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
    assert bool(linter.check(tmp_path / "train.py", (tmp_path / "train.py").read_bytes())) is speaks


DEEPSPEED = "deepspeed --num_gpus 8 train.py --deepspeed ds.json\n"


@pytest.mark.parametrize(
    ("files", "speaks"),
    [
        ({"scripts/run.sh": DEEPSPEED}, False),
        ({"scripts/run.sh": DEEPSPEED, "README.md": "```sh\ntorchrun lib/train.py\n```\n"}, True),
        ({"scripts/run.sh": DEEPSPEED.replace("train.py", "other.py")}, True),
        # The nested project says itself how it is run.
        ({"scripts/run.sh": DEEPSPEED, "lib/run.sh": "torchrun train.py\n"}, True),
        ({"scripts/run.sh": "torchrun train.py\n", "lib/run.sh": DEEPSPEED}, False),
    ],
)
def test_a_nested_project_may_be_started_by_the_one_around_it(files: dict[str, str], speaks: bool, tmp_path: Path):
    inside = {"lib/setup.py": "", "lib/train.py": loop("print(model.base_model)")}
    for name, content in {"requirements.txt": "", **inside, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
    program = tmp_path / "lib/train.py"
    assert bool(linter.check(program, program.read_bytes())) is speaks


@pytest.mark.parametrize(
    ("files", "attribute", "by_default"),
    [
        ({"a.yaml": "distributed_type: FSDP\n"}, "base_model", False),
        ({"a.yaml": "distributed_type: DEEPSPEED\n"}, "base_model", False),
        # Another object, under DeepSpeed.
        ({"a.yaml": "distributed_type: DEEPSPEED\n"}, "config", True),
        ({"a.yaml": "distributed_type: FSDP\n", "b.yaml": "distributed_type: MULTI_GPU\n"}, "base_model", True),
        (
            {"a.yaml": "distributed_type: FSDP\n", "run.sh": "torchrun --nproc_per_node 2 train.py\n"},
            "base_model",
            True,
        ),
        ({}, "base_model", True),
    ],
)
def test_where_all_settings_are_of_engines_that_hand_it_on_it_has_to_be_asked_for(
    files, attribute, by_default, tmp_path
):
    for name, content in {**files, "train.py": loop(f"print(model.{attribute})")}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
    (finding,) = linter.check(tmp_path / "train.py", (tmp_path / "train.py").read_bytes())
    assert finding.by_default is by_default


STARTS_LOOP = """\
from accelerate import Accelerator, DeepSpeedPlugin
from training import train

{}
if __name__ == "__main__":
    train()
"""


@pytest.mark.parametrize(
    ("programs", "by_default"),
    [
        (["plugin = DeepSpeedPlugin(zero_stage=2)"], False),
        (["plugin = DeepSpeedPlugin(zero_stage=2)", "plugin = DeepSpeedPlugin(zero_stage=3)"], False),
        (["plugin = DeepSpeedPlugin(zero_stage=2)", "plugin = None"], True),
        (["plugin = None"], True),
    ],
)
def test_all_programs_of_a_file_may_choose_an_engine_that_hands_it_on(programs, by_default, tmp_path):
    """The settings of an engine are passed to `Accelerator`, whatever the command says that starts the program."""
    names = [f"start{number}.py" for number, _ in enumerate(programs)]
    files = {name: STARTS_LOOP.format(line) for name, line in zip(names, programs, strict=True)}
    files["run.sh"] = "".join(f"torchrun --nproc_per_node 8 {name}\n" for name in names)
    (finding,) = findings_in(
        tmp_path, {**files, "training.py": loop("print(model.base_model)")}, "training.py", "TRL002"
    )
    assert finding.by_default is by_default


@pytest.mark.parametrize(("code", "rule"), [("config", "TRL002"), ("generate(1)", "TRL010")])
def test_what_code_wraps_in_data_parallel_itself_is_no_engine(code, rule, tmp_path):
    model = "from transformers import AutoModel\nmodel = torch.nn.DataParallel(AutoModel.from_pretrained('x'))\n"
    (tmp_path / "run.sh").write_text("accelerate launch --use_fsdp train.py\n", encoding="utf-8")
    (tmp_path / "train.py").write_text(f"import torch\n{model}print(model.{code})\n", encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule(rule),))
    assert len(linter.check(tmp_path / "train.py", (tmp_path / "train.py").read_bytes())) == 1


@pytest.mark.parametrize(
    ("name", "attribute", "speaks"),
    [
        ("train_zero3_offload.py", "base_model", False),
        ("train_fsdp.py", "base_model", False),
        ("train_zero3_offload.py", "config", True),
        ("train_lora.py", "base_model", True),
    ],
)
def test_a_file_that_is_called_after_an_engine_is_run_under_it(name, attribute, speaks, tmp_path):
    (tmp_path / name).write_text(loop(f"print(model.{attribute})"), encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
    assert bool(linter.check(tmp_path / name, (tmp_path / name).read_bytes())) is speaks


@pytest.mark.parametrize(
    ("wrapper", "speaks"),
    [
        ("apex.parallel import DistributedDataParallel", True),
        ("apex.parallel.distributed import DistributedDataParallel", True),
        ("apex.parallel import SyncBatchNorm as DistributedDataParallel", False),
    ],
)
def test_the_wrapper_of_apex_is_one_too(wrapper, speaks):
    text = f"""\
import torch
from {wrapper}


class Net(torch.nn.Module):
    version = 1


def train():
    model = DistributedDataParallel(Net())
    print(model.version)
"""
    assert bool(SNIPPETS.findings(text)) is speaks


# --- attributes that `hasattr` does not find ------------------------------------------------------------

BY_HAND = """\
import functools
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(torch.nn.Module):
    def warm_up(self):
        self.steps = {}

def train(net, args):
    model = DDP(net)
"""


def by_hand(body: str) -> str:
    return BY_HAND + indent(body + "\n", "    ")


@pytest.mark.parametrize(
    "body",
    [
        "if hasattr(model, 'warm_up'):\n    model.warm_up()",
        "if args.warm and hasattr(model, 'warm_up'):\n    model.warm_up()",
        # The author knows of the wrapper, and yet tests it.
        "if hasattr(model, 'warm_up'):\n    model.module.warm_up()",
        "skip = model.warm_up() if hasattr(model, 'warm_up') else {}",
        "if not hasattr(model, 'warm_up'):\n    return\nmodel.warm_up()",
        "if not args.warm or not hasattr(model, 'warm_up'):\n    return None\nmodel.warm_up()",
    ],
)
def test_what_is_left_out_as_the_wrapper_lacks_it(body):
    finding = SNIPPETS.finding(by_hand(body))
    assert shown(by_hand(body), finding) == "hasattr(model, 'warm_up')"
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.message == (
        "`hasattr` looks for `warm_up` on `model`, a wrapped model: DDP does not have it, so that on several GPUs the "
        "code that depends on it is silently skipped"
    )
    assert finding.fix is not None and finding.fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize(
    "body",
    [
        "if hasattr(model, 'warm_up'):\n    model.warm_up()\nelse:\n    warm_up(model)",
        "if args.cold:\n    pass\nelif hasattr(model, 'warm_up'):\n    model.warm_up()",
        "if hasattr(model, 'warm_up'):\n    print('no wrapper')",
        "if hasattr(model, 'no_sync'):\n    model.no_sync()",
        "if not hasattr(model, 'warm_up'):\n    raise ValueError",
        "if not hasattr(model, 'warm_up'):\n    return args.steps\nmodel.warm_up()",
        "if not hasattr(model, 'warm_up'):\n    warm_up(model)\n    return\nmodel.warm_up()",
        "if not hasattr(model, 'warm_up'):\n    return\nprint('no wrapper')",
        "asked = functools.partial(hasattr, model, 'warm_up')\nif asked():\n    pass",
        "if hasattr(net, 'warm_up'):\n    net.warm_up()",
        "if hasattr(model, 'step'):\n    model.step()",
        "if hasattr(model, 'no_decay'):\n    skip = model.no_decay()",  # no known model has one
        "if hasattr(model, 'warm_up'):\n    model.warm_up()\nif hasattr(model, 'module'):\n    model.module.warm_up()",
        "bare = unwrap(model)\nif hasattr(model, 'warm_up'):\n    model.warm_up()",
        "steps = model.warm_up() if hasattr(model, 'warm_up') else args.steps",
    ],
)
def test_what_the_wrapper_lacks_is_not_missed_there(body):
    assert SNIPPETS.findings(by_hand(body)) == []


def test_what_is_left_out_where_a_setting_wraps_the_model():
    text = BY_HAND.replace("    model = DDP(net)", "    model = net\n    if args.spread:\n        model = DDP(net)")
    body = "    if hasattr(model, 'warm_up'):\n        model.warm_up()\n"
    assert shown(text + body, SNIPPETS.finding(text + body)) == "hasattr(model, 'warm_up')"
    assert SNIPPETS.findings(f"{text}    if not args.spread:\n{indent(body, '    ')}") == []


# --- wrapped by the `__init__` of a class below ---------------------------------------------------------

HEIR = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Base:
    def __init__(self, shared=None):
        if shared:
            self.net = shared["net"]

class Agent(Base):
    def __init__(self, shared=None):
{init}
    def ask(self, text):
        return self.net.encode_text(text)

class Heir(Agent):
    pass
"""
WRAPS = """\
if shared is None:
    self.net = build()
if shared is None and dist.is_initialized():
    self.net = DDP(self.net)"""
RUNS_BASE = "super().__init__(shared)"


@pytest.mark.parametrize(
    ("init", "number"),
    [
        (f"{RUNS_BASE}\n{WRAPS}", 1),
        (WRAPS, 0),
        (f"{WRAPS}\n{RUNS_BASE}", 0),  # the last assignment in the base is unknown
        (f"{RUNS_BASE}\nself.net = build()", 0),
    ],
)
def test_what_an_init_wraps_takes_the_place_of_what_a_base_has_assigned(init, number):
    text = HEIR.format(init=indent(init, " " * 8))
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == ["self.net.encode_text"] * number


# --- what is prepared -----------------------------------------------------------------------------------

PREPARED = (
    "from accelerate import Accelerator\n\ndef train(net, optimizer, loaders):\n    accelerator = Accelerator()\n"
)


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("model, optimizer, *loaders = accelerator.prepare(net, optimizer, *loaders)", True),
        ("model, optimizer, one, two = accelerator.prepare(net, optimizer, *loaders)", True),
        ("things = [net, optimizer]\n    model, optimizer = accelerator.prepare(*things)", True),
        ("*loaders, model = accelerator.prepare(*loaders, net)", False),
        ("optimizer, *others = accelerator.prepare(optimizer, *loaders)\n    model = net", False),
    ],
)
def test_what_is_prepared_with_a_star(line, speaks):
    text = f"{PREPARED}    {line}\n    print(model.config)\n"
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == ["model.config"] * speaks


GAN = """\
from accelerate import Accelerator

class Gan:
    def __init__(self, net, optimizer):
        self.accelerator = Accelerator()
        self.net, self.optimizer = self.accelerator.prepare(net, optimizer)

    def step(self, x):
        return self.net{called}(x)

    def sample(self, x):
        return self.net.mapping(x)
"""


@pytest.mark.parametrize(
    ("called", "speaks"),
    [
        ("", True),
        (".draw", False),
        # They have no parameters, either.
        (".parameters", True),
        (".requires_grad_", True),
        (".params", False),
    ],
)
def test_what_is_prepared_and_run_is_a_model(called, speaks):
    """Optimizers, schedulers and loaders are not called."""
    text = GAN.format(called=called)
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == ["self.net.mapping"] * speaks


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("optimizer = make(net.parameters())", True),
        ("for name, value in net.named_parameters():\n        print(name, value.numel())", True),
        ("optimizer = make(net)", False),
        ("optimizer = make(other.parameters())", False),
        ("net.requires_grad_(False)", False),  # it is left unchanged
    ],
)
def test_what_has_handed_out_parameters_before_it_is_prepared_is_a_model(line, speaks):
    text = f"{PREPARED}    {line}\n    net = accelerator.prepare(net)\n    print(net.dtype)\n"
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == ["net.dtype"] * speaks


KINDS = """\
import torch
from accelerate import Accelerator

def compiled(model, blocks):
    for index, block in enumerate(blocks):
        blocks[index] = torch.compile(block)
    {back}

{classes}
def others():
    return {others}

def main():
    accelerator = Accelerator()
    model = compiled({given}, [])
    print(model.depth)
"""
CLASS = """\
class Net{}(torch.nn.Module):
    depth = 4

    def forward(self, x):
        return x

"""


@pytest.mark.parametrize(
    ("back", "given", "speaks"),
    [
        ("return model", "accelerator.prepare(Net0())", True),
        ("return model", "Net0()", False),
        # What is done to it there may matter.
        ("return blocks[0](model)", "accelerator.prepare(Net0())", False),
        ("model = inside(model)\n    return model", "accelerator.prepare(Net0())", False),
    ],
)
def test_a_function_for_many_kinds_of_models_hands_each_of_them_back(back, given, speaks):
    """Beyond some contexts, calls share a run, in which only the common facts of the models are known."""
    made = ", ".join(f"compiled(Net{index}(), [])" for index in range(16))
    text = KINDS.format(back=back, classes="".join(map(CLASS.format, range(16))), others=made, given=given)
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == ["model.depth"] * speaks


PREPARED_BESIDE = """\
from accelerate import Accelerator
from transformers import AutoTokenizer

def main(net, {parameter}texts):
    accelerator = Accelerator()
    {making}
    net, {name} = accelerator.prepare(net, {name})
    rows = {name}(texts)
    return net(rows), {name}.eos_token_id
"""


@pytest.mark.parametrize(
    ("name", "making", "speaks"),
    [
        ("maker", "maker = AutoTokenizer.from_pretrained('gpt2')", False),
        ("tokenizer", "", False),  # only its name says what it is
        ("encoder", "", True),
    ],
)
def test_what_makes_inputs_is_run_as_well_and_stays_what_it_is(name, making, speaks):
    """`prepare` returns objects unchanged unless they are models, optimizers, schedulers or dataloaders
    (`Accelerator._prepare_one`).
    """
    text = PREPARED_BESIDE.format(name=name, making=making or "pass", parameter="" if making else f"{name}, ")
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == [f"{name}.eos_token_id"] * speaks


# --- mixins ---------------------------------------------------------------------------------------------

MIXIN = """\
from transformers import Trainer

class Balanced:
    def compute_loss(self, model, inputs, *args, **kwargs):
        return super().compute_loss(model, inputs, *args, **kwargs) + self.balance(model)

    def balance(self, model):
        return model.number_of_experts

class MyTrainer({bases}):
    pass
"""


@pytest.mark.parametrize(("bases", "speaks"), [("Balanced, Trainer", True), ("Balanced", False)])
def test_a_mixin_is_run_as_the_trainers_are_that_it_is_mixed_into(bases, speaks):
    text = MIXIN.format(bases=bases)
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == ["model.number_of_experts"] * speaks


# --- modules around a model -------------------------------------------------------------------------------

AROUND = """\
from accelerate import Accelerator
from torch import nn


class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.layer = nn.Linear(size, size)

    def forward(self, x):
        return self.layer(x)


class Diffusion(nn.Module):
    def __init__(self, net, steps=3):
        super().__init__()
        self.net = net
        self.size = {read}
        self.steps = steps

    def forward(self, x):
        return self.net(x)


def main(loader, optimizer):
    accelerator = Accelerator()
    net = Net(3)
    {before}
    net, loader, optimizer = accelerator.prepare(net, loader, optimizer)
    {behind}
"""
BUILT = "diffusion = Diffusion(net, steps=5).to(accelerator.device)"


@pytest.mark.parametrize(
    ("read", "before", "behind", "shows"),
    [
        ("self.net.size", "pass", BUILT, ["self.net.size"]),
        ("net.size", "pass", BUILT, ["net.size"]),
        ("net.size", BUILT, "pass", []),
        ("net.training", "pass", BUILT, []),
        ("net.size", "pass", BUILT.replace("(net,", "(accelerator.unwrap_model(net),"), []),
    ],
)
def test_a_module_may_be_built_around_a_wrapped_one(read, before, behind, shows):
    text = AROUND.format(read=read, before=before, behind=behind)
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == shows


ANNOTATED = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from somewhere import load

class Job:
    def wrapped(self, accelerator: {accelerator}, part: {part}):
        part = accelerator.prepare(part)
        part.own_method()
        return part

    def start(self, args):
        self.wrapped({given})
"""


@pytest.mark.parametrize("given", ["load(args), load(args)", "part=load(args), accelerator=load(args)"])
@pytest.mark.parametrize(
    ("accelerator", "part", "is_reported"),
    [
        ("Accelerator", "torch.nn.Module", True),
        ("Accelerator", "torch.nn.Module | None", True),
        ("Accelerator", "DataLoader", False),
        ("Accelerator", "object", False),
        ("Accelerator", "SomebodysClass", False),
        ("object", "torch.nn.Module", False),
    ],
)
def test_an_annotation_says_what_an_argument_is_that_nobody_knows(accelerator, part, is_reported, given):
    text = ANNOTATED.format(accelerator=accelerator, part=part, given=given)
    assert bool(SNIPPETS.findings(text)) is is_reported


def test_what_is_known_of_an_argument_counts_whatever_its_annotation_says():
    text = ANNOTATED.format(accelerator="Accelerator", part="torch.nn.Module", given="Accelerator(), load(args)")
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(text.replace("Accelerator(), load(args)", "Accelerator(), DataLoader(args)"))


@pytest.mark.parametrize(
    ("before", "is_reported"),
    [
        ("", True),
        ("net.requires_grad_(False)", False),
        ("net.requires_grad_(False)\n        net.requires_grad_()", True),
    ],
)
def test_what_was_frozen_before_an_annotation_says_that_it_is_a_model_stays_frozen(before, is_reported):
    text = ANNOTATED.format(accelerator="Accelerator", part="torch.nn.Module", given="Accelerator(), net")
    assert bool(
        SNIPPETS.findings(text.replace("self.wrapped(", f"net = load(args)\n        {before}\n        self.wrapped("))
    ) is (is_reported)


def test_what_was_frozen_before_isinstance_says_that_it_is_a_model_stays_frozen():
    text = """
import torch
from accelerate import Accelerator
from somewhere import load

def main(args):
    accelerator = Accelerator()
    net = load(args)
    net.requires_grad_(False)
    if isinstance(net, torch.nn.Module):
        net = accelerator.prepare(net)
        net.own_method()
"""
    assert not SNIPPETS.findings(text)
    assert SNIPPETS.findings(text.replace("    net.requires_grad_(False)\n", ""))


@pytest.mark.parametrize(
    ("body", "speaks"),
    [
        ("self.head = nn.Linear(2, 2)\n        return self", True),
        ("if depth:\n            return self\n        self.head = None\n        return self", True),
        ("return self.head", False),
        ("if depth:\n            return self\n        return self.head(depth)", False),
        ("self.head = None", False),
    ],
)
def test_a_model_that_a_method_gives_back_is_the_same_model(body: str, speaks: bool):
    """`Net().create(3)` is a bare model if `create` returns nothing else, and is wrapped by DDP after that."""
    text = f"""\
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def create(self, depth):
        {body}

    def forward(self, x):
        return self.head(x)


def built(config):
    model = Net().create(3)
    if config.with_ddp:
        model = DistributedDataParallel(model)
    return model.head
"""
    assert bool(SNIPPETS.findings(text)) is speaks


ASKED_ELSEWHERE = """\
import torch
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModel


def train(model, config, others):
    {body}
    print(model.config)


def main(config, others):
    model = AutoModel.from_pretrained(config.name)
    if config.distributed:
        model = DistributedDataParallel(model)
    train(model, config, others)
"""


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("sampler = make(config.rows)", True),
        ("sampler = make(config.rows) if config.distributed else None", True),
        ("if config.distributed: sampler = make(config.rows)", True),
        ("if not config.distributed: return", True),
        ("if config.distributed: return", False),
        ("if config.distributed: model = model.module", False),
        ("if others.distributed: return", False),
    ],
)
def test_the_setting_by_which_a_model_was_wrapped_is_known_in_another_function(body, is_reported):
    """If it is read from an object with the same name there."""
    assert bool(SNIPPETS.findings(ASKED_ELSEWHERE.format(body=body))) is is_reported


PUT_ON_IT = """\
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModel


def loss_of(outputs, model):
    return outputs * model.gain


class Training:
    def __init__(self, name, gain, rows, accelerator: Accelerator):
        model = AutoModel.from_pretrained(name)
        {before}
        {wrapping}
        {behind}

    def step(self, batch):
        return loss_of(self.model(batch), self.model)
"""


@pytest.mark.parametrize(
    ("before", "wrapping", "behind", "is_reported"),
    [
        ("", "self.model = DistributedDataParallel(model)", "self.model.gain = gain", False),
        ("", "self.model = DistributedDataParallel(model)", "self.model.other = gain", True),
        ("model.gain = gain", "self.model = DistributedDataParallel(model)", "", True),
        ("", "model = DistributedDataParallel(model)", "model.gain = gain; self.model = model", False),
        ("model.gain = gain", "model = DistributedDataParallel(model)", "self.model = model", True),
        ("", "self.model, self.rows = accelerator.prepare(model, rows)", "self.model.gain = gain", False),
        ("", "self.model, self.rows = accelerator.prepare(model, rows)", "self.rows.other = gain", True),
        ("", "self.model = DistributedDataParallel(model)", "self.model.module.gain = gain", True),
    ],
)
def test_what_is_put_on_a_wrapper_can_be_read_from_it_elsewhere(before, wrapping, behind, is_reported):
    text = PUT_ON_IT.format(before=before, wrapping=wrapping, behind=behind)
    assert bool(SNIPPETS.findings(text)) is is_reported


OWN_WRAPPER = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = 3

    def outputs(self):
        return 1


class Wrapper(DistributedDataParallel):
{body}


def train(batch, reader):
    torch.distributed.init_process_group()
    model = Wrapper(Net(), device_ids=[0])
    {read}
    model(batch).mean().backward()
"""
HANDS_ON = """\
    def __init__(self, module, **options):
        super().__init__(module, **options)
        self.kept = module.depth

    def outputs(self):
        return self.module.outputs()
"""


@pytest.mark.parametrize(
    ("body", "read", "is_reported"),
    [
        ("    pass", "print(model.depth)", True),
        (HANDS_ON, "print(model.depth)", True),
        (HANDS_ON, "print(model.module.depth)", False),
        # Attributes of the wrapper itself.
        (HANDS_ON, "print(model.kept)", False),
        (HANDS_ON, "print(model.outputs())", False),
        (HANDS_ON, "if hasattr(model, 'kept'):\n        reader(model.kept)", False),
        # A function whose source is unavailable has checked it.
        ("    pass", "if outside.is_exported(model):\n        reader(model.depth)", False),
        ("    pass", "reader(model.depth if is_exported(model) else model)", False),
        ("    pass", "if is_exported(model):\n        pass\n    else:\n        reader(model.depth)", True),
        ("    pass", "if outside.is_exported(reader):\n        reader(model.depth)", True),
        # It may have any attribute.
        ("    def __getattr__(self, name):\n        return getattr(self.module, name)", "print(model.depth)", False),
        (
            "    def __init__(self, module, **options):\n        super().__init__(module, **options)\n"
            "        for each in options['names']:\n            setattr(self, each, getattr(module, each))",
            "print(model.depth)",
            False,
        ),
        # Which of its arguments it wraps is unknown.
        (
            "    def __init__(self, setup, **options):\n        super().__init__(setup.module(), **options)",
            "print(model.depth)",
            False,
        ),
    ],
)
def test_a_class_of_the_projects_own_may_be_the_wrapper(body, read, is_reported):
    text = OWN_WRAPPER.format(body=body, read=read)
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(
    ("first", "second", "is_reported"),
    [
        ("args.train_text_encoder", "args.train_text_encoder", True),
        ("args.train_text_encoder", "not args.train_text_encoder", False),
        ("args.train_text_encoder", "args.fast", True),
        ("args.train_text_encoder", "hasattr(encoder, 'config')", False),
    ],
)
def test_what_is_done_to_a_model_under_the_condition_of_its_wrapper_changes_nothing(first, second, is_reported):
    """In a loop the test is evaluated again."""
    text = (
        "from accelerate import Accelerator\nfrom transformers import CLIPTextModel\n\ndef main(args, unet, loader):\n"
        "    accelerator = Accelerator()\n    encoder = CLIPTextModel.from_pretrained('a')\n"
        "    if args.train_text_encoder:\n        unet, encoder, loader = accelerator.prepare(unet, encoder, loader)\n"
        "    else:\n        encoder.requires_grad_(False)\n        unet, loader = accelerator.prepare(unet, loader)\n"
        f"    for epoch in range(3):\n        if {first}:\n            encoder.train()\n"
        f"        for batch in loader:\n            if {second}:\n                print(encoder.config.depth)\n"
    )
    assert SNIPPETS.places(text) == ["encoder.config"] * is_reported


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("if accelerator.state.deepspeed_plugin is None:\n    optimizer.zero_grad()\nprint(model.depth)", True),
        ("if args.use_deepspeed:\n    print(loss)\nelse:\n    optimizer.zero_grad()\nprint(model.depth)", True),
        ("if args.use_deepspeed:\n    print(model.depth)", False),
        ("if not args.use_deepspeed:\n    continue\nprint(model.depth)", False),
        ("if not args.use_deepspeed:\n    model = accelerator.unwrap_model(model)\nprint(model.depth)", False),
    ],
)
def test_after_a_test_for_an_engine_the_model_is_wrapped_as_before(body: str, is_reported: bool):
    assert bool(SNIPPETS.findings(loop(body))) is is_reported


PREPARED_LOSS = """
from accelerate import Accelerator
from torch import nn


class {cls}(nn.Module):
    def __init__(self):
        super().__init__()
        self.mel = nn.L1Loss()
        self.weight = {weight}

    def forward(self, x, y):
        return self.mel(x, y)


class Trainer:
    def __init__(self, model, part):
        self.accelerator = Accelerator()
        self.model, self.part = self.accelerator.prepare(model, part)

    def step(self, batch):
        return self.part.mel(self.model(batch["x"]), batch["y"])


def main(model):
    Trainer(model, {cls}()).step({{}})
"""


@pytest.mark.parametrize(
    ("cls", "weight", "is_wrapped"),
    [
        ("Reconstruction", "1.0", True),
        ("ReconstructionLoss", "1.0", False),
        ("ReconstructionLoss", "nn.Parameter(start)", True),
    ],
)
def test_prepare_wraps_no_loss_without_parameters(cls, weight, is_wrapped):
    assert bool(SNIPPETS.findings(PREPARED_LOSS.format(cls=cls, weight=weight))) is is_wrapped


AVERAGE = """
import ema_pytorch
import torch
from accelerate import Accelerator
from ema_pytorch import EMA


def main(model, loader, **options):
    accelerator = Accelerator()
    average = {average}
    model, average, loader = accelerator.prepare(model, average, loader)
    for batch in loader:
        accelerator.backward((model(batch) - average(batch)).mean())
        average.update()
"""


@pytest.mark.parametrize(
    ("average", "is_wrapped"),
    [
        ("EMA(model)", True),
        ("EMA(model, include_online_model=True)", True),
        ("ema_pytorch.EMA(model, beta=0.9, include_online_model=False)", False),
        ("EMA(model, include_online_model=False, **options)", False),
        ("EMA(model, include_online_model=options['whole'])", False),
        ("EMA(model, **options)", False),
        ("ema_pytorch.KarrasEMA(model)", False),
        ("Average(model, include_online_model=False)", True),
    ],
)
def test_prepare_wraps_an_average_that_holds_the_model(average, is_wrapped):
    """`EMA` detaches the parameters of its copy, and `prepare` wraps no model without a parameter to train."""
    assert bool(SNIPPETS.findings(AVERAGE.format(average=average))) is is_wrapped


MADE_INSTEAD = """
from accelerate import Accelerator


class Trainer:
    def __init__(self, model, given=None):
        {made}
        self.model = model

    def fit(self, loader):
        model, loader = self.wrapping.prepare(self.model, loader)
        print(model.config)
"""


@pytest.mark.parametrize(
    ("made", "is_known"),
    [
        ("self.wrapping = given or Accelerator()", True),
        ("self.wrapping = Accelerator() if given is None else given", True),
        ("self.wrapping = given if given is not None else Accelerator()", True),
        ("if given is None:\n            given = Accelerator()\n        self.wrapping = given", True),
        ("self.wrapping = given if given.several else Accelerator()", False),
        ("self.wrapping = Accelerator() if given is None else replaced()", False),
        (
            "if given is None:\n            chosen = Accelerator()\n        else:\n            chosen = replaced()\n"
            "        self.wrapping = chosen",
            False,
        ),
        ("self.wrapping = given and Accelerator()", False),
    ],
)
def test_an_accelerator_that_is_made_where_none_is_given(made, is_known):
    assert bool(SNIPPETS.findings(MADE_INSTEAD.format(made=made))) is is_known


DECLARED = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from somewhere import Net


class Base:
    def __init__(self):
        self.is_ddp = dist.is_initialized()
        self.network = None

    def initialize(self):
        self.network = self.build()
        if self.is_ddp:
            self.network = DistributedDataParallel(self.network)


class Heir(Base):
    def __init__(self):
        super().__init__()
        {declared}

    def build(self):
        return Net()

    def save(self):
        if self.is_ddp:
            torch.save(self.network.encoder.state_dict(), "net.pt")
"""


@pytest.mark.parametrize(
    ("declared", "is_reported"),
    [
        ("self.network: Net = ...", True),
        ("self.network: Net", True),
        ("self.network: Net = Net()", False),
        ("self.network = somewhere()", False),
    ],
)
def test_what_only_says_what_an_attribute_is_sets_nothing(declared, is_reported):
    assert bool(SNIPPETS.findings(DECLARED.format(declared=declared))) is is_reported


CHOSEN = """
from torch.nn.parallel import DistributedDataParallel as DDP

def episodic(args, model: DDP):
    return model.extract(args.x)

def standard(args, model):
    return model(args.x)

def main(args, model):
    validate = {}
    return validate(args, model)
"""


@pytest.mark.parametrize(
    ("used", "by_default"),
    [
        ("episodic if args.episodic else standard", False),
        ("args.pick(episodic, standard)", False),
        ("standard", True),
    ],
)
def test_what_a_chosen_function_is_given_is_not_known_by_its_annotation(used, by_default, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(CHOSEN.format(used), encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL002"),))
    (finding,) = linter.check(program, program.read_bytes())
    assert finding.by_default is by_default


@pytest.mark.parametrize(("release", "has_fix"), [("4.29.2", False), ("4.30.0", True), ("4.51.3", True)])
def test_the_trainer_of_an_old_release_has_no_accelerator_that_unwraps(release, has_fix):
    """transformers 4.30.0 is the first with `Trainer.create_accelerator_and_postprocess`."""
    snippets = Snippets("TRL002", Settings(target_trl="0.17.0", target_transformers=release))
    text = trainer("def prediction_step(self, model, inputs):\n    return model(inputs[:, : model.config.max_length])")
    (found,) = snippets.findings(text)
    assert (found.fix is not None and found.fix.applicability is Applicability.SAFE) is has_fix


STARTS = '\n\nif __name__ == "__main__":\n    MyTrainer(load()).train()\n'


@pytest.mark.parametrize(
    ("name", "launch", "where", "by_default"),
    [
        ("prediction_step", "python train.py", "under DataParallel", True),
        ("prediction_step", "torchrun --nproc_per_node 8 train.py", "under DataParallel", False),
        ("compute_loss", "torchrun --nproc_per_node 8 train.py", "under DDP and DataParallel", True),
    ],
)
def test_a_model_that_is_evaluated_is_wrapped_on_several_gpus_of_one_process(name, launch, where, by_default, tmp_path):
    text = trainer(f"def {name}(self, model, inputs):\n    return model(inputs[:, : model.names.max_length])")
    (found,) = findings_in(tmp_path, {"run.sh": f"{launch}\n", "train.py": text + STARTS}, "train.py", "TRL002")
    assert found.message.endswith(where) and found.by_default is by_default


@pytest.mark.parametrize(
    ("launch", "body", "is_found"),
    [
        ("python train.py", "return model(inputs['ids'].to(model.device))", True),
        ("CUDA_VISIBLE_DEVICES=0 python train.py", "return model(inputs['ids'].to(model.device))", False),
        # DDP has a `device`, and without a launch it is not known which of the two it is.
        ("torchrun --nproc_per_node 8 train.py", "return model(inputs['ids'].to(model.device))", False),
        (
            "python train.py\ntorchrun --nproc_per_node 8 train.py",
            "return model(inputs['ids'].to(model.device))",
            False,
        ),
        ("echo done", "return model(inputs['ids'].to(model.device))", False),
        (
            "python train.py",
            "if hasattr(model, 'device'):\n        return model(inputs['ids'].to(model.device))",
            False,
        ),
        ("python train.py", "return model(inputs['ids'].to(getattr(model, 'device', 'cpu')))", False),
        ("python train.py", "return model(inputs['ids'].to(self.model.device))", False),
        # What else only DDP has is read by code that knows which wrapper it is.
        ("python train.py", "with model.no_sync():\n        return model(**inputs)", False),
    ],
)
def test_data_parallel_has_no_device(launch, body, is_found, tmp_path):
    text = trainer(f"def compute_loss(self, model, inputs):\n    {body}") + STARTS
    found = findings_in(tmp_path, {"run.sh": f"{launch}\n", "train.py": text}, "train.py", "TRL002")
    where = "`.device` is read from `model`, a wrapped model: AttributeError under DataParallel"
    assert [each.message for each in found if each.by_default] == [where] * is_found


@pytest.mark.parametrize(
    ("wrapper", "is_found"),
    [("nn.DataParallel(net)", True), ("nn.parallel.DistributedDataParallel(net)", False), ("net", False)],
)
def test_what_the_code_itself_wraps_in_data_parallel_has_no_device(wrapper, is_found):
    body = f"    model = {wrapper}\n    model(x.to(model.device))\n"
    assert bool(SNIPPETS.findings(f"from torch import nn\n\ndef train(net: nn.Module, x):\n{body}")) is is_found


AS_SEQUENCE = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def main(args):
    dist.init_process_group("nccl")
    layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).cuda()
    model = DDP(layers)
    {}
"""


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("first = model[0]", "indexed"),
        ("depth = len(model)", "asked for its length"),
        ("for layer in model: print(layer)", "iterated over"),
        ("first = model.module[0]", ""),
        ("depth = len(layers)", ""),
        ("first = model['a']", ""),
        ("first = model[args.name]", ""),
        ("rest = model[1:]", "indexed"),
        ("model = [model, layers]; first = model[1]", ""),
        ("model = model.module if args.bare else layers; depth = len(model)", ""),
    ],
)
def test_no_wrapper_is_a_sequence(use, said):
    """`nn.Sequential` has `__getitem__`, `__len__` and `__iter__`; Python looks for them in the wrapper's class."""
    found = SNIPPETS.findings(AS_SEQUENCE.format(use))
    expected = f"a wrapped model, `model`, is {said}: TypeError under DDP and DataParallel"
    assert [each.message for each in found] == [expected] * bool(said)
    assert all("use the bare model (`model.module`)" in each.help for each in found)


ON_ONE_GPU = """\
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "3"
from transformers import Trainer

class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model.get_loss(inputs)

if __name__ == "__main__":
    Own(object(), train_dataset=[]).train()
"""


@pytest.mark.parametrize(
    ("launch", "is_reported"), [("python train.py", False), ("torchrun --nproc_per_node 2 train.py", True)]
)
def test_a_program_on_one_gpu_wraps_nothing_unless_several_processes_run_it(launch, is_reported, tmp_path):
    found = findings_in(tmp_path, {"run.sh": f"{launch}\n", "train.py": ON_ONE_GPU}, "train.py", "TRL002")
    assert bool(found) is is_reported


READ_IN_BOTH = """\
from transformers import Trainer

class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss / BODY
        return (loss, outputs) if return_outputs else loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        loss, outputs = self.compute_loss(model, inputs, return_outputs=True)
        return loss / OTHER, None, None
"""


@pytest.mark.parametrize(
    ("body", "other", "where"),
    [("model.head.size", "2", "DDP and DataParallel"), ("2", "model.head.size", "DataParallel")],
)
def test_what_is_also_read_in_an_evaluation_fails_in_the_training(body: str, other: str, where: str):
    finding = SNIPPETS.finding(READ_IN_BOTH.replace("BODY", body).replace("OTHER", other))
    assert finding.message.endswith(f": AttributeError under {where}")
