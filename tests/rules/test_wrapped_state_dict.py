"""TRL025: which state dicts have names that do not fit the model that loads them, the message, and the fix."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from small_projects import written
from snippets import Snippets, shown

from trl_lint import api
from trl_lint.findings import Applicability, Consequence
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL025")
IMPORTS = """\
import copy

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


"""
WRAP = "model = DDP(net)\n"
LOAD = "model.module.load_state_dict(state)\n"
PREPARE = "accelerator = Accelerator()\nmodel = accelerator.prepare(Net())\n"
CHOSEN = "model = Net()\nif distributed:\n    model = DDP(model)\n"
# As in emgun/universal_simulator, scripts/train.py: the best weights are copied from the wrapper.
BEST = """\
best = copy.deepcopy(model.state_dict())
for batch in batches:
    loss = model(batch).sum()
    if loss < 1:
        best = copy.deepcopy(model.state_dict())
if distributed:
    model.module.load_state_dict(best)
else:
    model.load_state_dict(best)
"""


def program(*parts: str) -> str:
    return IMPORTS + "def main(args, net, batches, flag, distributed):\n" + indent("".join(parts), "    ")


def found(folder: Path) -> list[tuple[str, int]]:
    findings = api.check([folder], Settings(root=folder, select=("TRL025",)))
    return [(Path(each.path).name, each.start.line) for each in findings]


def test_a_finding_is_at_the_load():
    text = program(WRAP, "state = copy.deepcopy(model.state_dict())\n", LOAD)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == LOAD.rstrip()
    assert finding.message == (
        "the state dict of a wrapped model is loaded into `model.module`, which is bare: under DDP and DataParallel "
        "the names in it begin with `module.`, so that it fails with `Missing key(s) in state_dict`"
    )
    assert [each.text for each in finding.because] == [
        "it is wrapped here",
        "the names in this state dict begin with `module.`",
    ]
    assert finding.help == "take the state dict of the bare model, or load it into the wrapped one"
    assert finding.consequence is Consequence.CRASH


def test_a_wrapper_that_loads_the_weights_of_the_bare_model():
    finding = SNIPPETS.finding(program(WRAP, "model.load_state_dict(model.module.state_dict())\n"))
    assert finding.message == (
        "the state dict of a bare model is loaded into `model`, a wrapped one: under DDP and DataParallel its names "
        "begin with `module.`, so that it fails with `Missing key(s) in state_dict`"
    )
    assert finding.because[-1].text == "the names in this state dict are those of the bare model"


def test_without_strict_nothing_is_loaded():
    finding = SNIPPETS.finding(program(WRAP, "net.load_state_dict(model.state_dict(), strict=False)\n"))
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.message.endswith("so that with `strict=False` nothing is loaded, and nothing is said")


@pytest.mark.parametrize(
    "lines",
    [
        WRAP + "state = model.state_dict()\n" + LOAD,
        WRAP + "state = model.state_dict().copy()\n" + LOAD,
        WRAP + "state = dict(model.state_dict())\n" + LOAD,
        WRAP + "state = {name: x.cpu().clone() for name, x in model.state_dict().items()}\n" + LOAD,
        WRAP + "kept = {'model': model.state_dict(), 'epoch': 1}\nmodel.module.load_state_dict(kept['model'])\n",
        WRAP + "torch.save(model.state_dict(), 'best.pt')\nnet.load_state_dict(model.state_dict())\n",
        WRAP + "teacher = Net()\nteacher.load_state_dict(model.state_dict())\n",
        WRAP
        + "state = None\nfor batch in batches:\n    state = model.state_dict()\nif state is not None:\n    "
        + LOAD,
        "model = nn.DataParallel(net)\nmodel.module.load_state_dict(model.state_dict())\n",
        "model = Net()\nstate = model.state_dict()\nmodel = DDP(model)\nmodel.load_state_dict(state)\n",
        PREPARE + "state = model.state_dict()\naccelerator.unwrap_model(model).load_state_dict(state)\n",
        PREPARE + "model.load_state_dict(accelerator.unwrap_model(model).state_dict())\n",
        "accelerator = Accelerator()\nmodel, optimizer = accelerator.prepare(net, args.optimizer)\n"
        "model.load_state_dict(accelerator.unwrap_model(model).state_dict())\n",
        CHOSEN + BEST,
        CHOSEN
        + "state = model.module.state_dict() if distributed else model.state_dict()\nmodel.load_state_dict(state)\n",
        "first = Net().state_dict()\n" + CHOSEN + "model.load_state_dict(first)\n",
        CHOSEN + "Net().load_state_dict(model.state_dict())\n",
    ],
)
def test_names_that_do_not_fit_are_reported(lines: str):
    assert len(SNIPPETS.findings(program(lines))) == 1


@pytest.mark.parametrize(
    "lines",
    [
        WRAP + "model.load_state_dict(model.state_dict())\n",
        WRAP + "net.load_state_dict(model.module.state_dict())\n",
        # something renames the entries, or may do so
        WRAP + "state = {name[7:]: x for name, x in model.state_dict().items()}\n" + LOAD,
        WRAP + "state = {name: x for name, x in model.state_dict().items() if flag}\n" + LOAD,
        WRAP + "state = model.state_dict()\nfor name in list(state):\n    state[name[7:]] = state.pop(name)\n" + LOAD,
        WRAP + "state = model.state_dict()\nfor name in args.names:\n    state[name] = args.x\n" + LOAD,
        WRAP + "state = model.state_dict()\ndel state[args.name]\n" + LOAD,
        WRAP + "state = model.state_dict()\nargs.strip(state)\n" + LOAD,
        WRAP + "state = args.strip(model.state_dict())\n" + LOAD,
        WRAP + "state = model.state_dict()\nif any(name.startswith('module.') for name in args.names):\n    " + LOAD,
        # either form is allowed for
        WRAP + "state = model.state_dict()\ntry:\n    net.load_state_dict(state)\nexcept RuntimeError:\n    " + LOAD,
        # another way for each form
        CHOSEN + "state = model.state_dict()\nif distributed:\n    model.load_state_dict(state)\n",
        CHOSEN + "state = model.state_dict()\nif not distributed:\n    model.load_state_dict(state)\n",
        CHOSEN + "state = model.state_dict()\nmodel.load_state_dict(state)\n",
        CHOSEN + "state = model.module.state_dict() if distributed else model.state_dict()\n"
        "bare = model.module if distributed else model\nbare.load_state_dict(state)\n",
        # what the model is, or what is loaded, is not known
        WRAP + "args.model.load_state_dict(model.state_dict())\n",
        WRAP + "net.load_state_dict(args.state)\n",
        WRAP + "state = model.state_dict() if flag else args.state\n" + LOAD,
        PREPARE + "Net().load_state_dict(accelerator.get_state_dict(model))\n",
    ],
)
def test_names_that_fit_or_may_be_made_to_fit_are_not_reported(lines: str):
    assert SNIPPETS.findings(program(lines)) == []


@pytest.mark.parametrize(
    "member",
    [
        "    def load_state_dict(self, state, strict=True):\n        pass\n",
        "    def set_up(self):\n        self._register_load_state_dict_pre_hook(print)\n",
        "    def set_up(self):\n        self.module = nn.Linear(2, 2)\n",
    ],
)
def test_a_model_that_may_rename_weights_is_not_reported(member: str):
    net = f"class Other(Net):\n{member}\n\n"
    lines = WRAP + "Other().load_state_dict(model.state_dict())\n"
    text = IMPORTS + net + "def main(net):\n" + indent(lines, "    ")
    assert SNIPPETS.findings(text) == []
    assert len(SNIPPETS.findings(text.replace("Other()", "Net()"))) == 1


def test_an_attribute_that_holds_the_state_dict():
    text = IMPORTS + (
        "class Runner:\n"
        "    def __init__(self):\n        self.net = Net()\n        self.model = DDP(self.net)\n"
        "        self.best = None\n"
        "    def keep(self):\n        self.best = copy.deepcopy(self.model.state_dict())\n"
        "    def restore(self):\n        self.model.module.load_state_dict(self.best)\n"
    )
    assert len(SNIPPETS.findings(text)) == 1
    assert SNIPPETS.findings(text.replace("self.model.module.load", "self.model.load")) == []


def test_what_other_files_do_with_it(tmp_path):
    files = {
        "weights.py": "def restore(model, state):\n    model.load_state_dict(state)\n",
        "train.py": IMPORTS.replace("import copy\n", "import copy\nfrom weights import restore\n")
        + "def main():\n    net = Net()\n    model = DDP(net)\n    restore(net, model.state_dict())\n\n\nmain()\n",
    }
    assert found(written(tmp_path, files)) == [("weights.py", 2)]


def test_engines_without_a_prefix(tmp_path):
    files = {
        "train.py": IMPORTS + "def main():\n" + indent(PREPARE + "Net().load_state_dict(model.state_dict())\n", "    "),
        "run.sh": "accelerate launch --use_fsdp train.py\n",
    }
    assert found(written(tmp_path, files)) == []
    (tmp_path / "run.sh").write_text("accelerate launch --multi_gpu train.py\n", encoding="utf-8")
    assert len(found(tmp_path)) == 1


@pytest.mark.parametrize(
    ("lines", "mended", "unsafe"),
    [
        (WRAP + LOAD.replace("state)", "model.state_dict())"), "model.load_state_dict(model.state_dict())", False),
        (
            WRAP + "model.load_state_dict(model.module.state_dict())\n",
            "model.module.load_state_dict(model.module.state_dict())",
            False,
        ),
        (WRAP + "net.load_state_dict(model.state_dict())\n", "net.load_state_dict(model.module.state_dict())", False),
        (
            WRAP + "net.load_state_dict(model.state_dict(), strict=False)\n",
            "net.load_state_dict(model.module.state_dict(), strict=False)",
            True,
        ),
        (
            PREPARE + "state = model.state_dict()\naccelerator.unwrap_model(model).load_state_dict(state)\n",
            "model.load_state_dict(state)",
            False,
        ),
        (
            PREPARE + "Net().load_state_dict(model.state_dict())\n",
            "Net().load_state_dict(accelerator.unwrap_model(model).state_dict())",
            True,
        ),
    ],
)
def test_a_fix_loads_by_the_right_names(lines: str, mended: str, unsafe: bool):
    text = program(lines)
    expected = text.rstrip("\n").rpartition("\n")[0] + f"\n    {mended}\n"
    assert SNIPPETS.mended(text, unsafe=True) == expected
    assert SNIPPETS.mended(text) == (text if unsafe else expected)
    assert SNIPPETS.findings(expected) == []


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (CHOSEN + BEST, "a condition decides whether the model is wrapped"),
        (
            WRAP + "state = model.state_dict()\nnet.load_state_dict(state)\n",
            "the state dict is taken elsewhere, where other code may need its names",
        ),
    ],
)
def test_a_hint_says_why(lines: str, reason: str):
    fix = SNIPPETS.finding(program(lines)).fix
    assert fix is not None
    assert (fix.applicability, fix.reason) == (Applicability.DISPLAY, reason)


SEVERAL = "world_size = int(os.environ.get('WORLD_SIZE', '1'))\n"
UNWRAPPED = 'net.load_state_dict(getattr(model, "module", model).state_dict())'


@pytest.mark.parametrize(
    ("lines", "is_sure"),
    [
        ("model = DDP(net)\n", True),
        ("model = net\nmodel = DDP(model)\n", True),
        ("with args.context:\n    model = DDP(net)\n    TAKE", True),
        (SEVERAL + "if world_size == 1:\n    return\nmodel = DDP(net)\n", True),
        (SEVERAL + "if world_size > 1:\n    model = DDP(net)\n    TAKE", True),
        (SEVERAL + "model = DDP(net) if world_size > 1 else net\n", False),
        (SEVERAL + "model = net\nif world_size > 1:\n    model = DDP(net)\n", False),
        (SEVERAL + "model = DDP(net)\nif world_size == 1:\n    model = model.module\n", False),
        (SEVERAL + "wrapped = DDP(net)\nmodel = wrapped if world_size > 1 else net\n", False),
    ],
)
def test_a_model_that_one_process_may_leave_bare_is_unwrapped_if_it_is_wrapped(lines: str, is_sure: bool):
    taking = "net.load_state_dict(model.state_dict())"
    lines = lines.replace("TAKE", taking) if "TAKE" in lines else lines + taking
    text = program("net = Net()\n", lines + "\n").replace("import copy\n", "import copy\nimport os\n")
    mended = text.replace(taking, taking.replace("model", "model.module") if is_sure else UNWRAPPED)
    assert SNIPPETS.mended(text, unsafe=True) == mended
    assert SNIPPETS.mended(text) == (mended if is_sure else text)


@pytest.mark.parametrize(
    ("wraps", "is_sure"),
    [
        ("self.model = DDP(self.net)", True),
        ("self.model = DDP(self.net) if int(os.environ['WORLD_SIZE']) > 1 else self.net", False),
        ("self.set_up()\n\n    def set_up(self):\n        self.model = DDP(self.net)", False),
    ],
)
def test_an_attribute_that_the_constructor_always_wraps(wraps: str, is_sure: bool):
    taking = "self.net.load_state_dict(self.model.state_dict())"
    constructor = f"    def __init__(self):\n        self.net = Net()\n        {wraps}\n\n"
    keeps = f"    def keep(self):\n        {taking}\n"
    text = IMPORTS.replace("copy\n", "copy\nimport os\n", 1) + "class Runner:\n" + constructor + keeps
    taken = "self.model.module" if is_sure else 'getattr(self.model, "module", self.model)'
    assert SNIPPETS.mended(text, unsafe=True) == text.replace("(self.model.state", f"({taken}.state")


def test_a_load_by_the_wrapper_needs_the_names_of_a_wrapper_on_each_way():
    lines = SEVERAL + "other = DDP(Net()) if world_size > 1 else Net()\n" + WRAP
    text = program(lines + "model.module.load_state_dict(other.state_dict())\n").replace(
        "copy\n", "copy\nimport os\n", 1
    )
    assert SNIPPETS.mended(text) == text
    unwrapped = 'model.module.load_state_dict(getattr(other, "module", other).state_dict())'
    assert unwrapped in SNIPPETS.mended(text, unsafe=True)


# --- through a file -------------------------------------------------------------------------------------

SAVE = "torch.save({'model': model.state_dict(), 'epoch': 1}, path)\n"
READ = "checkpoint = torch.load(path)\nmodel.load_state_dict(checkpoint['model'])\n"
LOAD_STATE = "model.load_state_dict(state)\n"
NET = "model = Net()\n"
DIVIDED = "if distributed:\n    model = DDP(model)\n"
WRAPPED = "model = DDP(model)\n"
BARE = "bare = model.module if distributed else model\n"


def filed(*parts: str, before: str = "") -> str:
    return f"{IMPORTS}{before}def main(args, path, other, distributed):\n" + indent("".join(parts), "    ")


def test_weights_that_the_wrapper_has_saved():
    """As in lopuhin/transformer-lm, lm/main.py: resuming fails."""
    finding = SNIPPETS.finding(filed(NET, READ, DIVIDED, SAVE))
    assert finding.message == (
        "`model`, a bare model, loads weights that are saved from a wrapped one: under DDP and DataParallel the names "
        "in them begin with `module.`, so that it fails with `Missing key(s) in state_dict`"
    )
    assert [each.text for each in finding.because] == [
        "it is wrapped here",
        "whether it is wrapped depends on `distributed`",
        "the names in this state dict begin with `module.` if it is wrapped",
        "it is saved here",
    ]
    assert finding.help == "save the state dict of the bare model, or load it once the model is wrapped"


def test_a_wrapper_that_loads_what_the_bare_model_has_saved():
    """As in roboflow/rf-detr, rfdetr/main.py: the test after the training fails."""
    finding = SNIPPETS.finding(filed(NET, DIVIDED, BARE, SAVE.replace("model.state", "bare.state"), READ))
    assert finding.message.startswith("`model`, a wrapped model, loads weights that are saved from a bare one")


@pytest.mark.parametrize(
    "read",
    [
        READ,
        "model.load_state_dict(torch.load(path, map_location='cpu')['model'])\n",
        "checkpoint = torch.load(path)\nepoch = checkpoint.pop('epoch')\n"
        "model.load_state_dict(checkpoint.pop('model'))\n",
        "if args.gpu:\n    checkpoint = torch.load(path)\nelse:\n    checkpoint = torch.load(path, 'cpu')\n"
        "print(checkpoint['epoch'])\nstate = checkpoint['model']\nmodel.load_state_dict(state)\n",
        READ.replace(
            "model.load", "epoch, best = int(checkpoint['epoch']) + 1, args.told(checkpoint.get('best'))\nmodel.load"
        ),
        READ.replace("model.load", "checkpoint['epoch'] = 0\nmodel.load"),
        READ.replace("path", "args.resume"),
        READ.replace("path", "args.resume_from"),
    ],
)
def test_ways_to_read_a_file(read: str):
    assert len(SNIPPETS.findings(filed(NET, read, WRAPPED, SAVE))) == 1


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("args.out + '/last.pt'", "args.out + '/best.pt'"),
        ("f'{args.out}/{epoch}.pt'", "os.path.join(args.out, 'last.pt')"),
        ("'last.pt'", "args.folder / 'last.pt'"),
        ("other", "path"),
    ],
)
def test_words_that_say_where_a_file_is(path: str, read: str):
    binds = "other = path / 'model'\n"
    text = filed(binds, NET, READ.replace("path", read), WRAPPED, SAVE.replace("path", path))
    assert len(SNIPPETS.findings(text)) == 1


@pytest.mark.parametrize("saves", ["Accelerator().save(", "accelerate.utils.save("])
def test_what_saves_for_accelerate(saves: str):
    imports = "import accelerate.utils\nfrom accelerate import Accelerator\n"
    text = imports + filed(NET, READ, WRAPPED, SAVE.replace("torch.save(", saves))
    assert len(SNIPPETS.findings(text)) == 1
    assert SNIPPETS.findings(text.replace("model.state", "model.module.state")) == []
    assert SNIPPETS.findings(text.replace("torch.load(path)", "torch.load(other)")) == []


def test_a_helper_that_saves():
    helper = "def save(what, where):\n    torch.save(what, where)\n\n\n"
    text = filed(NET, READ, WRAPPED, SAVE.replace("torch.save", "save"), before=helper)
    assert len(SNIPPETS.findings(text)) == 1
    assert SNIPPETS.findings(text.replace("torch.load(path)", "torch.load(other)")) == []


@pytest.mark.parametrize(
    "parts",
    [
        (NET, WRAPPED, READ, SAVE),
        (NET, DIVIDED, READ, SAVE),
        (NET, READ, DIVIDED, BARE, SAVE.replace("model.state", "bare.state")),
        (NET, READ, WRAPPED, SAVE.replace("path", "other")),
        (NET, READ, WRAPPED, SAVE.replace("'model'", "'net'")),
        (NET, READ, WRAPPED, SAVE, SAVE.replace("model.state", "model.module.state")),
        (NET, READ.replace("['model']", "['model']['net']"), WRAPPED, SAVE),
        (NET, READ.replace("checkpoint['model']", "args.strip(checkpoint['model'])"), WRAPPED, SAVE),
        (NET, READ.replace("model.load", "args.strip(checkpoint)\nmodel.load"), WRAPPED, SAVE),
        (NET, READ.replace("model.load", "checkpoint['model'] = args.x\nmodel.load"), WRAPPED, SAVE),
        (
            NET,
            READ.replace("model.load", "best, _ = 0, args.strip(checkpoint.get('model'))\nmodel.load"),
            WRAPPED,
            SAVE,
        ),
        (NET, READ.replace("model.load", "args.strip(checkpoint[args.key])\nmodel.load"), WRAPPED, SAVE),
        (NET, "names = [name[7:] for name in args.names]\n", READ, WRAPPED, SAVE),
        (NET, READ.replace("model.load", "if distributed:\n    model = DDP(model)\nmodel.load"), SAVE),
        (NET, "if not distributed:\n" + indent(READ, "    "), DIVIDED, SAVE),
        ("model = args.net\n", READ, SAVE),
        (
            NET,
            "state = torch.load(path)\nif 'model' in state:\n    state = state['model']\n",
            LOAD_STATE,
            WRAPPED,
            SAVE,
        ),
    ],
)
def test_files_whose_weights_fit_or_of_which_something_is_not_known(parts: tuple[str, ...]):
    assert SNIPPETS.findings(filed(*parts)) == []


def test_a_model_of_unknown_class_is_bare_before_it_is_wrapped():
    """As in mindee/doctr, references/recognition/train_pytorch_ddp.py."""
    text = filed("model = args.make()\n", READ, WRAPPED, SAVE)
    assert len(SNIPPETS.findings(text)) == 1
    assert SNIPPETS.findings(text.replace("DDP(model)", "args.wrap(model)")) == []


def test_names_of_other_functions_say_nothing():
    text = (
        f"{IMPORTS}def load(path):\n    model = Net()\n    model.load_state_dict(torch.load(path)['model'])\n\n\n"
        "def save(net, path):\n    model = DDP(net)\n    torch.save({'model': model.state_dict()}, path)\n"
    )
    assert SNIPPETS.findings(text) == []
    assert (
        len(SNIPPETS.findings(text.replace("(path)['model']", "('a.pt')['model']").replace("path)\n", "'a.pt')\n")))
        == 1
    )


def test_a_fix_leaves_files_as_they_are():
    fix = SNIPPETS.finding(filed(NET, READ, WRAPPED, SAVE)).fix
    assert fix is not None
    assert (fix.applicability, fix.reason) == (
        Applicability.DISPLAY,
        "it changes what is in the files, which other programs may read",
    )
    text = filed(NET, WRAPPED, SAVE.replace("model.state", "model.module.state"), READ)
    assert SNIPPETS.mended(text) == text
    assert SNIPPETS.mended(text, unsafe=True) == text.replace("model.load_state", "model.module.load_state")


KEEPS = """\
class Training:
    def __init__(self, net, out):
        self.out, self.model, self.steps, self.best = out, DDP(net), 0, 0.0
        self.optimizer = torch.optim.SGD(self.model.parameters())

    def save(self, name):
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "steps": self.steps}
        torch.save(state, self.out + name)

    def load(self, path):
        state = torch.load(path)
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        READS

def main(net, start):
    training = Training(net, "out/")
    training.load(start)
    training.save("last.pt")

main(Net(), path())
"""


@pytest.mark.parametrize(
    ("reads", "is_found"),
    [
        ("self.steps = state['steps']", True),
        ("self.steps, self.best = state['steps'], 1.0", True),
        ("pass", False),  # two parts of any file may be called so
        ("self.steps = state['epoch']", False),
        ("self.steps = rename(state)['steps']", False),
    ],
)
def test_several_parts_with_the_same_keys_tell_a_file_that_is_saved(reads: str, is_found: bool):
    text = IMPORTS + KEEPS.replace("READS", reads)
    assert len(SNIPPETS.findings(text)) == is_found
    assert not SNIPPETS.findings(text.replace("self.model.state_dict", "self.model.module.state_dict"))
