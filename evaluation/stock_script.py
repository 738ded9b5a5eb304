"""Trains with an unchanged trainer of trl, as users start one: nothing is switched off for the observer.

Rows are shuffled, the model has dropout, gradients are accumulated, the last batch is not full, the model is evaluated
now and then, and logs are written as often as usual, at an interval that does not divide the number of steps.

    python evaluation/stock_script.py TRAINER [--gpu]
"""

import copy
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "fixtures"))
import tiny
import trl
from datasets import Dataset
from transformers import LlamaForCausalLM, LlamaForSequenceClassification, set_seed

ROWS, HELD_BACK = 23, 7
TEXTS = [tiny.sentence(index, 4 + index * 7 % 23) for index in range(ROWS + HELD_BACK)]
PAIRS = {
    "prompt": [tiny.sentence(index, 3 + index % 5) for index in range(ROWS + HELD_BACK)],
    "chosen": [" " + tiny.sentence(index + 1, 3 + index * 5 % 11) for index in range(ROWS + HELD_BACK)],
    "rejected": [" " + tiny.sentence(index + 2, 3 + index * 7 % 13) for index in range(ROWS + HELD_BACK)],
}
JUDGED = {
    "prompt": PAIRS["prompt"],
    "completion": [PAIRS["rejected" if index % 3 else "chosen"][index] for index in range(ROWS + HELD_BACK)],
    "label": [index % 3 == 0 for index in range(ROWS + HELD_BACK)],
}
ARGUMENTS = {
    "output_dir": tiny.ARGUMENTS["output_dir"],
    "num_train_epochs": 2,
    "per_device_train_batch_size": 2,
    "per_device_eval_batch_size": 2,
    "gradient_accumulation_steps": 2,
    "learning_rate": 1e-3,
    "logging_steps": 2,
    "eval_strategy": "steps",
    "eval_steps": 3,
    "save_strategy": "no",
    "report_to": [],
    "disable_tqdm": True,
    "use_cpu": "--gpu" not in sys.argv,
    "bf16": False,
}


def short(completions: list[str], **_: object) -> list[float]:
    """A reward for short answers."""
    return [-len(each.split()) / 8 for each in completions]


def config() -> object:
    made = tiny.tiny_config()
    made.attention_dropout = 0.1
    return made


def trained(name: str) -> dict:
    """The trainer's further arguments: each kind of trainer has its own rows."""
    kinds = {"SFT": {"text": TEXTS}, "KTO": JUDGED, "GRPO": {"prompt": PAIRS["prompt"]}}
    rows = Dataset.from_dict(kinds.get(name, PAIRS))
    given = {
        "train_dataset": rows.select(range(ROWS)),
        "eval_dataset": rows.select(range(ROWS, ROWS + HELD_BACK)),
        "processing_class": tiny.tiny_tokenizer(),
    }
    return {**given, "reward_funcs": short} if name == "GRPO" else given


def causal_models(name: str) -> dict:
    """The model, and the reference with the same weights: without a model name, no trainer can create the reference."""
    model = LlamaForCausalLM(config())
    return {"model": model, "ref_model": copy.deepcopy(model)} if name in ("DPO", "KTO") else {"model": model}


def main(name: str) -> None:
    set_seed(11)
    own = {"num_generations": 2, "max_completion_length": 6, "temperature": 1.0} if name == "GRPO" else {}
    arguments = getattr(trl, f"{name}Config")(**{**ARGUMENTS, **own})
    if name == "Reward":
        made = config()
        made.num_labels = 1
        models = {"model": LlamaForSequenceClassification(made)}
    else:
        models = causal_models(name)
    getattr(trl, f"{name}Trainer")(**models, args=arguments, **trained(name)).train()


main(sys.argv[1])
