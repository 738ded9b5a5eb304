"""What does little harm, behind an option that is off and that no command gives, is not in the default set."""

from __future__ import annotations

import pytest
from small_projects import found, written
from started import by_default_in, findings_in

SAVES = """\
import argparse
import shutil

import torch

def save(model, args):
    if {test}:
        {call}

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--save_config", {declared})
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    torch.distributed.init_process_group("nccl")
    save(train(args), args)

if __name__ == "__main__":
    main()
"""
DECLARED = 'action="store_true"'
TEST = "args.save_config"
CALL = 'open("config.json", "w").write(model.config)'
LAUNCH = "torchrun --nproc_per_node 8 train.py --epochs 3\n"


def is_by_default(folder, declared=DECLARED, test=TEST, call=CALL, runs=LAUNCH, more=(), extra=""):
    text = SAVES.format(declared=declared, test=test, call=call) + extra
    return by_default_in(folder, {"train.py": text, "run.sh": runs, **dict(more)}, "train.py")


@pytest.mark.parametrize(
    ("declared", "test", "by_default"),
    [
        (DECLARED, TEST, False),
        ("default=None", "args.save_config is not None", False),
        ('type=bool, default=False, help="the (small) file"', 'getattr(args, "save_config", False)', False),
        (DECLARED, "args.save_config == True", False),
        # False is not None, and neither is 0.
        (DECLARED, "args.save_config is not None", True),
        ("type=int, default=0", "args.save_config is not None", True),
        ("type=int", "args.save_config is not None", False),
        ("type=int, default=0", TEST, False),
        ("type=int, default=0", "args.save_config > 0", False),
        ("type=int, default=0", "0 < args.save_config", False),
        ("type=int, default=-1", "args.save_config > 0", False),
        ("type=int, default=-1", TEST, True),
        ("type=int, default=0", "args.save_config >= 0", True),
        ("type=int, default=0", "args.save_config != 1", True),
        ("type=int, default=2", "args.save_config > 0", True),
        ("type=float, default=0.0, help='(the (share)'", "args.save_config > 0.0", False),
        ("type=int, default=N", "args.save_config > 0", True),
        ("type=int, **more", TEST, True),
        ('action="store_true", default=True', TEST, True),
        ('action="count"', TEST, False),
        ("type=int, default=0", "len(args.save_config) > 0", True),
        (DECLARED, "args.epochs and args.save_config", False),
        (DECLARED, "args.epochs or args.save_config", True),
        (DECLARED, "not args.save_config", True),
        (DECLARED, "args.epochs", True),
        (DECLARED, "args.other", True),
        ('action="store_false"', TEST, True),
        ("default=True", TEST, True),
        ('default="config.json"', TEST, True),
        ("required=True", TEST, True),
    ],
)
def test_an_option_that_no_command_gives(declared, test, by_default, tmp_path):
    assert is_by_default(tmp_path, declared, test) is by_default


@pytest.mark.parametrize(
    ("runs", "by_default"),
    [
        (LAUNCH, False),
        (LAUNCH + "deepspeed train.py --epochs 4\n", False),
        (LAUNCH + "python train.py --epochs 1\n", False),
        (LAUNCH + "deepspeed train.py --save_config\n", True),
        (LAUNCH + "deepspeed train.py --save-config\n", True),
        # Who starts it in another way may give any option: nothing shows how it is meant to be started.
        ("", True),
        ("torchrun other.py --epochs 3\n", True),
        # What is given is not known.
        ('torchrun train.py --epochs 3 "$@"\n', True),
        (LAUNCH + "torchrun $SCRIPT --epochs 3\n", True),
        # A file may have the options.
        ("torchrun train.py\n", True),
        ("torchrun train.py --config small.yaml\n", True),
    ],
)
def test_what_commands_give(runs, by_default, tmp_path):
    assert is_by_default(tmp_path, runs=runs) is by_default


@pytest.mark.parametrize(
    ("line", "by_default"),
    [
        ("model.config.save_config = args.save_config", False),
        ("args.save_config = False", False),
        ("args.save_config == other", False),
        ("args.save_config = 0", False),
        ("args.save_config = 0 or 3", True),
        ("args.save_config += 1", True),
        ("args.save_config = 3", True),
        ("model.config.save_config = (\n        args.save_config\n    )", False),
        ("model.config.save_config = (\n        args.epochs\n    )", True),
        ("args.save_config = args.epochs > 3", True),
        ("parser.set_defaults(save_config=True)", True),
        ('settings["save_config"] = True', True),
        ('settings = {"save_config": True}', True),
        ('subprocess.run(["train.py", "--save_config"])', True),
        ('setattr(args, "save_config", True)', True),
        ('setattr(args, "save_config", args.save_config)', True),
        ('setattr(args, "save_config", False)', False),
        ('return getattr(args, "save_config", True)', True),
        ('return getattr(args, "save_config", None)', False),
        ('return vars(args).get("save_config", 3)', True),
        ('return vars(args).get("save_config", 0)', False),
        ("def inner(epochs=3, save_config: bool = True): pass", True),
        ("def inner(epochs=3, save_config: bool = False): pass", False),
        ("def inner(save_config: bool, epochs: int = 3): pass", False),
    ],
)
def test_code_that_sets_it(line, by_default, tmp_path):
    assert is_by_default(tmp_path, extra=f"\n\ndef other(args):\n    {line}\n") is by_default


@pytest.mark.parametrize(
    ("before", "rounds", "test", "by_default"),
    [
        ("done = 0", "enumerate(batches)", "done < args.save_config", False),
        ("done = 0", "enumerate(batches)", "number < args.save_config", False),
        ("done = 0", "tqdm(enumerate(batches))", "args.save_config > number", False),
        ("done = 0", "enumerate(batches)", "number <= args.save_config", True),
        ("done = 0", "enumerate(batches, -3)", "number < args.save_config", True),
        ("done = -1", "enumerate(batches)", "done < args.save_config", True),
        ("done = args.epochs", "enumerate(batches)", "done < args.save_config", True),
        ("done = 0", "enumerate(range(-3, 9))", "batch < args.save_config", True),
        ("done = 0", "zip(range(-3, 9), batches)", "number < args.save_config", True),
    ],
)
def test_as_many_as_an_option_says(before, rounds, test, by_default, tmp_path):
    loop = f"    {before}\n    for number, batch in {rounds}:\n        done += 1\n        if {test}:\n            "
    text = SAVES.replace("    if {test}:\n        ", loop)
    text = "from tqdm import tqdm\n" + text.format(declared="type=int, default=0", call=CALL)
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": LAUNCH}, "train.py") is by_default


@pytest.mark.parametrize(("test", "by_default"), [("not args.save_config", True), ("args.epochs", True)])
def test_an_option_without_which_there_is_an_error(test, by_default, tmp_path):
    """The command that shows no such option is not complete: who has the error adds it."""
    raises = SAVES.replace("    if {test}:\n        {call}", "    if {test}:\n        raise ValueError\n    {call}")
    text = raises.format(declared=DECLARED, test=test, call=CALL)
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": LAUNCH}, "train.py") is by_default


LEAVES = SAVES.replace("    if {test}:\n        {call}", "    if {test}:\n        return\n    {call}")


@pytest.mark.parametrize(
    ("declared", "test", "by_default"),
    [
        (DECLARED, "not args.save_config", False),
        ("type=int, default=0", "args.save_config == 0", False),
        ("type=int", "args.save_config is None", False),
        ("type=int, default=0", "args.save_config is None", True),
        (DECLARED, "args.save_config", True),
        (DECLARED, "not args.save_config and args.epochs", True),
    ],
)
def test_an_option_without_which_a_function_is_left(declared, test, by_default, tmp_path):
    text = LEAVES.format(declared=declared, test=test, call=CALL)
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": LAUNCH}, "train.py") is by_default


@pytest.mark.parametrize("option", ["local_rank", "world_size", "rank", "global_step", "current_epoch"])
def test_launchers_and_trainers_give_some_options(option, tmp_path):
    text = SAVES.replace("save_config", option)
    text = text.format(declared="type=int, default=0", test=f"args.{option} > 0", call=CALL)
    assert all(each.by_default for each in findings_in(tmp_path, {"train.py": text, "run.sh": LAUNCH}, "train.py"))


COMMAND = """\
import click
import torch

@click.command()
@click.option("--save-config", {declared})
@click.option("--epochs", type=int)
def main(save_config, epochs):
    torch.distributed.init_process_group("nccl")
    {before}
    model = train(epochs)
    if {test}:
        open("config.json", "w").write(model.config)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("declared", "test", "by_default"),
    [
        ("type=int, default=0", "save_config > 0", False),
        ("type=int, default=0", "save_config", False),
        ("is_flag=True", "save_config", False),
        ("is_flag=True, default=False", "save_config", False),
        ("default=None", "save_config is not None", False),
        ("type=int, default=0", "save_config is not None", True),
        ("is_flag=True, default=True", "save_config", True),
        ("type=int, default=3", "save_config > 0", True),
        ("type=int, prompt=True", "save_config", True),
        ("type=int, default=0", "epochs > 0", True),
        ('"saved", default=0', "save_config > 0", True),
    ],
)
def test_options_of_click(declared, test, by_default, tmp_path):
    text = COMMAND.format(declared=declared, test=test, before="pass")
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": LAUNCH}, "train.py") is by_default


def test_a_command_that_gives_an_option_of_click(tmp_path):
    text = COMMAND.format(declared="type=int, default=0", test="save_config > 0", before="pass")
    runs = LAUNCH + "torchrun train.py --save-config 8\n"
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": runs}, "train.py")


def test_a_command_that_sets_its_option(tmp_path):
    text = COMMAND.format(declared="type=int, default=0", test="save_config > 0", before="save_config = 4")
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": LAUNCH}, "train.py")


FIELDS = "from dataclasses import dataclass, field\n\n@dataclass\nclass Arguments:\n    save_config: bool = {}\n"


@pytest.mark.parametrize(
    ("default", "by_default"),
    [
        ("False", False),
        ("field(default=False)", False),
        ("0", False),
        ('field(metadata={"help": "a long text (of words), with a colon: here"}, default=0.0)', False),
        ("True", True),
        ("field(default=True)", True),
        ("5", True),
        ("field(default_factory=int)", True),
    ],
)
def test_fields_of_a_dataclass_are_options(default, by_default, tmp_path):
    text = "from arguments import Arguments\n" + SAVES.replace("--save_config", "--other")
    files = {
        "train.py": text.format(declared=DECLARED, test=TEST, call=CALL),
        "arguments.py": FIELDS.format(default),
        "run.sh": LAUNCH,
    }
    assert by_default_in(tmp_path, files, "train.py") is by_default


def test_a_run_of_each_rank_is_a_wrong_number(tmp_path):
    text = "import wandb\n" + SAVES.format(declared=DECLARED, test=TEST, call='wandb.init(project="rows")')
    for runs, by_default in ((LAUNCH, False), (LAUNCH.replace("3", "3 --save_config"), True)):
        assert by_default_in(tmp_path, {"train.py": text, "run.sh": runs}, "train.py") is by_default


def test_a_crash_stays_in_the_default_set(tmp_path):
    """Nobody gives the option today, but whoever does loses the run."""
    assert is_by_default(tmp_path, call='shutil.rmtree("old")')


WITH_SETTINGS = "accelerate launch train.py --config recipes/small.yaml\n"


@pytest.mark.parametrize(
    ("settings", "by_default"),
    [
        ("epochs: 3\n", False),
        ("epochs: 3\nsave_config: false\n", False),
        ("epochs: 3\nreport_to: [wandb]\n", False),
        ("epochs: 3\nsave_config: true\n", True),
        ("epochs: 3\ntrainer:\n  lr: 0.1\n  save_config: false\n", False),
        # Code of the project's own reads groups, in whatever way.
        ("epochs: 3\ntrainer:\n  out:\n    save_config: small.json\n", True),
        ("- epochs\n", True),
        ("a: &a {epochs: 3}\nb: &b [*a, *a]\nc: {one: *a, two: *a}\n", False),
        ("a: &a {save_config: 3}\nb: {one: *a, two: *a}\n", True),
        ("epochs: 3\nsets:\n  - name: one\n    save_config: small.json\n", True),
        (f"epochs: 3\n{'# more' * 10_000}\n", True),
        ("{% if %}: [\n", True),
        ("", True),
    ],
)
def test_settings_that_commands_name(settings, by_default, tmp_path):
    for runs in (WITH_SETTINGS, WITH_SETTINGS.replace("--config ", ""), WITH_SETTINGS.replace("--config", "--lr 3")):
        assert is_by_default(tmp_path, runs=runs, more={"recipes/small.yaml": settings}) is by_default


IN_CODE = "torchrun --nproc_per_node 8 train.py recipes/small.py\n"


@pytest.mark.parametrize(
    ("settings", "runs", "by_default"),
    [
        ("epochs = 3\n", IN_CODE, False),
        ("from models import Small\n\nmodel = dict(cls=Small, lr=0.1)\n", IN_CODE, False),
        ("epochs = 3\n", IN_CODE + "torchrun train.py recipes/small.py --save-config\n", True),
        # What a file mentions, it may set.
        ("epochs = 3\nout = dict(save_config=True)\n", IN_CODE, True),
        # Others may set more.
        ('_base_ = ["large.py"]\nepochs = 3\n', IN_CODE, True),
        ("from large import *\n\nepochs = 3\n", IN_CODE, True),
        ("from .large import trainer\n\ntrainer.epochs = 3\n", IN_CODE, True),
        ("from recipes.base.large import trainer\n\ntrainer.epochs = 3\n", IN_CODE, True),
        ("import recipes.large as large\n\ntrainer = large.trainer\n", IN_CODE, True),
        ("from mmcv import Config\n\ntrainer = Config.fromfile(large)\n", IN_CODE, True),
        ("import yaml\n\ntrainer = yaml.safe_load(large)\n", IN_CODE, True),
        ("", IN_CODE, True),
        ("epochs = 3\n", IN_CODE + "torchrun train.py recipes/large.py\n", True),
        ("epochs = 3\n", IN_CODE + "torchrun train.py\n", True),
        ("epochs = 3\n", IN_CODE.replace("small.py", "small.py $MORE"), True),
    ],
)
def test_settings_in_python_that_commands_name(settings, runs, by_default, tmp_path):
    assert is_by_default(tmp_path, runs=runs, more={"recipes/small.py": settings}) is by_default


@pytest.mark.parametrize(("beside", "by_default"), [("large", True), ("larger", False)])
def test_settings_in_python_from_a_file_beside_them(beside, by_default, tmp_path):
    more = {"recipes/small.py": "import large\n\nepochs = large.epochs\n", f"recipes/{beside}.py": "epochs = 3\n"}
    assert is_by_default(tmp_path, runs=IN_CODE, more=more) is by_default


@pytest.mark.parametrize(("settings", "by_default"), [("save_config: false\n", False), ("save_config: true\n", True)])
def test_settings_after_an_option_of_any_name(settings, by_default, tmp_path):
    runs = WITH_SETTINGS.replace("--config", "-c")
    assert is_by_default(tmp_path, runs=runs, more={"recipes/small.yaml": settings}) is by_default


def test_settings_beside_a_script_in_a_folder(tmp_path):
    files = {"recipes/small.yaml": "epochs: 3\n", "scripts/other/run.sh": WITH_SETTINGS}
    assert not is_by_default(tmp_path, more=files)
    on_a_disk = {"run.sh": WITH_SETTINGS.replace("recipes", "/home/me/project/recipes")}
    assert not is_by_default(tmp_path, more=files | on_a_disk)
    elsewhere = {"run.sh": WITH_SETTINGS.replace("recipes/small", "/home/me/large")}
    assert is_by_default(tmp_path, more=files | elsewhere)


PUSHES = """\
from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser

def main(training_args, model_args):
    trainer = SFTTrainer(model_args.model_name_or_path, training_args, train_dataset=rows())
    trainer.train()
    if training_args.push_to_hub:
        trainer.processing_class.push_to_hub(training_args.hub_model_id)

if __name__ == "__main__":
    main(*TrlParser((SFTConfig, ModelConfig)).parse_args_and_config())
"""


@pytest.mark.parametrize(("settings", "by_default"), [("false", False), ("true", True)])
def test_an_option_of_the_library(settings, by_default, tmp_path):
    recipe = f"learning_rate: 1e-4\npush_to_hub: {settings}\n"
    files = {"train.py": PUSHES, "run.sh": WITH_SETTINGS, "recipes/small.yaml": recipe}
    assert by_default_in(tmp_path, files, "train.py") is by_default


def test_an_option_of_the_library_where_no_command_names_a_recipe(tmp_path):
    files = {"train.py": PUSHES, "run.sh": LAUNCH, "recipes/small.yaml": "push_to_hub: true\n"}
    assert by_default_in(tmp_path, files, "train.py")


def test_the_words_of_an_option_may_have_dashes_between_them(tmp_path):
    text = SAVES.replace("--save_config", "--save-config").format(declared=DECLARED, test=TEST, call=CALL)
    for runs, by_default in ((LAUNCH, False), (LAUNCH.replace("3", "3 --save-config"), True)):
        assert by_default_in(tmp_path, {"train.py": text, "run.sh": runs}, "train.py") is by_default
    on = text.replace('"store_true"', '"store_false"')
    assert by_default_in(tmp_path, {"train.py": on, "run.sh": LAUNCH}, "train.py")


KEEPS = """\
import argparse

from transformers import Trainer, TrainerCallback

class Keeper(TrainerCallback):
    def on_save(self, args, state, control, **others):
        others["tokenizer"].save_pretrained("kept")

def keeping(trainer):
    trainer.add_callback(Keeper())

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    trainer = Trainer(load(), read(args))
    if args.keep:
        keeping(trainer)
    trainer.train()

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("before", "after", "by_default"),
    [
        ("", "", False),
        ("    trainer.train()", "    trainer.add_callback(Keeper())\n    trainer.train()", True),
        ("    if args.keep:\n", "    if args.steps:\n", True),
        ("class Keeper", "@registered\nclass Keeper", True),
    ],
)
def test_a_class_that_is_only_used_with_an_option(before, after, by_default, tmp_path):
    files = {"train.py": KEEPS.replace(before, after, 1), "run.sh": LAUNCH}
    assert by_default_in(tmp_path, files, "train.py") is by_default


def test_another_file_may_use_the_class(tmp_path):
    other = "from train import Keeper\n\nbuild(Keeper)\n"
    assert by_default_in(tmp_path, {"train.py": KEEPS, "run.sh": LAUNCH, "other.py": other}, "train.py")


HELPS = """\
def store(model):
    open("config.json", "w").write(model.config)
"""
OTHER = {
    "other.py": "from torch import distributed, load\nfrom helps import store\n\n"
    "distributed.init_process_group()\nstore(load('a'))\n"
}
CALLS = SAVES.replace("import torch\n", "import torch\n\n{imports}\n").replace("{call}", "{call}\n    {after}")


@pytest.mark.parametrize(
    ("imports", "call", "after", "more", "by_default"),
    [
        ("from helps import store", "store(model)", "pass", {}, False),
        ("import helps", "helps.store(model)", "pass", {}, False),
        ("from helps import store", "store(model)", "store(model)", {}, True),
        ("from helps import store, store as keep", "store(model)", "keep(model)", {}, True),
        ("import helps", "helps.store(model)", 'getattr(helps, "store")(model)', {}, True),
        (
            "from helps import store",
            "store(model)",
            "pass",
            OTHER,
            True,
        ),
        ("from helps import store", "store(model)", "pass", {"other.py": "def store(rows):\n    pass\n"}, False),
    ],
)
def test_a_function_of_another_file(imports, call, after, more, by_default, tmp_path):
    text = CALLS.format(declared=DECLARED, test=TEST, imports=imports, call=call, after=after)
    files = {"train.py": text, "helps.py": HELPS, "run.sh": LAUNCH, **more}
    assert found(written(tmp_path, files)) == ([("helps.py", 2, "TRL008")] if by_default else [])


READS = """\
import torch

def main(cfg):
    torch.distributed.init_process_group("nccl")
    model = train(cfg)
    if {test}:
        open("config.json", "w").write(model.config)

if __name__ == "__main__":
    main(read_settings())
"""
BY_NAME = "torchrun --nproc_per_node 8 train.py experiment=small\n"


@pytest.mark.parametrize(
    ("test", "settings", "runs", "by_default"),
    [
        ("cfg.train.save_config", "train:\n  save_config: false\n", BY_NAME, False),
        ("cfg.train.save_config > 0", "train: {lr: 0.1, save_config: 0}\n", BY_NAME, False),
        ("cfg.train.save_config is not None", "train:\n  save_config: null\n", BY_NAME, False),
        ("cfg.train.save_config is not None", "train:\n  save_config: false\n", BY_NAME, True),
        ("cfg.train.save_config", "train:\n  save_config: 3\n", BY_NAME, True),
        ("cfg.train.save_config", "train:\n  save_config:\n    rows: 3\n", BY_NAME, True),
        ("cfg.train.save_config", "train:\n  other: false\n", BY_NAME, True),
        # Whatever else the command gives, no file shows that it is this option.
        ("cfg.train.save_config", "train:\n  save_config: false\n", BY_NAME.replace("small", '"$@"'), False),
        ("cfg.train.save_config", "train:\n  save_config: false\n", BY_NAME + "# train.save_config=true\n", True),
        ("cfg.train.save_config", "train:\n  save_config: false\n", BY_NAME + "# --save-config\n", True),
        ("cfg.train.save_config", "train:\n  save_config: false\n", BY_NAME + "# train.save_config True\n", True),
        ("cfg.train.save_config", "train:\n  save_config: false\n", "torchrun other.py a=1\n", True),
        # Nobody who starts several processes leaves this one off.
        ("cfg.use_ddp", "use_ddp: false\n", BY_NAME, True),
        ("cfg.use_ema", "use_ema: false\n", BY_NAME, False),
    ],
)
def test_settings_that_no_command_names(test, settings, runs, by_default, tmp_path):
    files = {"train.py": READS.format(test=test), "conf/small.yaml": settings, "run.sh": runs}
    assert by_default_in(tmp_path, files, "train.py") is by_default


@pytest.mark.parametrize(
    ("name", "content", "by_default"),
    [
        ("conf/large.yaml", "train:\n  save_config: rows\n", True),
        ("conf/large.json", '{"train": {"save_config": true}}', True),
        ("conf/large.py", "train = dict(lr=0.1, save_config=True)\n", True),
        ("README.md", "Pass `train.save_config=true` to keep it.\n", True),
        ("README.md", "`save_config: bool`: to keep it.\n", True),
        ("conf/large.json", '{"train": {"save_config": false}}', False),
        ("conf/large.py", "train = dict(lr=0.1, save_config=False)\n", False),
        ("more.py", "import other\n\nother.save_config = True\n", False),
    ],
)
def test_several_files_with_settings(name, content, by_default, tmp_path):
    settings = "train:\n  save_config: false\n"
    files = {"train.py": READS.format(test="cfg.train.save_config"), "conf/small.yaml": settings, "run.sh": BY_NAME}
    assert by_default_in(tmp_path, files | {name: content}, "train.py") is by_default


@pytest.mark.parametrize(
    ("settings", "by_default"),
    [("epochs: 3\nrows: 0\n", False), ("save_config: true\nrows: 0\n", True), ("", True)],
)
def test_a_command_with_any_settings(settings, by_default, tmp_path):
    more = {"recipes/small.yaml": settings}
    assert is_by_default(tmp_path, runs="torchrun train.py --config $SETTINGS\n", more=more) is by_default
