"""Trains with trl's RewardTrainer, on pairs."""

import shared
import tiny
import torch
from transformers import LlamaForSequenceClassification
from trl import RewardConfig, RewardTrainer

chosen = shared.options()
torch.manual_seed(0)
config = tiny.tiny_config()
config.num_labels = 1
trainer = RewardTrainer(
    model=LlamaForSequenceClassification(config),
    args=RewardConfig(**shared.arguments(chosen)),
    train_dataset=shared.pairs(chosen),
    processing_class=tiny.tiny_tokenizer(),
)
shared.train(trainer, chosen)
