"""Trains with trl's OnlineDPOTrainer, on prompts: a reward model as tiny as the rest judges the generated answers."""

import inspect

import shared
import tiny
import torch
from transformers import LlamaForSequenceClassification

try:
    from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer
except ImportError:
    from trl import OnlineDPOConfig, OnlineDPOTrainer


def reward_model() -> LlamaForSequenceClassification:
    torch.manual_seed(1)
    config = tiny.tiny_config()
    config.num_labels = 1
    return LlamaForSequenceClassification(config)


def judged_by(model: LlamaForSequenceClassification) -> dict:
    """The reward model under the parameter names of this release."""
    names = {"reward_model": "reward_processing_class", "reward_funcs": "reward_processing_classes"}
    known = inspect.signature(OnlineDPOTrainer.__init__).parameters
    name = next(name for name in names if name in known)
    return {name: model, names[name]: tiny.tiny_tokenizer()}


chosen = shared.options()
trainer = OnlineDPOTrainer(
    model=tiny.tiny_model(),
    args=OnlineDPOConfig(**shared.arguments(chosen), max_new_tokens=8),
    train_dataset=tiny.prompt_dataset(shared.size(chosen)),
    processing_class=tiny.tiny_tokenizer(),
    **judged_by(reward_model()),
)
trainer.train()
