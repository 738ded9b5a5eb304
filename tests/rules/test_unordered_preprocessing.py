"""TRL012: what it reports, its messages, the applicability of its fix, and what the fix writes."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from snippets import Snippets

from trl_lint import api
from trl_lint.findings import Applicability
from trl_lint.linter.linter import Linter
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL012")
UNSAFE, DISPLAY = Applicability.UNSAFE, Applicability.DISPLAY
SCRIPT = """\
from accelerate import Accelerator, PartialState
from datasets import load_dataset

accelerator = Accelerator()
dataset = load_dataset("a/b", split="train")
"""


def script(code: str) -> str:
    return SCRIPT + textwrap.dedent(code)


def in_trainer(body: str, annotation: str = "") -> str:
    head = "from accelerate import PartialState\nfrom datasets import Dataset, IterableDataset\n"
    head += "from transformers import Trainer\n\n\nclass MyTrainer(Trainer):\n"
    head += f"    def __init__(self, model, args, train_dataset{annotation}):\n"
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    return f"{head}{inner}\n        super().__init__(model, args)\n"


def test_a_finding_says_what_where_and_how():
    finding = SNIPPETS.finding(in_trainer("train_dataset = train_dataset.map(tokenize)"))
    assert (finding.code, finding.name) == ("TRL012", "unordered-preprocessing")
    assert finding.message == (
        "every rank runs this `map` at the same time: on several GPUs each process computes the whole data set"
    )
    assert finding.help.endswith("`with PartialState().main_process_first():`")


def test_one_rank_per_node_is_found_at_the_block_and_led_to_the_data_set():
    text = in_trainer("""
        with PartialState().local_main_process_first():
            train_dataset = train_dataset.map(tokenize)
            train_dataset = train_dataset.filter(is_short)
    """)
    finding = SNIPPETS.finding(text)
    assert text.splitlines()[finding.start.line - 1].strip() == "with PartialState().local_main_process_first():"
    assert finding.message.startswith("one rank of each node goes first: on several nodes with a shared file system")
    assert [step.text for step in finding.because] == ["the data set is computed and cached here"]


@pytest.mark.parametrize(
    "code",
    [
        "dataset.map(tokenize)",
        "dataset.filter(is_long)",
        "dataset['train'].map(function=tokenize)",
        "dataset.shuffle(seed=1).select(range(9)).map(tokenize, num_proc=2)",
        "dataset.skip(9).take(9).repeat(2).map(tokenize)",
        "import torch\nmanager = torch.no_grad()\nwith manager:\n    dataset.map(tokenize)",
        "for name, part in {'a': dataset}.items():\n    part.map(tokenize)",
        "if dataset is not None:\n    dataset.map(tokenize)",
        "if args.tokenizes and not args.stream:\n    dataset.map(tokenize)",
        "dataset.map(tokenize, desc='Tokenizing' if accelerator.is_main_process else None)",
        "def prepared(rows):\n    return rows.map(tokenize)\n\n\nprepared(dataset)",
        "manager = accelerator.local_main_process_first()\nwith manager:\n    dataset.map(tokenize)",
    ],
)
def test_it_speaks_in_scripts(code: str):
    assert SNIPPETS.findings(script(code))


@pytest.mark.parametrize(
    "code",
    [
        "with accelerator.main_process_first():\n    dataset.map(tokenize)",
        "one = PartialState()\nwith one.main_process_first(), one.local_main_process_first():\n    dataset.map(f)",
        "with accelerator.local_main_process_first(), accelerator.main_process_first():\n    dataset.map(tokenize)",
        "manager = accelerator.main_process_first()\nwith manager:\n    dataset.map(tokenize)",
        "with somebody_first():\n    dataset.map(tokenize)",
        "if accelerator.is_main_process:\n    dataset.map(tokenize)\naccelerator.wait_for_everyone()",
        "dataset.map(tokenize, load_from_cache_file=False)",
        "dataset.map(tokenize, keep_in_memory=True)",
        "dataset.map(None)",
        "dataset.map(tokenize, batch_size=accelerator.process_index + 1)",
        "if args.tokenizes and may_tokenize():\n    dataset.map(tokenize)",
        "if args.tokenizes:\n    if accelerator.is_main_process:\n        dataset.map(tokenize)",
        "if args.local_rank in (-1, 0):\n    dataset.map(tokenize)",
        "dataset.shard(num_shards=2, index=accelerator.process_index).map(tokenize)",
        "load_dataset('a/b', streaming=True).map(tokenize)",
        "dataset.select(range(accelerator.process_index, 9, 2)).map(tokenize)",
        "dataset.skip(9 * accelerator.process_index).take(9).map(tokenize)",
        "load_dataset('a/b', streaming=True).reshard().repeat(2).map(tokenize)",
        "from datasets import IterableDataset\nIterableDataset.from_parquet('a').map(tokenize)",
        "dataset.to_iterable_dataset().map(tokenize)",
        "from datasets import Dataset\nDataset.from_dict({'a': [1]}).map(tokenize)",
        "something.map(tokenize)",
        "def prepared(rows):\n    return rows.map(tokenize)\n\n\n"
        "with accelerator.main_process_first():\n    prepared(dataset)",
        "import contextlib\nimport torch.distributed as dist\n\n\n@contextlib.contextmanager\ndef first():\n"
        "    if rank:\n        dist.barrier()\n    yield\n    if not rank:\n        dist.barrier()\n\n\n"
        "with first():\n    dataset.map(tokenize)",
    ],
)
def test_right_code_is_silent(code: str):
    assert not SNIPPETS.findings(script(code))


# The idiom of the documentation of `datasets`: some ranks wait before the call, the others reach the barrier after it.
SOME_WAIT = [
    ("rank > 0", "rank == 0"),
    ("rank != 0", "not rank"),
    ("args.local_rank not in [-1, 0]", "args.local_rank == 0"),
    ("int(os.environ['LOCAL_RANK']) > 0", "int(os.environ['LOCAL_RANK']) == 0"),
    ("dist.get_rank() != 0", "dist.get_rank() == 0"),
    ("not accelerator.is_main_process", "accelerator.is_main_process"),
    ("not accelerator.is_local_main_process", "accelerator.is_local_main_process"),
    ("dist.is_initialized() and rank > 0", "dist.is_initialized() and rank == 0"),
    ("unknown", "not unknown"),
]
IDIOM = """
import os
import torch.distributed as dist

rank = dist.get_rank()
if {wait}:
    {barrier}
dataset = dataset.map(tokenize)
dataset = dataset.filter(is_short)
if {come}:
    {barrier}
"""


@pytest.mark.parametrize("barrier", ["dist.barrier()", "accelerator.wait_for_everyone()", "synchronise()"])
@pytest.mark.parametrize(("wait", "come"), SOME_WAIT)
def test_two_barriers_that_let_some_ranks_go_first_are_right(wait: str, come: str, barrier: str):
    text = script(IDIOM.format(wait=wait, come=come, barrier=barrier))
    assert not SNIPPETS.findings(text)
    assert not Snippets("TRL006").findings(text)


def test_behind_the_second_barrier_nobody_goes_first():
    text = script(IDIOM.format(wait="rank > 0", come="rank == 0", barrier="dist.barrier()"))
    assert SNIPPETS.finding(text + "other = dataset.map(tokenize_again)\n")


@pytest.mark.parametrize(
    "inside",
    [
        "if dist.is_initialized():\n    if dist.get_rank() > 0:\n        dist.barrier()\n"
        "dataset.map(tokenize)\n"
        "if dist.is_initialized():\n    if dist.get_rank() == 0:\n        dist.barrier()\n",
        "def prepared(rows):\n    return rows.map(tokenize)\n\n\n"
        "if dist.get_rank() > 0:\n    dist.barrier()\nprepared(dataset)\n"
        "if dist.get_rank() == 0:\n    dist.barrier()\n",
        "if accelerator.is_main_process:\n    dataset.map(tokenize)\naccelerator.wait_for_everyone()\n"
        "dataset.map(tokenize)\n",
    ],
)
def test_some_ranks_go_first_in_other_ways(inside: str):
    text = script("import torch.distributed as dist\n\n" + inside)
    assert not SNIPPETS.findings(text)
    assert not Snippets("TRL006").findings(text)


@pytest.mark.parametrize(
    ("line", "is_reported"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "3"', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', True),
        ('os.environ.update({"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "3"})', False),
        ('os.environ.update({"CUDA_VISIBLE_DEVICES": "0,1"})', True),
        ('os.environ.update({\n    # "CUDA_VISIBLE_DEVICES": "3",\n})', True),
        ("import gradio as gr", False),
        ("import numpy as gradio", True),
    ],
)
def test_a_script_that_chooses_one_gpu_or_serves_a_page_is_one_process(line: str, is_reported: bool):
    assert bool(SNIPPETS.findings(f"import os\n{line}\n" + script("dataset.map(tokenize)"))) is is_reported


@pytest.mark.parametrize("where", ['"auto"', '"balanced"'])
def test_a_model_that_is_spread_over_all_gpus_is_trained_by_one_process(where: str):
    text = script("""
        from transformers import AutoModelForCausalLM

        where = {}
        model = AutoModelForCausalLM.from_pretrained("a/b", device_map=where)
        dataset.map(tokenize)
    """)
    assert not SNIPPETS.findings(text.format(where))
    assert SNIPPETS.findings(text.format('{"": accelerator.local_process_index}'))


@pytest.mark.parametrize(
    ("drawn", "alike"),
    [
        ("dataset.shuffle()", "dataset.shuffle(seed=3)"),
        ("dataset.shuffle(seed=None)", "dataset.shuffle(3)"),
        ("dataset.shuffle().select(range(9))", "dataset.shuffle(generator=generator).select(range(9))"),
        ("dataset.train_test_split(0.1)['train']", "dataset.train_test_split(0.1, seed=3)['train']"),
        ("dataset.train_test_split(0.1)['train']", "dataset.train_test_split(0.1, shuffle=False)['train']"),
    ],
)
def test_what_is_drawn_without_a_seed_has_a_file_of_its_own_on_each_rank(drawn: str, alike: str):
    assert not SNIPPETS.findings(script(f"{drawn}.map(tokenize)\n"))
    assert SNIPPETS.findings(script(f"{alike}.map(tokenize)\n"))


TEST = """
from datasets import load_dataset as load
from transformers import Trainer

def train(data):
    Trainer("a/b", train_dataset=data).train()

def test_training(tmp_path):
    data = load("a/b", split="train").map(tokenize)
    train(data)
"""
IN_CLASS = """
import unittest
from datasets import load_dataset
from transformers import Trainer

class TestTraining:
    def test_training(self):
        Trainer("a/b", train_dataset=load_dataset("a/b", split="train").map(tokenize)).train()
"""


@pytest.mark.parametrize(
    ("name", "code", "is_reported"),
    [
        ("test_training.py", TEST, False),
        ("training_test.py", TEST, False),
        ("test_training.py", TEST.replace("load(", "(lambda: load(").replace("tokenize)", "tokenize))()"), False),
        ("test_training.py", IN_CLASS, False),
        ("training.py", IN_CLASS.replace("TestTraining", "Training(unittest.TestCase)"), False),
        ("training.py", TEST, True),
        ("test_training.py", TEST.replace("test_training", "training"), True),
        ("test_training.py", TEST + "\nif __name__ == '__main__':\n    test_training('out')\n", True),
        ("test_training.py", IN_CLASS.replace("TestTraining", "Training"), True),
        ("training.py", IN_CLASS, True),
    ],
)
def test_a_test_is_run_by_one_process(name, code, is_reported, tmp_path):
    path = tmp_path / name
    path.write_text(code)
    linter = Linter(SNIPPETS.settings, (tmp_path,), (SNIPPETS.rule,))
    assert len(linter.check(path, path.read_bytes())) == is_reported


def test_the_two_barriers_may_stand_in_helpers():
    text = script("""
        import torch.distributed as dist


        def wait():
            if dist.get_rank() > 0:
                dist.barrier()


        def come():
            if dist.get_rank() == 0:
                dist.barrier()


        wait()
        dataset.map(tokenize)
        come()
    """)
    assert not SNIPPETS.findings(text)
    assert SNIPPETS.findings(text + "dataset.map(tokenize_again)\n")


def test_a_script_that_starts_no_ranks_is_silent():
    text = 'import trl\nfrom datasets import load_dataset\n\nload_dataset("a/b").map(tokenize)\n'
    assert not SNIPPETS.findings(text)


@pytest.mark.parametrize("annotation", [": Dataset", ": Dataset | None", ": 'Dataset | IterableDataset'", ""])
def test_a_trainer_s_data_set_may_be_annotated(annotation: str):
    assert SNIPPETS.findings(in_trainer("train_dataset = train_dataset.map(tokenize)", annotation))


def test_what_is_found_to_stream_is_silent():
    code = "if isinstance(train_dataset, IterableDataset):\n    train_dataset = train_dataset.map(tokenize)"
    assert not SNIPPETS.findings(in_trainer(code))


@pytest.mark.parametrize("call", ["datasets.disable_caching()", "disable_caching()", "set_caching_enabled(False)"])
def test_without_a_cache_there_is_no_file_to_share(call: str):
    code = in_trainer("train_dataset = train_dataset.map(tokenize)")
    assert not SNIPPETS.findings(f"{code}\n\ndef main():\n    {call}\n")


# --- the fix ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loaded", ['load_dataset("a/b")', 'load_from_disk("a")', 'load_dataset("a/b").shuffle(seed=1)']
)
def test_a_dict_of_splits_is_made_of_data_sets(loaded: str):
    text = script(f"""
        from datasets import load_from_disk
        splits = {loaded}
        mapped = {{name: split.map(tokenize) for name, split in splits.items()}}
        for split in splits.values():
            split.filter(is_short)
    """)
    assert [each.start.line for each in SNIPPETS.findings(text)] == [9, 11]
    assert not SNIPPETS.findings(text.replace(loaded, "somebodys()"))


HELPER = """\
from datasets import load_dataset

def build(names):
    return [load_dataset(name, split="train").map(tokenize) for name in names]
"""
PROGRAM = """\
from data import build
{}

def main(names, model):
    {}
    datasets = build(names)

if __name__ == "__main__":
    main(*parsed())
"""


@pytest.mark.parametrize(
    ("imports", "start", "is_reported"),
    [
        ("from trl import SFTTrainer", "trainer = SFTTrainer(model=model)", True),
        ("from trl import SFTTrainer", "model = SFTTrainer(model=load(device_map='auto'))", False),
        ("from trl import SFTTrainer", "pass", False),
    ],
)
def test_a_helper_is_run_as_the_program_is_that_calls_it(imports, start, is_reported, tmp_path):
    (tmp_path / "data.py").write_text(HELPER)
    (tmp_path / "train.py").write_text(PROGRAM.format(imports, start))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL012",)))
    assert [Path(each.path).name for each in findings] == ["data.py"] * is_reported


def test_the_statement_goes_into_a_block():
    text = in_trainer("# Tokens.\ntrain_dataset = train_dataset.map(tokenize)")
    fix = SNIPPETS.finding(text).fix
    assert fix.applicability is UNSAFE
    assert "time-out" in fix.reason
    assert SNIPPETS.mended(text) == text
    assert SNIPPETS.mended(text, unsafe=True) == in_trainer("""
        # Tokens.
        with PartialState().main_process_first():
            train_dataset = train_dataset.map(tokenize)
    """)


def test_an_accelerator_in_reach_is_used():
    expected = script("with accelerator.main_process_first():\n    dataset = dataset.map(\n        tokenize,\n    )\n")
    assert SNIPPETS.mended(script("dataset = dataset.map(\n    tokenize,\n)\n"), unsafe=True) == expected


def test_neighbours_share_one_block():
    text = script("""
        train = dataset.map(tokenize)

        # The validation set.
        valid = load_dataset("a/b", split="test").map(tokenize)
        print(len(valid))
        other = dataset.filter(is_long)
    """)
    assert SNIPPETS.mended(text, unsafe=True) == script("""
        with accelerator.main_process_first():
            train = dataset.map(tokenize)

            # The validation set.
            valid = load_dataset("a/b", split="test").map(tokenize)
        print(len(valid))
        with accelerator.main_process_first():
            other = dataset.filter(is_long)
    """)


def test_one_rank_of_the_job_instead_of_one_per_node_is_unsafe():
    text = script("with accelerator.local_main_process_first():\n    dataset = dataset.map(tokenize)\n")
    assert SNIPPETS.finding(text).fix.applicability is UNSAFE
    assert SNIPPETS.mended(text) == text
    assert SNIPPETS.mended(text, unsafe=True) == text.replace("local_main", "main")


@pytest.mark.parametrize(
    "code",
    [
        "for each in range(2):\n    dataset = dataset.map(tokenize)\n",
        "a = 1; dataset = dataset.map(tokenize)\n",
        "if len(dataset.map(tokenize)) > 1:\n    pass\n",
    ],
)
def test_elsewhere_there_is_a_hint(code: str):
    text = script(code)
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY
    assert SNIPPETS.mended(text, unsafe=True) == text


READS = """
import argparse
from somewhere import options
from datasets import load_dataset
from transformers import HfArgumentParser, Seq2SeqTrainingArguments, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("{option}")

def main():
    {made}
    data = load_dataset("a/b", split="train")
    Trainer(train_dataset=data.map(lambda row: {{"text": row["text"][: {read}]}})).train()
"""


@pytest.mark.parametrize(
    ("option", "made", "read", "is_reported"),
    [
        ("--x", "own = TrainingArguments('out')", "own.seed", False),
        ("--x", "own = Seq2SeqTrainingArguments('out')", "own.seed", False),
        ("--x", "own = TrainingArguments('out').seed", "own", True),
        ("--x", "own = TrainingArguments('out')", "length", True),
        ("--x", "training_args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()",
         "training_args.seed", False),
        ("--x", "args = options(parser)", "args.length", True),
        ("--local_rank", "args = options(parser)", "args.length", False),
        ("--local_rank", "args = options(parser)", "length", True),
        ("--local_rank", "thing = options(parser)", "thing.length", True),
    ],
)  # fmt: skip
def test_a_function_that_reads_what_holds_the_rank_has_a_file_of_its_own_on_each(option, made, read, is_reported):
    assert bool(SNIPPETS.findings(READS.format(option=option, made=made, read=read))) is is_reported


def test_what_a_function_at_the_top_of_the_file_reads_stands_there():
    text = (
        "from datasets import load_dataset\nfrom transformers import Trainer, TrainingArguments\n"
        "args = TrainingArguments('out')\n\n\ndef cut(row):\n    return {'text': row['text'][: args.seed]}\n\n\n"
        "def main():\n    data = load_dataset('a/b', split='train')\n    Trainer(train_dataset=data.map(cut)).train()\n"
    )
    assert not SNIPPETS.findings(text)
    assert SNIPPETS.findings(text.replace("args = TrainingArguments('out')", "args = 3"))


LATER = """\
from transformers import Trainer


class MyTrainer(Trainer):
    def __init__(self, model, args, train_dataset):
        super().__init__(model, args, train_dataset=train_dataset)
        {first}

    def training_step(self, model, inputs):
        {later}
        return super().training_step(model, inputs)

    def chat(self, row):
        return row

    def prepare(self):
        self.train_dataset = self.train_dataset.map({work})
"""


@pytest.mark.parametrize("work", ["self.chat", "lambda row: self.processing_class(row)"])
def test_a_trainer_in_the_function_has_another_hash_on_each_rank_once_it_is_built(work):
    # `datasets` names the cache file by the hash of the mapped function, and a trainer's contains its rank.
    assert not SNIPPETS.findings(LATER.format(first="pass", later="self.prepare()", work=work))
    assert SNIPPETS.findings(LATER.format(first="self.prepare()", later="pass", work=work))
    assert SNIPPETS.findings(LATER.format(first="pass", later="self.prepare()", work="lambda row: row"))


@pytest.mark.parametrize(("comment", "is_meant"), [("once per node", True), ("once per job", False)])
def test_what_a_comment_says_of_nodes_stays_true(comment: str, is_meant: bool):
    text = script(f"# Only {comment}.\nwith accelerator.local_main_process_first():\n    dataset.map(tokenize)\n")
    (finding,) = SNIPPETS.findings(text)
    assert finding.fix is not None
    assert finding.fix.reason.startswith("the comment above") is is_meant
    assert (SNIPPETS.mended(text, unsafe=True) == text) is is_meant


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": each} for each in cells]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_the_kernel_of_a_notebook_prepares_data_once_for_the_processes_that_it_starts(tmp_path):
    head = "from accelerate import Accelerator, notebook_launcher\nfrom datasets import load_dataset\n"
    prepare = "rows = load_dataset('a/b', split='train')\nrows = rows.map(tokenize)\n"
    train = "def train():\n    accelerator = Accelerator()\n" + textwrap.indent(prepare, "    ")
    (tmp_path / "once.ipynb").write_text(notebook(head + prepare, "def train():\n    Accelerator()\n", _LAUNCH))
    (tmp_path / "each.ipynb").write_text(notebook(head, train, _LAUNCH))
    (tmp_path / "script.py").write_text(head + "accelerator = Accelerator()\n" + prepare)
    found = api.check(tmp_path, Settings(root=tmp_path, select=("TRL012",)))
    assert [Path(each.path).name for each in found] == ["each.ipynb", "script.py"]


_LAUNCH = "notebook_launcher(train, num_processes=2)"
