"""TRL019: which loops over epochs train in the same order each time, the message, and the fix."""

from __future__ import annotations

from textwrap import indent

import pytest
from small_projects import found, written
from snippets import Snippets, shown

from trl_lint.findings import Applicability, Consequence

SNIPPETS = Snippets("TRL019")
IMPORTS = """\
import itertools
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from torch.utils.data.distributed import DistributedSampler
from tqdm import tqdm, trange

"""
SAMPLER = "sampler = DistributedSampler(rows)\n"
LOADER = "loader = DataLoader(rows, batch_size=4, sampler=sampler)\n"
EPOCHS = "for epoch in range(args.epochs):\n"
LOAD = f"def load(rows):\n    {SAMPLER}    return DataLoader(rows, sampler=sampler)\n\n"
STEP = "model(batch).loss.backward()\n"
UPDATE = "optimizer.step()\n"
BATCHES = f"for batch in loader:\n    {STEP}"


def program(*parts: str) -> str:
    return IMPORTS + "def main(args, rows, model, optimizer, flag):\n" + indent("".join((*parts, UPDATE)), "    ")


def epochs(body: str = BATCHES, head: str = EPOCHS) -> str:
    return head + indent(body, "    ")


def test_a_finding_is_at_the_loop_over_epochs():
    text = program(SAMPLER, LOADER, epochs())
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "range(args.epochs)"
    assert finding.message == (
        "no `set_epoch` tells the `DistributedSampler` that another epoch begins: on several GPUs each epoch has the "
        "same order of the rows, and the same batches"
    )
    assert [each.text for each in finding.because] == [
        "all batches of an epoch are gone through here",
        "the sampler is made here, and shuffles with the same seed until `set_epoch` tells it another epoch",
    ]
    assert "call `sampler.set_epoch(epoch)` at the start of each epoch" in finding.help
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default


@pytest.mark.parametrize(
    ("made", "loops", "place"),
    [
        (SAMPLER.replace("rows)", "rows, shuffle=True)") + LOADER, epochs(), "range(args.epochs)"),
        (SAMPLER.replace("rows)", "rows, 2, 0, True)") + LOADER, epochs(), "range(args.epochs)"),
        (SAMPLER.replace("rows)", "rows) if flag else None") + LOADER, epochs(), "range(args.epochs)"),
        (SAMPLER.replace("Dist", "RandomSampler(rows) if flag else Dist") + LOADER, epochs(), "range(args.epochs)"),
        (f"sampler = None\nif flag:\n    {SAMPLER}" + LOADER, epochs(), "range(args.epochs)"),
        (LOADER.replace("=sampler", "=DistributedSampler(rows)"), epochs(), "range(args.epochs)"),
        (SAMPLER + "loader = DataLoader(rows, 4, False, sampler)\n", epochs(), "range(args.epochs)"),
        (
            SAMPLER + "loader = DataLoader(rows, batch_sampler=BatchSampler(sampler, 4, True))\n",
            epochs(),
            "range(args.epochs)",
        ),
        (SAMPLER + LOADER, epochs(BATCHES.replace("loader", "tqdm(loader)")), "range(args.epochs)"),
        (
            SAMPLER + LOADER,
            epochs("bar = tqdm(loader)\nfor i, batch in enumerate(bar):\n    " + STEP),
            "range(args.epochs)",
        ),
        (
            SAMPLER + LOADER,
            epochs(BATCHES.replace("loader", "tqdm(enumerate(loader)) if flag else enumerate(loader)")),
            "range(args.epochs)",
        ),
        (SAMPLER + LOADER, epochs(head="bar = trange(args.epochs)\nfor _ in bar:\n"), "bar"),
        (SAMPLER + LOADER, epochs(head="for epoch in itertools.count():\n"), "itertools.count()"),
        (SAMPLER + LOADER, epochs(head="while args.steps < 100:\n"), "args.steps < 100"),
        (SAMPLER + LOADER, epochs(epochs(head="for phase in ['train']:\n")), "range(args.epochs)"),
        (
            SAMPLER + LOADER,
            epochs(
                BATCHES.replace(
                    STEP, f"if args.half:\n        scaler.scale(loss).backward()\n    else:\n        {STEP}"
                )
            ),
            "range(args.epochs)",
        ),
        (
            SAMPLER + LOADER,
            epochs("for i, batch in enumerate(loader):\n    if i < 100:\n        " + STEP),
            "range(args.epochs)",
        ),
        # Each epoch makes a sampler of the same rows, which begins with epoch 0 again.
        ("", epochs(SAMPLER + LOADER + BATCHES), "range(args.epochs)"),
        ("", epochs("print(len(rows))\nloader = load(rows)\n" + BATCHES), "range(args.epochs)"),
    ],
)
def test_loops_in_the_same_order(made, loops, place):
    assert SNIPPETS.places(program(made, loops).replace("def main", LOAD + "def main")) == [place]


@pytest.mark.parametrize(
    ("made", "loops"),
    [
        (SAMPLER.replace("rows)", "rows, shuffle=False)") + LOADER, epochs()),
        (SAMPLER.replace("rows)", "rows, 2, 0, False)") + LOADER, epochs()),
        (SAMPLER.replace("rows)", "rows, shuffle=flag)") + LOADER, epochs()),
        (SAMPLER.replace("rows)", "rows, **args.of_sampler)") + LOADER, epochs()),
        (SAMPLER.replace("DistributedSampler", "args.sampler_class") + LOADER, epochs()),
        (SAMPLER + LOADER, BATCHES),
        (SAMPLER + LOADER, BATCHES + BATCHES),
        (SAMPLER + LOADER, epochs(head="for epoch in range(1):\n")),
        (SAMPLER + LOADER, epochs(head="for epoch in range(0, 1):\n")),
        (SAMPLER + LOADER, epochs("sampler.set_epoch(epoch)\n" + BATCHES)),
        (SAMPLER + LOADER, epochs("sampler.epoch = epoch\n" + BATCHES)),
        (SAMPLER + LOADER, epochs("loader.sampler.set_epoch(epoch)\n" + BATCHES)),
        (SAMPLER + LOADER, epochs(BATCHES.replace(STEP, "model(batch)\n"))),
        (SAMPLER + LOADER, epochs(BATCHES.replace(STEP, f"if flag:\n        {STEP}"))),
        (SAMPLER + LOADER, epochs(head="for group in args.groups:\n")),
        (SAMPLER + LOADER + "loader = Accelerator().prepare(loader)\n", epochs()),
        ("", epochs(SAMPLER.replace("rows)", "rows, seed=epoch)") + LOADER + BATCHES)),
        ("", epochs(SAMPLER + "sampler.seed = epoch\n" + LOADER + BATCHES)),
        (SAMPLER + LOADER, epochs("sampler.seed += 1\n" + BATCHES)),
        ("", epochs("rows = args.read(epoch)\n" + SAMPLER + LOADER + BATCHES)),
        ("", epochs("rows.mix()\n" + SAMPLER + LOADER + BATCHES)),
        ("", epochs(SAMPLER + LOADER + BATCHES, head="for rows in args.parts:\n")),
        (
            "def read():\n    nonlocal rows\n    rows = args.read()\n\n",
            epochs("read()\n" + SAMPLER + LOADER + BATCHES),
        ),
        ("", epochs("rows = args.read(epoch)\nloader = load(rows)\n" + BATCHES)),
        ("", epochs("loader = load(args.read(epoch))\n" + BATCHES)),
        ("loader = DataLoader(rows, batch_size=4, shuffle=True)\n", epochs()),
    ],
)
def test_other_orders(made, loops):
    assert SNIPPETS.findings(program(made, loops).replace("def main", LOAD + "def main")) == []


def test_a_sampler_that_each_epoch_makes_is_to_be_made_once():
    finding = SNIPPETS.finding(program(epochs(SAMPLER + LOADER + BATCHES)))
    assert "make the sampler once, before the loop, and call `sampler.set_epoch(epoch)`" in finding.help
    assert finding.fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [("pass", True), ("def __iter__(self):\n        self.epoch += 1\n        return super().__iter__()", False)],
)
def test_a_sampler_of_the_project_may_count_the_epochs(body, is_reported):
    own = f"class Own(DistributedSampler):\n    {body}\n\n"
    text = program(SAMPLER.replace("Dist", "Own(rows)  # Dist"), LOADER, epochs()).replace("def main", own + "def main")
    assert len(SNIPPETS.findings(text)) == is_reported


CALLED = """
def train(model, loader):
    for batch in loader:
        step(model, batch)

def step(model, batch):
    loss = model(batch)
    loss.backward()

def test(model, loader):
    for batch in loader:
        model(batch)

def endless(loader):
    while True:
        for batch in loader:
            yield batch

def forever(loader):
    while True:
        yield from loader

def once(loader):
    yield from loader

"""


@pytest.mark.parametrize(
    ("body", "places"),
    [
        (epochs("train(model, loader)\n"), ["range(args.epochs)"]),
        (epochs("test(model, loader)\n"), []),
        ("train(model, loader)\n", []),
        ("for batch in endless(loader):\n    model(batch).backward()\n", ["True"]),
        ("batches = endless(loader)\nwhile args.goes_on:\n    model(next(batches)).backward()\n", ["True"]),
        ("for batch in endless(loader):\n    model(batch)\n", []),
        ("for batch in forever(loader):\n    model(batch).backward()\n", ["True"]),
        ("for batch in forever(loader):\n    model(batch)\n", []),
        ("for batch in once(loader):\n    model(batch).backward()\n", []),
    ],
)
def test_the_loop_over_the_batches_is_in_another_function(body, places):
    text = program(SAMPLER, LOADER, body).replace("def main", CALLED.lstrip() + "def main")
    assert SNIPPETS.places(text) == places


OWN_SAMPLER = """\
class Buckets(DistributedSampler):
    def __init__(self, rows, sizes, shuffle=True, seed=0):
        super().__init__(rows, shuffle=shuffle)
        self.sizes = sizes

    def __iter__(self):
        order = torch.Generator()
        order.manual_seed(self.epoch)
        return iter(torch.randperm(len(self.sizes), generator=order).tolist()[self.rank :: self.num_replicas])


"""


@pytest.mark.parametrize(
    ("old", "new", "is_reported"),
    [
        ("", "", True),
        ("[1])", "[1], shuffle=False)", False),
        ("[1])", "[1], False)", False),
        ("[1])", "[1], seed=1)", True),
        ("shuffle=True, seed", "shuffle=False, seed", False),
        ("shuffle=shuffle", "shuffle=len(rows) > 1", False),
        ("manual_seed(self.epoch)", "manual_seed(self.seed + self.epoch)", True),
        ("manual_seed(self.epoch)", "seed()", False),  # draws anew each time
        ("        return iter(", "        self.epoch += 1\n        return iter(", False),
        ("        self.sizes = sizes", "        self.epoch = len(rows)", False),  # what else sets it is not read
    ],
)
def test_a_sampler_of_a_class_derived_from_it(old, new, is_reported):
    made = OWN_SAMPLER + program("sampler = Buckets(rows, [1])\n", LOADER, epochs()).removeprefix(IMPORTS)
    assert old in made
    assert len(SNIPPETS.findings(IMPORTS + made.replace(old, new, 1))) == is_reported


def test_gradients_alone_are_no_training():
    text = program(SAMPLER, LOADER, epochs())
    assert SNIPPETS.findings(text.replace(f"    {UPDATE}", "")) == []


def test_one_finding_for_one_sampler():
    text = program(SAMPLER, LOADER, epochs(), epochs(head="while args.goes_on:\n"))
    assert len(SNIPPETS.findings(text)) == 1


def test_two_samplers_are_two_causes():
    two = SAMPLER + LOADER + (SAMPLER + LOADER).replace("sampler", "other").replace("other=", "sampler=")
    two = two.replace(
        "loader = DataLoader(rows, batch_size=4, sampler=other)", "second = DataLoader(rows, sampler=other)"
    )
    text = program(two, epochs(), epochs(BATCHES.replace("loader", "second"), "while args.goes_on:\n"))
    assert SNIPPETS.places(text) == ["range(args.epochs)", "args.goes_on"]


TRAINS = """\
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from loops import train

def main(args, rows, model):
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    for epoch in range(args.epochs):
        train(model, model.optimizer, loader)
"""
LOOPS = """\
def train(model, optimizer, loader):
    for batch in loader:
        model(batch).backward()
        optimizer.step()
"""
DEFINES = """\
from torch.utils.data.distributed import DistributedSampler

class Grouped(DistributedSampler):
    def set_epoch(self, epoch):
        super().set_epoch(epoch + 1)

"""

# What such an object is told, it tells its sampler: only what calls its method tells it.
PASSES_ON = """\
class Data:
    def __init__(self, sampler):
        self.sampler = sampler

    def set_epoch(
        self, epoch
    ):
        if self.sampler is not None:

            self.sampler.set_epoch(epoch)

"""


@pytest.mark.parametrize(
    ("files", "is_reported"),
    [
        ({"loops.py": LOOPS}, True),
        ({"loops.py": LOOPS, "other.py": "sampler.set_epoch(1)\n"}, True),
        ({"loops.py": LOOPS + "        # set_epoch\n"}, True),
        ({"loops.py": "def begin(loader, epoch):\n    loader.sampler.set_epoch(epoch)\n\n" + LOOPS}, False),
        ({"loops.py": DEFINES + LOOPS}, True),
        ({"loops.py": PASSES_ON + LOOPS}, True),
        (
            {
                "loops.py": PASSES_ON + LOOPS,
                "other.py": "import torch.distributed\nfrom train import main\nData(sampler).set_epoch(1)\n",
            },
            False,
        ),
        ({"loops.py": PASSES_ON + LOOPS.replace("    for", "    Data(loader.sampler).set_epoch(1)\n    for")}, False),
        ({"loops.py": PASSES_ON + "    def begin(self):\n        self.set_epoch(0)\n\n" + LOOPS}, False),
        (
            {"loops.py": LOOPS, "other.py": "import torch.distributed\nfrom train import main\nsampler.set_epoch(1)\n"},
            False,
        ),
    ],
)
def test_other_files_may_tell_the_sampler_the_epoch(files, is_reported, tmp_path):
    folder = written(tmp_path, {"train.py": TRAINS, **files})
    assert found(folder, "train.py") == found(folder, ".") == [("train.py", 7, "TRL019")] * is_reported


RUNNER = (
    IMPORTS
    + """\
from torch.nn.parallel import DistributedDataParallel as DDP

class Runner:
    def __init__(self, net, rows):
        self.model = DDP(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows))
        self.hooks = []

    def run(self):
        for self.epoch in range(10):
            for hook in self.hooks:
                hook.begin(self)
            for batch in self.loader:
                self.model(batch).sum().backward()
                self.optimizer.step()
"""
)
RUNNER_LOOP = RUNNER[: RUNNER.index("for self.epoch")].count("\n") + 1
HOOK = """\
class Seeds:
    def begin(self, runner):
        runner.loader.sampler.set_epoch(runner.epoch)
"""
STARTS = """\
import torch.distributed as dist
from engine import Runner
from hooks import Seeds


def main(net, rows):
    dist.init_process_group("nccl")
    runner = Runner(net, rows)
    runner.hooks.append(Seeds())
    runner.run()
"""


@pytest.mark.parametrize(
    ("files", "is_reported"),
    [
        ({"hooks.py": HOOK}, False),
        ({"hooks/__init__.py": "from .seeds import Seeds\n", "hooks/seeds.py": HOOK}, False),
        ({"hooks/__init__.py": "from .seeds import *\n", "hooks/seeds.py": HOOK}, False),
        (
            {
                "hooks/__init__.py": "from .seeds import Seeds\nfrom .others import Other\n",
                "hooks/seeds.py": HOOK.replace("runner.loader.sampler.set_epoch(runner.epoch)", "pass"),
                "hooks/others.py": HOOK.replace("Seeds", "Other"),
            },
            True,
        ),
    ],
)
def test_a_hook_of_the_program_may_tell_the_sampler_the_epoch(files, is_reported, tmp_path):
    folder = written(tmp_path, {"train.py": STARTS, "engine.py": RUNNER, **files})
    assert found(folder, ".") == found(folder, "engine.py") == [("engine.py", RUNNER_LOOP, "TRL019")] * is_reported


MAKES = f"""\
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

{LOAD}"""
USES = """\
import torch.distributed as dist
from data import load

def main(args, rows, model):
    dist.init_process_group("nccl")
    loader = load(rows)
    for epoch in range(args.epochs):
        for batch in loader:
            model(batch).backward()
            model.optimizer.step()

if __name__ == "__main__":
    main(parse(), None, None)
"""
TELLS = USES.replace("        for batch", "        loader.sampler.set_epoch(epoch)\n        for batch")
NO_PROGRAM = TELLS[: TELLS.index("if __name__")]


@pytest.mark.parametrize(
    ("files", "is_reported"),
    [
        ({"other.py": TELLS}, True),
        ({"other.py": NO_PROGRAM}, False),  # whatever runs it may run it in this program
        ({"other.py": TELLS, "hooks.py": "import torch.distributed\nfrom other import main\n"}, False),
        ({"other.py": "from train import main as train\n" + TELLS}, False),
        ({"other.py": "import steps\n" + TELLS, "steps.py": "from train import main\n"}, False),
    ],
)
def test_another_program_with_the_same_loaders_does_not_tell_the_epoch(files, is_reported, tmp_path):
    folder = written(tmp_path, {"data.py": MAKES, "train.py": USES, **files})
    assert found(folder, ".") == [("train.py", 7, "TRL019")] * is_reported


@pytest.mark.parametrize("passed", ["for batch in loader:\n            yield batch", "yield from loader"])
def test_a_generator_of_batches_may_be_in_a_file_that_names_no_library(tmp_path, passed):
    main = TRAINS.replace("train(", "cycle(").replace("import train", "import cycle")
    main = main.replace("    for epoch in range(args.epochs):\n        cycle(model, model.optimizer, loader)\n", "")
    main += """\
    batches = cycle(loader)
    for step in range(args.steps):
        model(next(batches)).backward()
        model.optimizer.step()
"""
    generator = f"def cycle(loader):\n    while True:\n        {passed}\n"
    folder = written(tmp_path, {"train.py": main, "loops.py": generator})
    assert found(folder, ".") == [("loops.py", 2, "TRL019")]


def test_the_fix_tells_the_sampler_first():
    text = program(SAMPLER, LOADER, epochs("model.train()\n" + BATCHES))
    assert SNIPPETS.finding(text).fix.applicability is Applicability.UNSAFE
    assert SNIPPETS.mended(text) == text
    told = epochs("sampler.set_epoch(epoch)\nmodel.train()\n" + BATCHES)
    assert SNIPPETS.mended(text, unsafe=True) == program(SAMPLER, LOADER, told)


def test_the_sampler_is_reached_through_its_loader():
    made = LOADER.replace("=sampler", "=DistributedSampler(rows)")
    told = epochs("loader.sampler.set_epoch(epoch)\n" + BATCHES)
    assert SNIPPETS.mended(program(made, epochs()), unsafe=True) == program(made, told)


@pytest.mark.parametrize(
    ("made", "head", "reason"),
    [
        (SAMPLER, "while args.goes_on:\n", "the loop has no variable that counts the epochs"),
        (SAMPLER, "for _ in range(9):\n", "the loop has no variable that counts the epochs"),
        (SAMPLER.replace("rows)", "rows) if flag else None"), EPOCHS, "no name here is certain to be the sampler"),
        (f"sampler = None\nif flag:\n    {SAMPLER}", EPOCHS, "no name here is certain to be the sampler"),
    ],
)
def test_what_is_left_to_the_author(made, head, reason):
    finding = SNIPPETS.finding(program(made, LOADER, epochs(head=head)))
    assert finding.fix.applicability is Applicability.DISPLAY
    assert finding.fix.reason == reason


EPISODES = """\
class Episodes(Sampler):
    def __init__(self, seed, rank):
        self.seed, self.rank, self.epoch = seed, rank, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed({seed})
        yield from torch.randperm(100, generator=generator).tolist()


"""
OF_RANK = "self.seed + self.epoch + 1000 * self.rank"


@pytest.mark.parametrize(
    ("seed", "body", "speaks"),
    [
        (OF_RANK, BATCHES, True),
        (OF_RANK, "sampler.set_epoch(epoch)\n" + BATCHES, False),
        ("self.seed + self.epoch", BATCHES, False),
        ("self.seed + self.rank", BATCHES, False),
    ],
)
def test_a_sampler_that_seeds_with_its_rank_beside_the_epoch(seed, body, speaks):
    made = "sampler = Episodes(7, dist.get_rank())\n" + LOADER
    text = program(made, epochs(body)).replace("BatchSampler", "BatchSampler, Sampler")
    text = text.replace("def main", EPISODES.format(seed=seed) + "def main")
    messages = [each.message for each in SNIPPETS.findings(text)]
    assert [message.split("`")[3] for message in messages] == ["Episodes"] * speaks


@pytest.mark.parametrize(
    ("options", "body", "speaks"),
    [
        ("shuffle=True", BATCHES, True),
        ("shuffle=True", "loader.sampler.set_epoch(epoch)\n" + BATCHES, False),
        ("batch_size=8", BATCHES, False),
        ("shuffle=flag", BATCHES, False),
    ],
)
def test_a_loader_that_gets_its_sampler_from_ray(options, body, speaks):
    made = f"loader = prepare_data_loader(DataLoader(Rows(rows), {options}))\n"
    rows = "class Rows:\n    def __init__(self, rows): self.rows = rows\n    def __len__(self): return len(self.rows)\n"
    rows += "    def __getitem__(self, i): return self.rows[i]\n\n\n"
    text = program(made, epochs(body)).replace(
        "def main", "from ray.train.torch import prepare_data_loader\n" + rows + "def main"
    )
    messages = [each.message for each in SNIPPETS.findings(text)]
    assert [message.split("`")[3] for message in messages] == ["DistributedSampler"] * speaks


def of_timm(options: str = "is_training=True, distributed=args.distributed", rest: str = "") -> str:
    loader = f"loader = create_loader(rows, 224, 8, {options})\n"
    return "from timm.data import create_loader\n" + program(loader, epochs(rest + BATCHES))


def test_a_loader_of_timm_has_its_own_sampler():
    finding = SNIPPETS.finding(of_timm())
    assert "call `loader.sampler.set_epoch(epoch)` at the start of each epoch" in finding.help
    assert "loader.sampler.set_epoch(epoch)" in SNIPPETS.mended(of_timm(), unsafe=True)


@pytest.mark.parametrize(
    ("options", "rest"),
    [
        ("is_training=True", ""),
        ("is_training=True, distributed=False", ""),
        ("distributed=True", ""),  # for an evaluation, in order
        ("is_training=False, distributed=True", ""),
        ("is_training=flag, distributed=True", ""),
        ("is_training=True, distributed=True", "loader.sampler.set_epoch(epoch)\n"),
    ],
)
def test_quiet_loaders_of_timm(options, rest):
    assert SNIPPETS.findings(of_timm(options, rest)) == []


@pytest.mark.parametrize(
    ("rows", "is_stream"),
    [
        ('create_dataset("folder", root)', False),
        ('create_dataset("wds/shards", root)', True),
        ("Stream()", True),
        ("Rows()", False),
    ],
)
def test_loaders_of_timm_shuffle_no_streams(rows, is_stream):
    classes = """
from timm.data import create_dataset
from torch.utils.data import Dataset, IterableDataset
class Stream(IterableDataset):
    def __iter__(self): return iter(open("rows"))
class Rows(Dataset):
    def __getitem__(self, index): return index
"""
    source = of_timm().replace("loader = create_loader(rows,", f"loader = create_loader({rows},")
    assert bool(SNIPPETS.findings(classes + source)) is not is_stream
