"""TRL027: which saves write this rank's shards, the engines that have some, and the message."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent

import pytest
from small_projects import written
from snippets import SETTINGS, Snippets, shown

from trl_lint import api
from trl_lint.findings import Applicability, Consequence
from trl_lint.settings import Settings

IMPORTS = """\
import deepspeed
import torch
import torch_xla.core.xla_model as xm
from accelerate import Accelerator
from safetensors.torch import save_file
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from transformers.integrations import is_deepspeed_zero3_enabled

"""
ZERO3 = Snippets("TRL027", replace(SETTINGS, engines=("deepspeed-zero3",)))
FULLY_SHARDED = Snippets("TRL027", replace(SETTINGS, engines=("fsdp",)))
PREPARED = "accelerator = Accelerator()\nmodel = accelerator.prepare(net)\n"
UNWRAPPED = f"{PREPARED}bare = accelerator.unwrap_model(model)\n"
TRAINED = "trainer = Trainer(model=net, args=args, train_dataset=rows, tokenizer=words)\ntrainer.train()\n"
ENGINE = 'engine, *_ = deepspeed.initialize(model=net, config="ds.json")\n'


def program(*parts: str) -> str:
    return IMPORTS + "def main(net, args, rows, words, folder):\n" + indent("".join(parts), "    ")


SAVES = {
    "bare": UNWRAPPED + "bare.save_pretrained(folder)\n",
    "at once": PREPARED + "accelerator.unwrap_model(model).save_pretrained(folder, safe_serialization=True)\n",
    "on one rank": UNWRAPPED + "if accelerator.is_main_process:\n    bare.save_pretrained(folder)\n",
    "torch": UNWRAPPED + "torch.save(bare.state_dict(), folder)\n",
    "part": UNWRAPPED + 'torch.save({"model": bare.state_dict(), "step": 3}, folder)\n',
    "named": UNWRAPPED + "state = bare.state_dict()\nprint(len(state))\nsave_file(state, folder)\n",
    "accelerator": UNWRAPPED + "accelerator.save(bare.state_dict(), folder)\n",
    "given": UNWRAPPED + "bare.save_pretrained(folder, state_dict=bare.state_dict())\n",
    "module": PREPARED + "model.module.save_pretrained(folder)\n",
    "trainer": TRAINED + "trainer.model.save_pretrained(folder)\n",
    "of trainer": TRAINED + "net.save_pretrained(folder)\n",
    "engine": ENGINE + "torch.save(engine.module.state_dict(), folder)\n",
}
RIGHT = {
    "gathered": UNWRAPPED + "bare.save_pretrained(folder, state_dict=accelerator.get_state_dict(model))\n",
    "options": UNWRAPPED + "bare.save_pretrained(folder, **args)\n",
    "block": UNWRAPPED
    + "with deepspeed.zero.GatheredParameters(list(bare.parameters())):\n    bare.save_pretrained(folder)\n",
    "whole": UNWRAPPED + "with FSDP.summon_full_params(model):\n    bare.save_pretrained(folder)\n",
    "types": UNWRAPPED + "with FSDP.state_dict_type(model, args.kind):\n    torch.save(bare.state_dict(), folder)\n",
    "asks": UNWRAPPED + "if not is_deepspeed_zero3_enabled():\n    bare.save_pretrained(folder)\n",
    "not saved": UNWRAPPED + "best = bare.state_dict()\nprint(len(best))\n",
    "other saved": UNWRAPPED + "best = bare.state_dict()\ntorch.save(len(best), folder)\n",
    "given": UNWRAPPED + "if words is None:\n    words = bare.state_dict()\ntorch.save(words, folder)\n",
    "tpu": UNWRAPPED + 'xm.rendezvous("saving")\nbare.save_pretrained(folder)\n',
    "ddp": 'torch.distributed.init_process_group("nccl")\nmodel = DistributedDataParallel(net)\n'
    "torch.save(model.module.state_dict(), folder)\n",
    "before": "net.save_pretrained(folder)\n" + TRAINED,
    "words": TRAINED + "words.save_pretrained(folder)\n",
    "untrained": "trainer = Trainer(model=net, args=args)\nnet.save_pretrained(folder)\n",
    "by trainer": TRAINED + "trainer.save_model(folder)\n",
    "spread": 'net = AutoModelForCausalLM.from_pretrained("x", device_map="auto")\n' + TRAINED
    + "net.save_pretrained(folder)\n",
    "16 bit": ENGINE + "engine.save_16bit_model(folder)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", SAVES)
def test_shards_are_saved(name):
    assert len(ZERO3.findings(program(SAVES[name]))) == 1


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_whole_or_not_saved_is_left_alone(name):
    assert ZERO3.findings(program(RIGHT[name])) == []
    assert FULLY_SHARDED.findings(program(RIGHT[name])) == []


def test_a_finding_is_at_the_call_and_says_what_to_do():
    text = program(SAVES["bare"])
    finding = ZERO3.finding(text)
    assert shown(text, finding) == "bare.save_pretrained(folder)"
    assert finding.message == (
        "`bare` is saved without its weights being gathered: under DeepSpeed ZeRO-3 (see the setting `engines`) nearly "
        "all of its weights are empty on each rank, and so they are in the file"
    )
    assert finding.help.startswith("gather them on all ranks with `accelerator.get_state_dict(model)`, and save these")
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default


def test_under_fsdp_it_fails():
    finding = FULLY_SHARDED.finding(program(SAVES["bare"]))
    assert "under FSDP (see the setting `engines`) each rank has only parts of its weights" in finding.message
    assert finding.consequence is Consequence.CRASH


def test_adapters_are_sharded_each_for_itself():
    text = "from peft import get_peft_model\n" + program(SAVES["bare"])
    assert FULLY_SHARDED.findings(text) == []
    assert len(ZERO3.findings(text)) == 1


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("bare", "bare.save_pretrained(folder, state_dict=accelerator.get_state_dict(model))"),
        ("trainer", "trainer.save_model(folder)"),
        ("of trainer", "trainer.save_model(folder)"),
    ],
)
def test_all_ranks_save_what_is_gathered(name, fixed):
    finding = ZERO3.finding(program(SAVES[name]))
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    assert fixed in ZERO3.mended(program(SAVES[name]), unsafe=True)


@pytest.mark.parametrize("name", ["on one rank", "torch", "module", "engine"])
def test_elsewhere_it_is_a_hint(name):
    finding = ZERO3.finding(program(SAVES[name]))
    assert finding.fix is None or finding.fix.applicability is Applicability.DISPLAY


STAGE_3 = '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1}\n'
MAIN = '\nif __name__ == "__main__":\n    print("done")\n'
OF_TRAINER = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

trainer = Trainer(AutoModelForCausalLM.from_pretrained("x"), TrainingArguments("out"))
trainer.train()
trainer.model.save_pretrained("out")
"""


@pytest.mark.parametrize(
    ("launch", "by_default"),
    [
        ("accelerate launch --use_deepspeed --deepspeed_config_file ds.json train.py", [True]),
        ("accelerate launch --multi_gpu train.py", []),
        ("", [False]),
    ],
)
def test_a_launch_says_which_engine_shards(tmp_path, launch, by_default):
    files = {"train.py": OF_TRAINER, "ds.json": STAGE_3, "pyproject.toml": ""}
    written(tmp_path, files | ({"run.sh": launch + "\n"} if launch else {}))
    found = api.check(tmp_path, Settings(select=("TRL027",)))
    assert [each.by_default for each in found] == by_default


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"other.py": 'run(TrainingArguments("out", deepspeed="conf/ds.json"))\n'}, []),
        ({"other.py": 'run(TrainingArguments("out", deepspeed="conf/other.json"))\n'}, [False]),
        ({"other.py": 'from train import trainer\n\nrun(deepspeed="conf/ds.json")\n'}, [False]),
        ({"settings.py": 'run(deepspeed="conf/ds.json")\n'}, [False]),
        (
            {
                "other.py": 'run(TrainingArguments("out", deepspeed="conf/ds.json"))\n',
                "run.sh": "accelerate launch --use_deepspeed --deepspeed_config_file conf/ds.json train.py\n",
            },
            [True],
        ),
    ],
    ids=[
        "named by another program",
        "another file is named",
        "by a program that imports it",
        "by what no program runs",
        "a launch names it",
    ],
)
def test_settings_that_another_program_names_are_its_own(tmp_path, files, by_default):
    files = {name: text + MAIN * (name == "other.py") for name, text in files.items()}
    written(tmp_path, {"train.py": OF_TRAINER + MAIN, "conf/ds.json": STAGE_3, "pyproject.toml": "", **files})
    found = api.check(tmp_path, Settings(select=("TRL027",)))
    assert [each.by_default for each in found] == by_default


SUBCLASS = """\
from transformers import Trainer


class Mine(Trainer):
    def _save(self, output_dir=None, state_dict=None):
        self.model.save_pretrained(output_dir)
"""


def test_a_trainer_that_saves_itself_has_the_gathered_weights():
    finding = ZERO3.finding(SUBCLASS)
    assert finding.help == "pass on `state_dict`, the weights that the Trainer has gathered"
    assert ZERO3.findings(SUBCLASS.replace("(output_dir)", "(output_dir, state_dict=state_dict)")) == []


def test_another_method_of_a_trainer_gathers_them():
    finding = ZERO3.finding(SUBCLASS.replace("_save(self, output_dir=None, state_dict=None)", "keep(self, output_dir)"))
    assert finding.help == "pass `state_dict=self.accelerator.get_state_dict(self.model_wrapped)`, on all ranks"
