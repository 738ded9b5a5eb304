"""TRL015: what it reports, its messages, what its fix writes, and the right code that looks like it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest
from snippets import SETTINGS, Snippets, shown

from trl_lint import api
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL015")
HEAD = """\
import os
import random
import numpy as np
import torch
import accelerate
import transformers
from accelerate import Accelerator, PartialState
from accelerate.utils import broadcast_object_list, set_seed
from datasets import Dataset, load_dataset
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, DistributedSampler, Subset, random_split
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer

"""
LOAD = 'rows = load_dataset("json", split="train")\n'
DRAW = "split = rows.train_test_split(test_size=0.1)\n"
TRAIN = 'trainer = SFTTrainer("m", train_dataset=split["train"], eval_dataset=split["test"])\ntrainer.train()\n'
LOOP = "loader = Accelerator().prepare(DataLoader(train, batch_size=2))\n"


def script(*body: str) -> str:
    return HEAD + "".join(dedent(part) if part.startswith("\n") else part for part in body)


def program(body: str, parameters: str = "", call: str = "main()") -> str:
    """The same in a function, which the script calls."""
    return f'{HEAD}def main({parameters}):\n{indent(body, "    ")}\nif __name__ == "__main__":\n    {call}\n'


def is_found(text: str) -> bool:
    return bool(SNIPPETS.findings(text))


def test_a_finding_says_what_where_why_and_how():
    text = script(LOAD, DRAW, TRAIN)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "rows.train_test_split(test_size=0.1)"
    assert (finding.code, finding.name) == ("TRL015", "unseeded-split")
    differs = "`train_test_split` runs without a seed, so that each rank gets a different result, and takes its share"
    assert finding.message.startswith(differs)
    assert "on several GPUs" in finding.message
    assert [step.text for step in finding.because] == ["each rank takes its share of `train_dataset` here"]
    assert finding.help == "draw the same on all ranks: `seed=42`, or call `set_seed` before it"


@pytest.mark.parametrize(
    ("made", "is_reported"),
    [
        ("self.rows = json.load(open(path))\n        random.shuffle(self.rows)", True),
        (
            "self.rows = json.load(open(path))\n        self.shown = self.rows[:3]\n        random.shuffle(self.shown)",
            False,
        ),
        ("random.seed(0)\n        self.rows = json.load(open(path))\n        random.shuffle(self.rows)", False),
    ],
)
def test_rows_that_it_reads_in_a_way_that_is_not_known(made: str, is_reported: bool):
    text = script("import json\n", OWN_ROWS.format(made), "DistributedSampler(train)\n")
    assert is_found(text) is is_reported


FOLDER = "from torchvision import datasets\ntrain, shown = datasets.ImageFolder('a'), datasets.ImageFolder('b')\n"


@pytest.mark.parametrize(
    ("draw", "is_reported"),
    [
        ("random.shuffle(train.samples)", True),
        ("random.shuffle(train.samples)\ntrain.samples = train.samples[:100]", True),
        ("train.samples = random.sample(train.samples, 100)", True),
        ("kept = list(train.samples)\nrandom.shuffle(kept)\ntrain.samples = kept[:100]", True),
        ("random.shuffle(train.classes)", False),
        ("random.shuffle(shown.samples)", False),
        ("train.names = random.sample(train.samples, 9)", False),
        ("train.samples = sorted(train.samples)", False),
        ("random.seed(0)\nrandom.shuffle(train.samples)", False),
        ("random.Random(0).shuffle(train.samples)", False),
        ("train.samples = random.Random(0).sample(train.samples, 9)", False),
        ("random.shuffle(train.samples)\ntrain = datasets.ImageFolder('a')", False),
        ("if PartialState().is_main_process:\n    random.shuffle(train.samples)", False),
    ],
)
@pytest.mark.parametrize("use", [LOOP, "DistributedSampler(train)\n"])
def test_rows_that_are_drawn_once_the_data_set_is_there(draw: str, is_reported: bool, use: str):
    assert is_found(script(FOLDER, f"{draw}\n", use)) is is_reported


@pytest.mark.parametrize(
    ("draw", "is_reported"),
    [
        ("random.shuffle(train.rows)", True),
        ("train.rows = random.sample(train.rows, 9)", True),
        ("random.shuffle(train.shown)", False),
        ("train.shown = random.sample(train.rows, 9)", False),
        ("random.seed(0)\nrandom.shuffle(train.rows)", False),
    ],
)
def test_what_its_length_is_that_of_are_the_rows_of_a_data_set(draw: str, is_reported: bool):
    assert is_found(script(OWN_ROWS.format("pass"), f"{draw}\n", "DistributedSampler(train)\n")) is is_reported


SPAWNED = """
import torch.multiprocessing as mp
{at_import}
def work(rank, seed):
    {in_process}
    rows = read()
    random.shuffle(rows)
    DistributedSampler(torch.utils.data.TensorDataset(rows))

def main(seed=None):
    {before}
    {start}

if __name__ == "__main__":
    {guarded}
    main()
"""
AS_IT_IS = {
    "at_import": "",
    "in_process": "pass",
    "before": "pass",
    "start": "mp.spawn(work, (seed,), 8)",
    "guarded": "pass",
}


@pytest.mark.parametrize(
    ("changed", "is_reported"),
    [
        ({}, True),
        # A process that is started anew has nothing of what the one that starts it has seeded.
        ({"before": "random.seed(0)"}, True),
        ({"before": "if seed is not None:\n        random.seed(seed)"}, True),
        ({"guarded": "random.seed(0)"}, True),
        ({"at_import": "random.seed(0)"}, False),
        ({"at_import": "if os.name:\n    set_seed(0)"}, False),
        ({"in_process": "random.seed(seed)"}, False),
        ({"in_process": "set_seed(seed)"}, False),
        # It is started as a copy, or in place.
        ({"before": "random.seed(0)", "start": "mp.spawn(work, (seed,), 8, start_method='fork')"}, False),
        ({"before": "random.seed(0)", "start": "work(0, seed)"}, False),
        ({"start": "accelerate.notebook_launcher(work, (0, seed), 8)"}, True),
        ({"before": "random.seed(0)", "start": "accelerate.notebook_launcher(work, (0, seed), 8)"}, False),
    ],
)
def test_what_is_seeded_in_processes_that_a_program_starts(changed: dict[str, str], is_reported: bool):
    assert is_found(script(SPAWNED.format(**{**AS_IT_IS, **changed}))) is is_reported


@pytest.mark.parametrize(("start", "is_reported"), [("mp.spawn(work, (seed,), 8)", True), ("notebook", False)])
def test_copies_of_a_process_draw_the_same_with_numpy(start: str, is_reported: bool):
    start = start.replace("notebook", "accelerate.notebook_launcher(work, (0, seed), 8)")
    text = script(SPAWNED.format(**{**AS_IT_IS, "start": start}))
    assert is_found(text.replace("random.shuffle(rows)", "np.random.shuffle(rows)")) is is_reported


@pytest.mark.parametrize(
    ("draw", "help_"),
    [
        ("train = rows.shuffle()", "`seed=42`"),
        ("train = rows.train_test_split(0.1)['train'].select(range(9)).map(str)", "`seed=42`"),
        ("train, _ = random_split(rows, [9, 1])", "`generator=torch.Generator().manual_seed(42)`"),
        ("train = Subset(rows, torch.randperm(9)[:5].tolist())", "`generator=torch.Generator().manual_seed(42)`"),
        ("train = rows.select(torch.randperm(9)[:5])", "`generator=torch.Generator().manual_seed(42)`"),
        ("train = rows.select(np.random.permutation(9))", "`np.random.default_rng(42).permutation(…)`"),
        ("train = rows.select(random.sample(range(9), 5))", "`random.Random(42).sample(…)`"),
        ("train, _ = train_test_split(list(rows))", "`random_state=42`"),
        (
            "rows, _ = train_test_split(table())\ntrain = Dataset.from_pandas(rows.reset_index(drop=True))",
            "`random_state=42`",
        ),
        (
            "rows, _ = train_test_split(table())\ntrain = Dataset.from_dict({'text': rows['text'].tolist()})",
            "`random_state=42`",
        ),
        (
            "rows, _ = train_test_split(table())\ntrain = Dataset.from_pandas(rows.iloc[:9][['a', 'b']])",
            "`random_state=42`",
        ),
        ("train = list(rows)\nrandom.shuffle(train)", "`random.Random(42).shuffle(…)`"),
        ("train = json_rows()\nnp.random.shuffle(train)\ntrain = train[:5]", "`np.random.default_rng(42).shuffle(…)`"),
        (
            "order = list(range(9))\nrandom.shuffle(order)\ntrain = rows.select(order[:5])",
            "`random.Random(42).shuffle(…)`",
        ),
        ("train = Dataset.from_list(random.sample(list(rows), 5))", "`random.Random(42).sample(…)`"),
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        LOOP,
        'Trainer(model="m", train_dataset=train)\n',
        "DistributedSampler(train)\n",
        "loader = DataLoader(train, batch_size=2)\nDistributedSampler(loader.dataset)\n",
    ],
)
def test_every_draw_is_reported_wherever_the_ranks_share_it_out(draw: str, help_: str, use: str):
    assert help_ in SNIPPETS.finding(script(LOAD, draw + "\n", use)).help


@pytest.mark.parametrize(
    "draw",
    [
        "train = rows.shuffle(seed=42)",
        "train = rows.shuffle(seed=read_seed())",
        "train = rows.shuffle(generator=np.random.default_rng(0))",
        "train = rows.train_test_split(0.1, seed=os.environ.get('S'))['train']",
        "train = rows.train_test_split(0.1, shuffle=False)['train']",
        "train = rows.train_test_split(0.1, shuffle=mixed)['train']",
        "train = rows.train_test_split(0.1, train_indices_cache_file_name='a')['train']",
        "train = rows.train_test_split(**options)['train']",
        "train = rows.shuffle().sort('id')",
        "rows, _ = train_test_split(table())\ntrain = Dataset.from_pandas(rows.sort_values('id'))",
        "rows, _ = train_test_split(table())\ntrain = Dataset.from_pandas(names_of(rows))",
        "train, _ = random_split(rows, [9, 1], generator=torch.Generator().manual_seed(0))",
        "train, _ = random_split(rows, [9, 1], torch.Generator())",
        "train = rows.select(torch.randperm(9, generator=generator))",
        "train, _ = train_test_split(list(rows), random_state=0)",
        "train, _ = train_test_split(list(rows), shuffle=False)",
        "train = list(rows)\nrandom.Random(0).shuffle(train)",
        "train = rows.select(np.random.default_rng(0).permutation(9))",
        "train = load_dataset('json', split='train', streaming=True).shuffle()",
        "train = load_dataset('json', split='train', streaming=True).reshard().repeat(2).shuffle()",
        "print(random.sample(range(9), 3))\ntrain = rows",
        "shown = rows.shuffle().select(range(3))\ntrain = rows",
        "rows.shuffle()\ntrain = rows",
        "train = rows.shard(8, PartialState().process_index).shuffle()",
    ],
)
@pytest.mark.parametrize("use", [LOOP, 'Trainer(model="m", train_dataset=train)\n'])
def test_draws_that_are_alike_or_not_shared_out_are_silent(draw: str, use: str):
    assert not is_found(script(LOAD, draw + "\n", use))


SEEDS = [
    "set_seed(0)",
    "accelerate.utils.set_seed(0)",
    "transformers.set_seed(0)",
    "transformers.enable_full_determinism(0)",
    "np.random.seed(0)",
    "pl.seed_everything(1)",
    "fix_seeds()",
    "make_reproducible()",
    "setup_environment()",
    "begin(seed=3)",
    "import trl\ntrl.BestOfNSampler(model, tokenizer, seed=3)",
    "accelerate.utils.set_seed(0, device_specific=maybe)",
]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_may_have_seeded_before_the_draw_makes_it_right(seed: str):
    assert not is_found(script(LOAD, seed + "\n", DRAW, TRAIN))


@pytest.mark.parametrize(
    "seed",
    [
        "torch.manual_seed(0)",  # for another generator
        "random.seed(0)",
        "torch.cuda.manual_seed_all(0)",
        "torch.Generator().manual_seed(0)",
        "set_seed(0, device_specific=True)",
        "set_seed(PartialState().process_index)",
        "model = AutoModelForCausalLM.from_pretrained('m')",
        "import trl\nmodel, tokenizer = trl.setup_chat_format(model, tokenizer)",
        "class Own(Base):\n    def __init__(self):\n        super().__init__()\nOwn()",
    ],
)
def test_what_seeds_another_generator_or_each_rank_apart_does_not(seed: str):
    assert is_found(script(LOAD, seed + "\n", DRAW, TRAIN))


def test_a_seed_behind_the_draw_is_too_late():
    assert is_found(script(LOAD, DRAW, "set_seed(0)\n", TRAIN))
    assert is_found(program(LOAD + DRAW + "set_seed(0)\n" + TRAIN))


@pytest.mark.parametrize(
    ("generator", "draw"),
    [
        ("random", "train = random.sample(list(rows), 5)\n"),
        ("np.random", "train, _ = train_test_split(list(rows))\n"),
        ("np.random", "train = rows.select(np.random.permutation(9))\n"),
    ],
)
def test_each_generator_has_a_seed_of_its_own(generator: str, draw: str):
    others = {"random", "np.random"} - {generator}
    assert not is_found(script(LOAD, f"{generator}.seed(0)\n", draw, LOOP))
    assert all(is_found(script(LOAD, f"{other}.seed(0)\n", draw, LOOP)) for other in others)
    assert not is_found(script(LOAD, "torch.manual_seed(0)\n", "train, _ = random_split(rows, [9, 1])\n", LOOP))


def test_the_order_is_that_of_the_calls():
    """Helpers that seed, and a program that seeds before it calls the function that draws."""
    helper = "def helper(value):\n    random.seed(value)\n    np.random.seed(value)\n\n"
    text = program("helper(0)\n" + LOAD + DRAW + TRAIN).replace(HEAD, HEAD + helper)
    assert not is_found(text)
    assert is_found(program(LOAD + DRAW + "helper(0)\n" + TRAIN).replace(HEAD, HEAD + helper))
    assert not is_found(program(LOAD + DRAW + TRAIN, call="set_seed(0); main()"))
    assert is_found(program(LOAD + DRAW + TRAIN, call="main(); set_seed(0)"))


def test_a_trainer_seeds_what_is_drawn_behind_it():
    first = 'Trainer(model="m", train_dataset=rows)\n'
    assert not is_found(script(LOAD, first, DRAW, TRAIN))
    assert not is_found(program(LOAD + DRAW + TRAIN, call="Trainer(model=model); main()"))
    assert is_found(script(LOAD, DRAW, TRAIN, first))


def test_a_draw_in_a_helper_counts_where_its_result_is_shared_out():
    helper = HEAD + "def split_rows(rows):\n    return rows.train_test_split(0.1)\n\n"
    text = helper + LOAD + "split = split_rows(rows)\n" + TRAIN
    assert shown(text, SNIPPETS.finding(text)) == "rows.train_test_split(0.1)"
    assert not is_found(helper + LOAD + "set_seed(1)\nsplit = split_rows(rows)\n" + TRAIN)
    assert is_found(helper + LOAD + "split = split_rows(rows)\nset_seed(1)\n" + TRAIN)


def test_a_data_set_of_the_users_own_hands_the_draw_on():
    own = "class Rows(torch.utils.data.Dataset):\n    def __init__(self, rows):\n        self.rows = rows\n\n"
    draw = "texts = read()\nrandom.shuffle(texts)\ntrain = Rows(texts[:9])\n"
    text = script(own, draw, 'Trainer(model="m", train_dataset=train)\n')
    assert shown(text, SNIPPETS.finding(text)) == "random.shuffle(texts)"
    assert not is_found(script(own, "random.seed(1)\n", draw, 'Trainer(model="m", train_dataset=train)\n'))
    assert not is_found(script(own, "texts = read()\nrandom.shuffle(texts)\nshow(Rows(texts))\n"))


@pytest.mark.parametrize(("base", "is_reported"), [("Dataset", True), ("IterableDataset", False)])
def test_what_streams_is_read_by_one_process_for_all(base: str, is_reported: bool):
    own = f"class Rows(torch.utils.data.{base}):\n    def __init__(self, rows):\n        self.rows = rows\n\n"
    draw = "texts = read()\nrandom.shuffle(texts)\ntrain = Rows(texts)\n"
    assert is_found(script(own, draw, LOOP)) is is_reported
    assert not is_found(script(LOAD, "train = rows.shuffle().to_iterable_dataset()\n", LOOP))


def test_a_file_that_seeds_when_it_is_imported_makes_it_right(tmp_path: Path):
    (tmp_path / "common.py").write_text("import numpy\nnumpy.random.seed(0)\nSHARE = 0.1\n", encoding="utf-8")
    main = tmp_path / "main.py"
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL015"),))
    body = script(LOAD, "from common import SHARE\nsplit = rows.train_test_split(SHARE)\n", TRAIN)
    assert not linter.check(main, body.encode())
    (tmp_path / "common.py").write_text("SHARE = 0.1\n", encoding="utf-8")
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL015"),))
    assert linter.check(main, body.encode())


def test_a_draw_in_another_file_is_told_where_its_result_is_shared_out(tmp_path: Path):
    data = "from datasets import load_dataset\n\ndef read():\n"
    data += "    return load_dataset('json', split='train').train_test_split(0.1)\n"
    (tmp_path / "data.py").write_text(data, encoding="utf-8")
    body = script("from data import read\nsplit = read()\n", TRAIN)
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL015"),))
    (finding,) = linter.check(tmp_path / "main.py", body.encode())
    assert shown(body, finding).startswith("SFTTrainer(")
    assert [Path(step.path).name for step in finding.because] == ["data.py"]
    assert "`train_test_split` in data.py runs without a seed" in finding.message
    assert finding.fix.reason == "it is drawn in another file"


_OWN_ROWS = """
class {}(Dataset):
    def __init__(self, rows):
        self.rows = rows
    def __len__(self):
        return len(self.rows)
"""


@pytest.mark.parametrize(("lazy", "is_reported"), [("Lazy", True), ("chosen_by(args)", False)])
def test_which_class_of_the_project_holds_the_rows_is_a_setting(lazy: str, is_reported: bool):
    own = "from torch.utils.data import Dataset\n" + _OWN_ROWS.format("Plain") + _OWN_ROWS.format("Lazy")
    made = f"cls = {lazy} if args.lazy else Plain\nrows = list(read())\nrandom.shuffle(rows)\n"
    made += "Trainer('m', train_dataset=cls(rows))\n"
    assert is_found(script(own, made)) is is_reported


SHUFFLED = """\
import random
from torch.utils.data import Dataset
class Images(Dataset):
    def __init__(self, path, limit=None):
        self.limit = limit
        self.files = [line.strip() for line in open(path)]
        random.shuffle(self.files)
    def __getitem__(self, index):
        return self.files[index]
    def __len__(self):
        return len(self.files)
if __name__ == "__main__":
    print(Images("few.txt", 3))
"""


@pytest.mark.parametrize(("before", "is_reported"), [("", True), ("random.seed(0)\n", False)])
def test_what_another_program_draws_stands_for_what_this_one_does(tmp_path: Path, before: str, is_reported: bool):
    """The file of the data set is a program too: what both programs leave in `self.files` is joined."""
    (tmp_path / "images.py").write_text(SHUFFLED, encoding="utf-8")
    body = f'{HEAD}from images import Images\n{before}data = Images("all.txt")\nDistributedSampler(data)\n'
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL015"),))
    assert bool(linter.check(tmp_path / "main.py", body.encode())) is is_reported


@pytest.mark.parametrize(("folder", "is_reported"), [("own", True), ("else", False)])
def test_a_package_without_an_init_below_the_roots_holds_what_its_own_files_import(
    tmp_path: Path, folder: str, is_reported: bool
):
    data = "import random\n\ndef module(path):\n    rows = read(path)\n    random.shuffle(rows)\n"
    data += "    return dict(train_dataset=rows, data_collator=None)\n"
    train = "from own.data.rows import module\nfrom transformers import Trainer\n\n"
    train += "data_module = module('x')\nTrainer('m', **data_module).train()\n"
    files = {tmp_path / "tuning/own/data/rows.py": data, tmp_path / f"tuning/{folder}/train/main.py": train}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL015"),))
    main = tmp_path / f"tuning/{folder}/train/main.py"
    assert bool(linter.check(main, train.encode())) is is_reported


def test_code_that_no_script_in_sight_runs_is_silent():
    """Its caller may have seeded: a function of a library, a method of a Trainer."""
    function = program(LOAD + DRAW + TRAIN).partition("if __name__")[0]
    assert not is_found(function)
    assert is_found(function + "main()\n")
    assert is_found(function.replace("import os\n", "import fire\nimport os\n", 1) + "fire.Fire(main)\n")
    assert not is_found(
        function.replace("import os\n", "import fire\nimport os\n", 1) + "set_seed(1)\nfire.Fire(main)\n"
    )
    init = "rows = rows.shuffle()\nsuper().__init__(train_dataset=rows)\n"
    method = f"class Mine(Trainer):\n    def __init__(self, rows: Dataset):\n{indent(init, ' ' * 8)}"
    assert not is_found(HEAD + method)


@pytest.mark.parametrize(
    "body",
    [
        "if PartialState().is_main_process:\n    rows = rows.shuffle()\nTrainer(model='m', train_dataset=rows)\n",
        "if unknown():\n    rows = rows.shuffle()\nTrainer(model='m', train_dataset=rows)\n",
        "rows = rows.shuffle() if seed is None else rows.shuffle(seed=seed)\nTrainer(model='m', train_dataset=rows)\n",
        "if seed is None:\n    rows = rows.shuffle()\nTrainer(model='m', train_dataset=rows)\n",
        "rows = rows.shuffle()\nprint(rows)\n",
        "rows = rows.shuffle()\nloader = DataLoader(rows)\n",
        "model = AutoModelForCausalLM.from_pretrained('m', device_map='auto')\nrows = rows.shuffle()\n"
        "Trainer(model=model, train_dataset=rows)\n",
    ],
)
def test_draws_of_some_ranks_or_of_one_process_are_silent(body: str):
    assert not is_found(script("seed = None\n", LOAD, body))


def test_what_one_rank_has_drawn_for_all_is_right():
    held = "order = list(range(9))\nrandom.shuffle(order)\nheld = [order]\nbroadcast_object_list(held)\n"
    assert not is_found(script(LOAD, held, "train = rows.select(held[0])\n", LOOP))


@pytest.mark.parametrize("way", ["main_process_first", "local_main_process_first"])
def test_one_rank_after_the_other_draws_another_split(way: str):
    """Without a seed the result has another fingerprint on each rank: no rank reads what another one has cached."""
    body = f"with PartialState().{way}():\n    split = rows.train_test_split(0.1)\n"
    assert is_found(script(LOAD, body, TRAIN))
    assert not is_found(script(LOAD, body.replace("0.1", "0.1, seed=1"), TRAIN))


def test_one_arm_of_a_condition_that_all_ranks_take_alike_is_enough():
    body = "train, test = rows, None\nif args.share > 0:\n    split = rows.train_test_split(args.share)\n"
    body += '    train, test = split["train"], split["test"]\n'
    use = "Trainer(model='m', args=args, train_dataset=train, eval_dataset=test if args.do_eval else None)\n"
    text = program(LOAD + body + use, call="main(TrainingArguments('x'))", parameters="args: TrainingArguments")
    assert shown(text, SNIPPETS.finding(text)) == "rows.train_test_split(args.share)"


@pytest.mark.parametrize(
    ("test", "is_reported"),
    [
        ("args.limit", True),
        ("args.limit is not None and args.limit > 0", True),
        ("args.limit and is_new(path)", False),
        ("args.local_rank == 0", False),
        ("args.seed is None", False),
    ],
)
@pytest.mark.parametrize("use", [LOOP, 'Trainer(model="m", train_dataset=train)\n'])
def test_a_draw_that_a_setting_asks_for_is_one_of_all_ranks(test: str, is_reported: bool, use: str):
    body = f"train = rows\nif {test}:\n    train = rows.shuffle().select(range(args.limit))\n"
    text = "from argparse import ArgumentParser\nargs = ArgumentParser().parse_args()\n" + LOAD + body + use
    assert is_found(script(text)) is is_reported


def test_conditions_on_the_rank_that_leave_the_data_alone_hide_nothing():
    body = LOAD + DRAW + "state = PartialState()\nif state.is_main_process and hasattr(rows, 'name'):\n    print(1)\n"
    body += "elif state.is_main_process:\n    print(2)\n"
    assert is_found(script(body, TRAIN))
    assert not Linter(SETTINGS, (SNIPPETS.path.parent,), (find_rule("TRL006"),)).check(
        SNIPPETS.path, script(body.replace(DRAW, "split = rows\n"), TRAIN).encode()
    )


ARMS = """\
if args.share:
    train = rows.shuffle().map(f)
elif args.other:
    train = {other}
else:
    train = rows.shuffle()
"""


@pytest.mark.parametrize(("other", "draws"), [("rows.select(part).shuffle()", 3), ("rows.shuffle(seed=1)", 2)])
@pytest.mark.parametrize("use", [LOOP, 'Trainer(model="m", train_dataset=train)\n', "DistributedSampler(train)\n"])
def test_the_draw_of_each_arm_is_told_and_mended(other: str, draws: int, use: str):
    body = LOAD + ARMS.format(other=other) + use + "later(seed=3)\n"
    text = program(body, call="main(TrainingArguments('x'))", parameters="args: TrainingArguments")
    assert len(SNIPPETS.findings(text)) == draws
    mended = SNIPPETS.mended(text, unsafe=True)
    assert mended.count("shuffle(seed=") == 3
    assert SNIPPETS.findings(mended) == []


# --- the fix --------------------------------------------------------------------------------------------

ARGUMENTS = 'arguments = SFTConfig("out")\n'
WITH_ARGUMENTS = TRAIN.replace('"m", ', '"m", args=arguments, ')


@pytest.mark.parametrize(
    ("draw", "mended"),
    [
        (DRAW, "split = rows.train_test_split(test_size=0.1, seed=arguments.seed)\n"),
        (
            "split = rows.train_test_split(test_size=0.1, seed=None)\n",
            "split = rows.train_test_split(test_size=0.1, seed=arguments.seed)\n",
        ),
        (
            "split = rows.train_test_split(\n    test_size=0.1,\n)\n",
            "split = rows.train_test_split(\n    test_size=0.1,\n    seed=arguments.seed,\n)\n",
        ),
        (
            "split = rows.train_test_split(\n    0.1,\n    0.9\n)\n",
            "split = rows.train_test_split(\n    0.1,\n    0.9,\n    seed=arguments.seed\n)\n",
        ),
        ("split = {'train': rows.shuffle()}\n", "split = {'train': rows.shuffle(seed=arguments.seed)}\n"),
        (
            "split = {'train': random_split(rows, [9, 1])[0]}\n",
            "split = {'train': random_split(rows, [9, 1], "
            "generator=torch.Generator().manual_seed(arguments.seed))[0]}\n",
        ),
        (
            "split = {'train': rows.select(np.random.permutation(9))}\n",
            "split = {'train': rows.select(np.random.default_rng(arguments.seed).permutation(9))}\n",
        ),
    ],
)
def test_the_fix_gives_it_the_seed_of_the_trainer(draw: str, mended: str):
    train = WITH_ARGUMENTS if "test_split" in draw else WITH_ARGUMENTS.replace(', eval_dataset=split["test"]', "")
    text = program(LOAD + ARGUMENTS + draw + train)
    finding = SNIPPETS.finding(text)
    assert finding.fix.applicability.value == "unsafe"
    assert "on one process as well" in finding.fix.reason
    assert SNIPPETS.fix(text.encode()).source == text.encode()
    assert SNIPPETS.mended(text, unsafe=True) == text.replace(indent(draw, "    "), indent(mended, "    "))


def test_arguments_whose_class_is_not_known_are_those_the_trainer_is_made_with():
    text = program(LOAD + "arguments = parse()\n" + DRAW + WITH_ARGUMENTS)
    assert "seed=arguments.seed)" in SNIPPETS.mended(text, unsafe=True)


@pytest.mark.parametrize(
    ("before", "seed"),
    [("seed = 3\n", "seed"), ("other = rows.shuffle(seed=7)\n", "7")],
)
def test_other_seeds_in_reach(before: str, seed: str):
    assert f"test_size=0.1, seed={seed})" in SNIPPETS.mended(program(LOAD + before + DRAW + TRAIN), unsafe=True)


@pytest.mark.parametrize(
    "text",
    [
        program(LOAD + DRAW + TRAIN),
        program(LOAD + DRAW + ARGUMENTS + WITH_ARGUMENTS),  # not created yet
        program(LOAD + "if rows:\n    arguments = parse()\n" + DRAW + WITH_ARGUMENTS),
        program(LOAD + "seed = PartialState().process_index\n" + DRAW + TRAIN),
        program(LOAD + "seed = None\n" + DRAW + TRAIN),
    ],
)
def test_without_a_seed_that_is_there_for_sure_there_is_a_hint(text: str):
    assert SNIPPETS.finding(text).fix.applicability.value == "display"
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_a_function_imported_by_its_own_name_is_left_to_the_author():
    text = script("from random import shuffle\nseed = 1\ntrain = read()\nshuffle(train)\n", LOOP)
    assert SNIPPETS.finding(text).fix.applicability.value == "display"


RANK = "rank = PartialState().process_index\n"


@pytest.mark.parametrize(
    ("draw", "is_reported"),
    [
        ("set_seed(42 + rank)\ntrain, _ = random_split(rows, [9, 1])", True),
        ("set_seed(42)\nset_seed(42, device_specific=True)\ntrain = rows.shuffle()", True),
        ("set_seed(42 + rank)\nset_seed(42)\ntrain = rows.shuffle()", False),
        ("set_seed(42)\nif unknown():\n    set_seed(42 + rank)\ntrain = rows.shuffle()", False),
        ("set_seed(42 + rank)\ntrain = rows.shuffle(seed=42)", False),
        ("train = rows.shuffle(seed=rank)", True),
        ("train = rows.shuffle(seed=unknown(rank))", False),
        ("train, _ = random_split(rows, [9, 1], torch.Generator().manual_seed(rank))", True),
        ("own = torch.Generator()\nown.manual_seed(rank)\ntrain, _ = random_split(rows, [9, 1], generator=own)", True),
        ("own = torch.Generator()\nown.manual_seed(7)\ntrain, _ = random_split(rows, [9, 1], generator=own)", False),
    ],
)
def test_a_seed_of_each_rank_is_none(draw: str, is_reported: bool):
    found = SNIPPETS.findings(script(LOAD, RANK, draw + "\n", LOOP))
    assert ["runs with a different seed on each rank" in each.message for each in found] == (
        [True] if is_reported else []
    )


DEALT = """
import sys
import torch.distributed as dist

def files_of(folder, seed):
    files = sorted(sys.argv[1:])
    {draw}
    rank, size = dist.get_rank(), dist.get_world_size()
    {deal}
    return files

dist.init_process_group("nccl")
for file in files_of("data", {seed}):
    print(file)
"""
OWN_DRAW = "own = random.Random(seed)\n    own.shuffle(files)"


@pytest.mark.parametrize(
    ("changed", "is_reported"),
    [
        ({}, True),
        ({"seed": "42"}, False),
        ({"deal": "files = files[:100]"}, False),
        ({"deal": "files = files[rank::9]"}, False),
        ({"deal": "files = files[:: 2]"}, False),
        ({"deal": "return files[rank::size]"}, True),
        ({"deal": "return iter(sorted(files[rank::size]))"}, True),
        ({"deal": "return iter(files[rank::size].copy())"}, True),
        ({"deal": "return iter(files[:: 2].copy())"}, False),
        ({"deal": "for file in files[rank::size]: print(file)"}, True),
        ({"deal": "for file in files[:: 2]: print(file)"}, False),
        ({"deal": "yield from files[rank::size]"}, True),
        ({"deal": "files = [file for n, file in enumerate(files) if n % size == rank]"}, True),
        ({"deal": "files = [file for n, file in enumerate(files) if n % 2 == 0]"}, False),
        ({"draw": "np.random.default_rng(seed).shuffle(files)"}, True),
        ({"draw": "files = random.Random(seed).sample(files, 100)"}, True),
        ({"draw": "random.seed(seed)\n    random.shuffle(files)"}, True),
        ({"draw": "random.shuffle(files)"}, True),
        ({"draw": "random.seed(7)\n    random.shuffle(files)"}, False),
        ({"draw": "random.Random(seed).uniform(0, 1)"}, False),
        ({"draw": "random.Random(str(seed)).shuffle(other())"}, False),
        ({"draw": "pass", "deal": f"files = files[rank::size]\n    {OWN_DRAW}"}, False),
    ],
)
def test_files_that_each_rank_shuffles_and_deals_by_hand(changed: dict[str, str], is_reported: bool):
    parts = {"draw": OWN_DRAW, "deal": "files = files[rank::size]", "seed": "42 + dist.get_rank()", **changed}
    assert is_found(script(DEALT.format(**parts))) is is_reported


@pytest.mark.parametrize(
    ("draw", "is_reported"),
    [
        ("train = Subset(rows, np.random.default_rng().permutation(9))", True),
        ("own = np.random.default_rng()\norder = own.permutation(9)\ntrain = Subset(rows, order[:5])", True),
        ("train = Subset(rows, np.random.RandomState(None).choice(9, 5, replace=False))", True),
        ("own = np.random.default_rng()\ntrain = Subset(rows, own.permuted(range(9)))", True),
        ("train = list(range(9))\nrandom.Random().shuffle(train)", True),
        ("train = Subset(rows, np.random.default_rng(7).permutation(9))", False),
        ("train = Subset(rows, np.random.default_rng(*given).permutation(9))", False),
        ("train = Subset(rows, [np.random.default_rng().choice(9)])", False),
        ("own = np.random.RandomState()\nown.seed(7)\ntrain = Subset(rows, own.permutation(9))", False),
        ("own = np.random.default_rng()\nresume(own)\ntrain = Subset(rows, own.permutation(9))", False),
        (
            "own = np.random.default_rng()\nown.bit_generator.state = old\ntrain = Subset(rows, own.permutation(9))",
            False,
        ),
        ("from ours import default_rng\ntrain = Subset(rows, default_rng().permutation(9))", False),
    ],
)
def test_a_generator_of_its_own_needs_a_seed_of_its_own(draw: str, is_reported: bool):
    found = SNIPPETS.findings(script(LOAD, "set_seed(42)\n", draw + "\n", LOOP))
    assert ["runs without a seed" in each.message for each in found] == [True] * is_reported
    assert not any("set_seed" in (each.help or "") for each in found)


def test_what_a_generator_of_each_rank_draws_is_left_to_the_author():
    text = script(DEALT.format(draw=OWN_DRAW, deal="files = files[rank::size]", seed="42 + dist.get_rank()"))
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "own.shuffle(files)"
    assert [step.text for step in finding.because] == ["each rank takes its share of it here"]
    assert finding.help.startswith("draw the same on all ranks: `random.Random(42).shuffle(…)`")
    assert finding.fix is None or finding.fix.applicability.value == "display"


@pytest.mark.parametrize(
    ("before", "draw", "says"),
    [
        ("seed_all(42 + rank)\n", "rows.shuffle()", ["with a different seed on each rank"]),
        ("", "rows.shuffle()", ["without a seed"]),
        ("seed_all(42 + rank)\nset_seed(42)\n", "rows.shuffle()", []),
        ("seed_all(42 + rank)\n", "rows.shuffle(seed=42)", []),
    ],
)
def test_a_draw_in_a_function_has_the_seed_of_those_above_it(before: str, draw: str, says: list[str]):
    helpers = f"def seed_all(seed):\n    set_seed(seed)\n\ndef cut(rows):\n    return {draw}\n\n"
    body = LOAD + before + "train = cut(rows)\n" + LOOP
    main = "def main():\n" + indent(body, "    ") + "\n\nmain()\n"
    found = SNIPPETS.findings(HEAD + RANK + helpers + main)
    assert [each.message.partition(" runs ")[2].partition(",")[0] for each in found] == says


def test_the_order_of_the_calls_counts_for_seeds_of_each_rank_too():
    helper = HEAD + RANK + "def seeds():\n    set_seed(42 + rank)\n\ndef cut(rows):\n    return rows.shuffle()\n\n"
    assert is_found(helper + LOAD + "set_seed(42)\nseeds()\ntrain = cut(rows)\n" + LOOP)
    assert not is_found(helper + LOAD + "seeds()\nset_seed(42)\ntrain = cut(rows)\n" + LOOP)
    assert not is_found(helper + LOAD + "set_seed(42)\ntrain = cut(rows)\nseeds()\n" + LOOP)


@pytest.mark.parametrize(
    ("given", "is_reported"),
    [
        ("seed=rank", True),
        ("shuffle=True, seed=7 * rank", True),
        ("num_replicas=PartialState().num_processes, seed=rank", True),
        ("PartialState().num_processes, rank, True, rank", True),
        ("PartialState().num_processes, rank, seed=rank", True),
        ("seed=7", False),
        ("PartialState().num_processes, rank, True, 7", False),
        ("PartialState().num_processes, rank, False, rank", False),
        ("1, 0, seed=rank", False),
        ("groups, place, seed=rank", False),
        ("seed=unknown(rank)", False),
        ("shuffle=False, seed=rank", False),
        ("num_replicas=1, rank=0, seed=rank", False),  # each rank reads all rows
        ("num_replicas=groups, rank=place, seed=rank", False),
    ],
)
def test_a_sampler_that_shuffles_by_a_seed_of_each_rank(given: str, is_reported: bool):
    text = script(LOAD, RANK, f"sampler = DistributedSampler(rows, {given})\n")
    assert [each.message.split(",")[0] for each in SNIPPETS.findings(text)] == (
        ["this sampler shuffles with a different seed on each rank"] * is_reported
    )
    own = text.replace("sampler = DistributedSampler(", "class Own(DistributedSampler):\n    pass\nsampler = Own(")
    assert own != text and not is_found(own)


OWN_ROWS = """
class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        super().__init__()
        self.rows = [line for line in open(path)]
        self.shown = [line for line in open(path)]
        {}

    def __len__(self):
        return len(self.rows)

train = Rows("x")
"""


@pytest.mark.parametrize(
    ("made", "is_reported"),
    [
        ("random.shuffle(self.rows)", True),
        ("found = [row for row in open(path)]\n        random.shuffle(found)\n        self.rows = found", True),
        ("self.rows = [self.rows[place] for place in np.random.permutation(9)]", True),
        ("random.shuffle(self.shown)", False),
        ("random.Random(0).shuffle(self.rows)", False),
        ("random.seed(0)\n        random.shuffle(self.rows)", False),
    ],
)
@pytest.mark.parametrize("use", [LOOP, 'Trainer(model="m", train_dataset=train)\n', "DistributedSampler(train)\n"])
def test_rows_that_a_data_set_of_its_own_draws_as_it_is_made(made: str, is_reported: bool, use: str):
    assert is_found(script(OWN_ROWS.format(made), use)) is is_reported


TRIED = """\
import torch
from torch.utils.data import Subset
from torch.utils.data.distributed import DistributedSampler


def first(rows):
    return DistributedSampler(Subset(rows, torch.randperm(len(rows)).tolist()))


if __name__ == "__main__":
    first([1, 2])
"""


@pytest.mark.parametrize(("seeds", "is_reported"), [("", True), ("torch.manual_seed(0)\n", False)])
def test_a_sampler_is_made_only_in_programs_that_start_a_process_group(tmp_path: Path, seeds: str, is_reported: bool):
    start = "torch.distributed.init_process_group()\n"
    main = f"import torch.distributed\nfrom data import first\n{seeds}{start}first(range(9))\n"
    (tmp_path / "main.py").write_text(main, encoding="utf-8")
    (tmp_path / "data.py").write_text(TRIED, encoding="utf-8")
    (tmp_path / "pyproject.toml").touch()
    found = [each.code for each in api.check(tmp_path, Settings(root=tmp_path))]
    assert found == ["TRL015"] * is_reported


@pytest.mark.parametrize(
    ("lines", "is_reported"),
    [
        ("several = 'WORLD_SIZE' in os.environ and int(os.environ['WORLD_SIZE']) > 1", False),
        ("several = int(os.environ.get('LOCAL_RANK', '0')) > 0 or os.getenv('WORLD_SIZE') == '2'", False),
        ("os.environ['WORLD_SIZE'] = '2'", True),
        ("several = parser.add_argument('--local_rank')", True),
    ],
)
def test_who_only_reads_the_size_of_the_job_starts_no_process_group(tmp_path: Path, lines: str, is_reported: bool):
    text = TRIED.replace("import torch\n", f"import os\nimport torch\n{lines}\n", 1)
    (tmp_path / "data.py").write_text(text, encoding="utf-8")
    (tmp_path / "pyproject.toml").touch()
    found = [each.code for each in api.check(tmp_path, Settings(root=tmp_path))]
    assert found == ["TRL015"] * is_reported


FILES = """\
import glob
class Episodes(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files = files
    def __len__(self):
        return len(self.files)
    def __getitem__(self, index):
        return torch.load(self.files[index])
torch.distributed.init_process_group()
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
"""
SHARED = "DistributedSampler(Episodes(files))\n"


@pytest.mark.parametrize(
    ("listed", "is_reported"),
    [
        ("files = os.listdir('a')\nrandom.shuffle(files)\n", True),
        ("found = sorted(glob.glob('*.pt'))\norder = np.random.permutation(len(found))\n", True),
        ("found = sorted(glob.glob('*.pt'))\norder = np.random.RandomState(0).permutation(len(found))\n", False),
        ("np.random.seed(0)\nfound = sorted(glob.glob('*.pt'))\norder = np.random.permutation(len(found))\n", False),
        # Each rank draws among files of its own, of which the sampler deals out nothing that others have.
        ("files = glob.glob('*.pt')[rank::size]\nrandom.shuffle(files)\n", False),
        ("found = glob.glob(f'{rank}/*.pt')\norder = np.random.permutation(len(found))\n", False),
    ],
)
def test_files_that_all_ranks_find_are_drawn_as_well_as_other_rows(listed: str, is_reported: bool):
    picked = "files = [found[i] for i in order[: int(0.9 * len(found))]]\n" if "order" in listed else ""
    assert is_found(script(FILES, listed, picked, SHARED)) is is_reported


DATA_MODULE = """\
import lightning as L
from torch.utils.data import DataLoader, random_split


class Data(L.LightningDataModule):
    def setup(self, stage=None):
        self.train, self.val = random_split(rows(), [0.9, 0.1])

    def train_dataloader(self):
        return self.loader(self.train)

    def loader(self, rows):
        return DataLoader(rows, shuffle=True)
"""
FITS = """\
import lightning as L
from data import Data

{}
trainer = L.Trainer(devices=4, strategy="ddp")
trainer.fit(model(), datamodule=Data())
"""


@pytest.mark.parametrize(
    ("fits", "expected"),
    [
        (FITS.format(""), [("data.py", 7)]),
        (FITS.format("L.seed_everything(1)"), []),
        (FITS.format("").replace('devices=4, strategy="ddp"', "devices=1"), []),
        (FITS.format("").replace("trainer.fit", "print"), []),
        (FITS.format("").replace('strategy="ddp"', 'strategy="ddp", use_distributed_sampler=False'), []),
    ],
)
def test_a_data_module_of_another_file_draws_for_the_program_that_fits_it(
    fits: str, expected: list[tuple[str, int]], tmp_path: Path
):
    (tmp_path / "data.py").write_text(DATA_MODULE)
    (tmp_path / "train.py").write_text(fits)
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL015",)))
    assert [(Path(each.path).name, each.start.line) for each in findings] == expected


def test_a_tensor_that_its_own_pieces_replace_is_no_maker_of_folds():
    """What has made `x` is looked at for folds, and not what is called in it: that is this very call."""
    turned = "def turned(x):\n    x = torch.cat(x.split(2), dim=-1).float()\n    return x\n"
    assert is_found(script(turned, LOAD, DRAW, TRAIN))
