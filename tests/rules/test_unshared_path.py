"""TRL026: which names each rank makes for itself, what needs one folder for all of them, and the message."""

from __future__ import annotations

from textwrap import indent

import pytest
from small_projects import written
from snippets import Snippets, shown

from trl_lint import api
from trl_lint.findings import Consequence
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL026")
IMPORTS = """\
import os
import random
import secrets
import tempfile
import time
import uuid
from datetime import date, datetime
from pathlib import Path

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer

"""
STAMP = 'stamp = datetime.now().strftime("%Y%m%d_%H%M%S")\n'
TRAIN = "Trainer(model=model, args=args, train_dataset=rows).train()\n"


def program(*parts: str) -> str:
    return IMPORTS + "def main(options, model, rows, rank, flag):\n" + indent("".join(parts), "    ")


def trained(folder: str, *, before: str = "", more: str = "") -> str:
    return program(before, f"args = TrainingArguments(output_dir={folder}{more})\n", TRAIN)


def test_a_finding_is_at_the_folder():
    text = trained('f"runs/{stamp}"', before=STAMP, more=", load_best_model_at_end=True")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == 'f"runs/{stamp}"'
    assert finding.message == (
        "`TrainingArguments` gets another folder on each rank, which reads the time for its name itself (unless the "
        "clocks of all ranks show the same second): only rank 0 finds the best checkpoint at the end, and the others "
        "keep their last weights"
    )
    assert [each.text for each in finding.because] == ["each rank reads the time here, in whole seconds"]
    assert "`(name,) = broadcast_object_list([name])` of `accelerate.utils`" in finding.help
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default


@pytest.mark.parametrize(
    "name",
    [
        "uuid.uuid4()",
        "uuid.uuid4().hex[:8]",
        "str(uuid.uuid4())",
        "secrets.token_hex(4)",
        "random.randint(0, 10000)",
        "os.getpid()",
        "tempfile.mkdtemp()",
        "int(time.time())",
        "time.time_ns()",
        'time.strftime("%H%M%S")',
        "datetime.now()",
        "datetime.now().isoformat()",
        "datetime.now().timestamp()",
        "datetime.now():%m-%d-%H-%M-%S",
        "datetime.now():%Y%m%d}-{uuid.uuid4()",
        'datetime.now().strftime("%Y%m%d")}-{datetime.now().strftime("%H%M%S")',
        "str(datetime.now())[:19]",
    ],
)
def test_names_of_each_rank(name):
    assert SNIPPETS.finding(trained(f"f'out/{{{name}}}'")).code == "TRL026"


@pytest.mark.parametrize(
    "folder",
    [
        "os.path.join(options.root, stamp)",
        "str(Path(options.root) / stamp)",
        "'out/' + stamp",
        "'out/%s' % stamp",
        "'out/{}'.format(stamp)",
    ],
)
def test_ways_to_put_a_folder_together(folder):
    assert SNIPPETS.finding(trained(folder, before=STAMP)).code == "TRL026"


@pytest.mark.parametrize(
    "name",
    [
        'datetime.now().strftime("%Y%m%d")',
        'datetime.now().strftime("%Y%m%d-%H%M")',
        "datetime.now():%Y-%m-%d",
        "date.today()",
        "datetime.now().date()",
        "datetime.now().strftime(options.form)",
        "str(datetime.now())[:10]",
        'str(datetime.now()).split(" ")[0]',
        'datetime.now().isoformat(timespec="minutes")',
        "datetime.now().year}-{datetime.now().month",
        "rank",
        'os.environ["RANK"]',
        'os.environ["SLURM_JOB_ID"]',
        "options.name",
        "uuid.uuid5(uuid.NAMESPACE_DNS, 'a')",
    ],
)
def test_names_that_are_alike_or_meant_to_differ(name):
    assert SNIPPETS.findings(trained(f"f'out/{{{name}}}'")) == []


def test_the_rank_in_a_name_is_meant():
    assert SNIPPETS.findings(trained('f"out/{stamp}/{dist.get_rank()}"', before=STAMP)) == []
    assert SNIPPETS.findings(trained('f"out/{dist.get_rank()}/{uuid.uuid4()}"')) == []


@pytest.mark.parametrize(
    "share",
    [
        "(stamp,) = broadcast_object_list([stamp])\n",
        "stamp = broadcast_object_list([stamp])[0]\n",
        "names = [stamp]\nbroadcast_object_list(names)\nstamp = names[0]\n",
        "names = [stamp]\ndist.broadcast_object_list(names, src=0)\nstamp = names[0]\n",
        "names = [stamp if dist.get_rank() == 0 else None]\ndist.broadcast_object_list(names)\nstamp = names[0]\n",
        "names = [None] * 2\ndist.all_gather_object(names, stamp)\nstamp = names[0]\n",
    ],
)
def test_a_name_that_is_shared(share):
    assert SNIPPETS.findings(trained("stamp", before=STAMP + share)) == []


def test_a_seed_may_draw_the_same_name():
    text = trained('f"out/{random.randint(0, 9)}"', before="random.seed(options.seed)\n")
    assert SNIPPETS.findings(text) == []


@pytest.mark.parametrize(
    ("arguments", "trainer"),
    [("Seq2SeqTrainingArguments(stamp)", "Seq2SeqTrainer"), ("SFTConfig(output_dir=stamp)", "SFTTrainer")],
)
def test_arguments_of_other_trainers(arguments, trainer):
    text = program(STAMP, f"args = {arguments}\n", f"{trainer}(model=model, args=args).train()\n")
    assert SNIPPETS.finding(text).code == "TRL026"


def test_a_class_of_the_project_for_the_arguments():
    cls = "class Mine(TrainingArguments):\n    more: int = 1\n\n"
    text = program(STAMP, "args = Mine(output_dir=stamp)\n", TRAIN).replace("def main", cls + "def main")
    assert SNIPPETS.finding(text).code == "TRL026"


def test_a_folder_that_is_assigned():
    text = program("args = TrainingArguments(output_dir='out')\n", STAMP, "args.output_dir = stamp\n", TRAIN)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "stamp"
    assert finding.message.startswith("`args` gets another folder on each rank")


@pytest.mark.parametrize(
    ("more", "sets", "consequence"),
    [
        ("", "", Consequence.RACE),
        (", load_best_model_at_end=True", "", Consequence.WRONG_TRAINING),
        (", load_best_model_at_end=False", "", Consequence.RACE),
        ("", "args.load_best_model_at_end = True\n", Consequence.WRONG_TRAINING),
        ("", "options.load_best_model_at_end = True\n", Consequence.RACE),
    ],
)
@pytest.mark.parametrize(
    "assigned", ["args.output_dir = stamp", "args.output_dir += stamp", 'args.output_dir += f"/{stamp}"']
)
def test_what_comes_of_a_folder_that_is_assigned(assigned, more, sets, consequence):
    made = f"args = TrainingArguments('out'{more})\n"
    finding = SNIPPETS.finding(program(made, STAMP, f"{assigned}\n", sets, TRAIN))
    assert (finding.consequence, finding.by_default) == (consequence, consequence is not Consequence.RACE)


@pytest.mark.parametrize(
    "assigned",
    ["options.output_dir = stamp", "options.output_dir += stamp", "args.run_name += stamp", "args.output_dir += flag"],
)
def test_a_folder_that_is_assigned_to_other_settings(assigned):
    assert SNIPPETS.findings(program("args = TrainingArguments('out')\n", STAMP, f"{assigned}\n", TRAIN)) == []


@pytest.mark.parametrize(
    ("more", "consequence", "by_default"),
    [
        ("", Consequence.RACE, False),
        (", load_best_model_at_end=False", Consequence.RACE, False),
        (", load_best_model_at_end=True", Consequence.WRONG_TRAINING, True),
        (", deepspeed=options.deepspeed", Consequence.CRASH, True),
        (', fsdp="full_shard"', Consequence.CRASH, True),
        (', deepspeed=None, fsdp=""', Consequence.RACE, False),
    ],
)
def test_what_comes_of_it(more, consequence, by_default):
    finding = SNIPPETS.finding(trained("stamp", before=STAMP, more=more))
    assert (finding.consequence, finding.by_default) == (consequence, by_default)


@pytest.mark.parametrize("more", [', save_strategy="no"', ", save_only_model=True"])
def test_a_trainer_that_writes_nothing_that_others_need(more):
    assert SNIPPETS.findings(trained("stamp", before=STAMP, more=more)) == []


@pytest.mark.parametrize(
    ("call", "user"),
    [
        ("Accelerator().save_state(stamp)", "Accelerator().save_state"),
        ("dcp.save(model, checkpoint_id=stamp)", "dcp.save"),
        ("dcp.save(model, storage_writer=dcp.FileSystemWriter(stamp))", "dcp.FileSystemWriter"),
    ],
)
def test_checkpoints_that_all_ranks_write(call, user):
    finding = SNIPPETS.finding(program("accelerator = Accelerator()\n", STAMP, call + "\n"))
    assert finding.message.startswith(f"`{user}` gets another folder on each rank")


@pytest.mark.parametrize(
    "call",
    [
        "dcp.save(model, checkpoint_id=stamp, no_dist=True)",
        "dcp.save_state_dict(model, dcp.FileSystemWriter(stamp), no_dist=True)",
    ],
)
def test_checkpoints_of_one_rank(call):
    assert SNIPPETS.findings(program("accelerator = Accelerator()\n", STAMP, call + "\n")) == []


def test_deepspeed_s_engine():
    start = "import deepspeed\nengine, *_ = deepspeed.initialize(model=model)\n"
    for save in ("engine.save_checkpoint(stamp)", "engine.save_checkpoint('out', tag=stamp)"):
        finding = SNIPPETS.finding(program(start, STAMP, save + "\n"))
        assert finding.consequence is Consequence.CRASH


def test_only_one_rank_names_it():
    guarded = "if dist.get_rank() == 0:\n    args = TrainingArguments(output_dir=stamp)\n"
    assert SNIPPETS.findings(program(STAMP, guarded, TRAIN)) == []
    assert SNIPPETS.findings(program(STAMP, guarded.replace("dist.get_rank() == 0", "rank in (-1, 0)"), TRAIN)) == []


def test_a_call_that_all_ranks_make_together():
    asked = "    if model(rows).loss.item() < flag:\n        dcp.save(model, checkpoint_id=stamp)\n"
    loop = "accelerator = Accelerator()\n" + STAMP + "for step in rows:\n" + asked
    assert len(SNIPPETS.findings(program(loop))) == 1
    of_first = loop.replace("if model(rows).loss.item() < flag", "if accelerator.is_main_process")
    assert SNIPPETS.findings(program(of_first)) == []


def test_programs_of_one_process():
    spread = 'model = AutoModelForCausalLM.from_pretrained("x", device_map="auto")\n'
    text = trained("stamp", before=spread + STAMP)
    assert SNIPPETS.findings("from transformers import AutoModelForCausalLM\n" + text) == []


def test_a_name_on_some_way():
    choice = 'name = stamp if flag else "last"\n'
    finding = SNIPPETS.finding(trained("name", before=STAMP + choice))
    assert finding.message.startswith("`TrainingArguments` may get another folder on each rank")


def test_a_name_from_another_file(tmp_path):
    names = "from datetime import datetime\n\ndef run_name():\n    return datetime.now().strftime('%Y%m%d_%H%M%S')\n"
    text = "from names import run_name\n" + trained("run_name()")
    written(tmp_path, {"names.py": names, "train.py": text})
    (finding,) = api.check([tmp_path], Settings(root=tmp_path, select=("TRL026",)))
    assert finding.path.endswith("train.py")


MADE = "if options.output_dir is None:\n    options.output_dir = stamp\n"


@pytest.mark.parametrize(
    ("before", "folder"),
    [
        (MADE, "options.output_dir"),
        (MADE.replace("options.output_dir is None", "not options.output_dir"), "options.output_dir"),
        (MADE, "os.path.join(options.output_dir, 'last')"),
        ("", "options.output_dir or stamp"),
        ("", "options.output_dir if options.output_dir else stamp"),
        ("", "stamp if options.output_dir is None else options.output_dir"),
        ("folder = options.output_dir or f'out/{stamp}'\n", "folder"),
    ],
)
def test_a_name_that_is_made_where_none_is_given(before, folder):
    finding = SNIPPETS.finding(trained(folder, before=STAMP + before, more=", load_best_model_at_end=True"))
    assert finding.message.startswith("`TrainingArguments` without `output_dir` gets another folder on each rank")
    assert not finding.by_default


@pytest.mark.parametrize(
    "name",
    [
        "if options.output_dir:\n    name = options.output_dir\nelse:\n    name = 'out/' + str(uuid.uuid4())\n",
        "name = options.get('output_dir', f'out/{uuid.uuid4()}')\n",
        "name = 'last'\nif options.output_dir is None:\n    name = str(uuid.uuid4())\n",
    ],
)
def test_the_place_where_a_name_is_made(name):
    for finding in SNIPPETS.findings(trained("name", before=name)):
        assert "without `output_dir`" in finding.message


def test_a_parameter_that_is_none_by_default():
    text = trained("folder", before=STAMP + "if folder is None:\n    folder = stamp\n")
    finding = SNIPPETS.finding(text.replace("rank, flag)", "rank, flag, folder=None)"))
    assert finding.message.startswith("`TrainingArguments` without `folder` gets another folder on each rank")


@pytest.mark.parametrize(
    "after",
    [
        "(options.output_dir,) = broadcast_object_list([options.output_dir])\n",
        "names = [options.output_dir]\nbroadcast_object_list(names)\noptions.output_dir = names[0]\n",
        "share(options, dist.broadcast_object_list([options]))\n",
    ],
)
def test_a_name_that_is_made_and_shared(after):
    assert SNIPPETS.findings(trained("options.output_dir", before=STAMP + MADE + after)) == []


@pytest.mark.parametrize(
    ("commands", "found"),
    [
        ("torchrun --nproc_per_node 4 train.py --lr 1 --output_dir out\n", 0),
        ("torchrun --nproc_per_node 4 train.py --lr 1\n", 1),
        (
            "torchrun --nproc_per_node 4 train.py --lr 1 --output_dir a\ntorchrun --nproc_per_node 4 train.py --lr 2\n",
            1,
        ),
    ],
)
def test_commands_that_give_the_name(tmp_path, commands, found):
    options = "parser = argparse.ArgumentParser()\noptions = parser.parse_args()\n"
    more = ", load_best_model_at_end=True"
    text = "import argparse\n" + trained("options.output_dir", before=options + STAMP + MADE, more=more)
    written(tmp_path, {"train.py": f"{text}\n\nmain(*load())\n", "run.sh": commands})
    findings = api.check([tmp_path], Settings(root=tmp_path, select=("TRL026",)))
    assert [each.by_default for each in findings] == [True] * found


ARGUMENTS = "def arguments(options):\n    return TrainingArguments(output_dir=options.output_dir)\n\n\n"
RENAMED = "options.output_dir = os.path.join(options.output_dir, stamp)\n"


def with_arguments(*parts: str) -> str:
    return program(*parts, "args = arguments(options)\n", TRAIN).replace("def main", ARGUMENTS + "def main")


def test_a_field_that_another_function_reads():
    text = with_arguments(STAMP, RENAMED)
    assert shown(text, SNIPPETS.finding(text)) == "options.output_dir"


@pytest.mark.parametrize(
    "more",
    [
        "(options.output_dir,) = broadcast_object_list([options.output_dir])\n",
        "if flag:\n    options.output_dir = 'out'\n",
    ],
)
def test_a_field_that_is_set_again(more):
    assert SNIPPETS.findings(with_arguments(STAMP, RENAMED, more)) == []


def test_a_field_that_is_set_on_one_way():
    assert SNIPPETS.findings(with_arguments(STAMP, "if flag:\n    " + RENAMED)) == []


@pytest.mark.parametrize("option", ['"--output-dir"', '"-o", "--output_dir"', '"-o", dest="output_dir"'])
def test_the_default_of_an_option(option):
    parser = f"parser = argparse.ArgumentParser()\nparser.add_argument({option}, default=stamp)\n"
    text = trained("options.output_dir", before=STAMP + parser + "options = parser.parse_args()\n")
    finding = SNIPPETS.finding("import argparse\n" + text)
    assert finding.message.startswith("`TrainingArguments` without `output_dir` gets another folder on each rank")
    shared = "(options.output_dir,) = broadcast_object_list([options.output_dir])\nargs ="
    assert SNIPPETS.findings("import argparse\n" + text.replace("args =", shared.replace("\n", "\n    "))) == []


OF_ALL = "def train(model):\n    accelerator = Accelerator()\n    dcp.save(model, checkpoint_id=RUN)\n\n\n"


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("from accelerate import notebook_launcher\nnotebook_launcher(train, (1,), num_processes=2)\n", 0),
        ("import torch.multiprocessing as mp\nif __name__ == '__main__':\n    mp.spawn(train, nprocs=2)\n", 1),
        ("train(1)\n", 1),
    ],
)
def test_a_name_that_is_made_before_processes_start(start, found):
    text = IMPORTS + 'RUN = f"out/{time.time()}"\n\n\n' + OF_ALL + start
    assert len(SNIPPETS.findings(text)) == found


def test_arguments_in_a_dict():
    settings = "settings = {'output_dir': stamp, 'load_best_model_at_end': True, 'fsdp': ''}\n"
    text = program(STAMP, settings, "args = TrainingArguments(**settings)\n", TRAIN)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "TrainingArguments(**settings)"
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert SNIPPETS.findings(text.replace("'fsdp': ''", "'save_strategy': 'no'")) == []


OWN_ARGUMENTS = """\
from dataclasses import dataclass
from datetime import datetime

from transformers import {parser}, Trainer, TrainingArguments


@dataclass
class Own(TrainingArguments):
    load_best_model_at_end: bool = {best}

    def __post_init__(self):
        self.output_dir = f"{{self.output_dir}}/{{{name}}}"
        super().__post_init__()


(args,) = {parser}({given}).parse_args_into_dataclasses()
Trainer(model=load(), args=args, train_dataset=rows()).train()
"""


@pytest.mark.parametrize(
    ("parser", "given", "best", "name", "consequence"),
    [
        ("HfArgumentParser", "(Own,)", True, "datetime.now():%H%M%S", Consequence.WRONG_TRAINING),
        ("HfArgumentParser", "[Own]", True, "datetime.now():%H%M%S", Consequence.WRONG_TRAINING),
        ("HfArgumentParser", "Own", False, "datetime.now():%H%M%S", Consequence.RACE),
        ("HfArgumentParser", "dataclass_types=Own", False, "datetime.now():%H%M%S", Consequence.RACE),
        ("HfArgumentParser", "Own", True, "self.run_name", None),
        ("HfArgumentParser", "TrainingArguments", True, "datetime.now():%H%M%S", None),
        ("SomeParser", "Own", True, "datetime.now():%H%M%S", None),
    ],
)
def test_a_class_whose_objects_a_parser_makes(parser, given, best, name, consequence):
    text = OWN_ARGUMENTS.format(parser=parser, given=given, best=best, name=name)
    findings = SNIPPETS.findings(text)
    assert [each.consequence for each in findings] == ([] if consequence is None else [consequence])


def test_a_class_whose_objects_the_parser_of_trl_makes():
    text = OWN_ARGUMENTS.format(parser="TrlParser", given="Own", best=True, name="datetime.now():%H%M%S")
    finding = SNIPPETS.finding(
        text.replace("transformers import TrlParser,", "trl import TrlParser\nfrom transformers import")
    )
    assert finding.consequence is Consequence.WRONG_TRAINING
