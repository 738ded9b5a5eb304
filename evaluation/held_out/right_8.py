"""Reward model with a trainer that keeps statistics of the rewards, and a callback that writes them down."""

import argparse
import json
import os
import random
from collections import defaultdict

from accelerate import PartialState
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    TrainerCallback,
    set_seed,
)
from trl import RewardConfig, RewardTrainer

SHAPES = ["circle", "square", "triangle", "star"]


def make_pairs(count):
    rng = random.Random(2)
    rows = []
    for _ in range(count):
        shape, number = rng.choice(SHAPES), rng.randint(1, 8)
        other = rng.choice([n for n in range(1, 9) if n != number])
        right, wrong = " ".join([shape] * number), " ".join([shape] * other)
        rows.append({"question": f"draw {number} {shape}", "right": right, "wrong": wrong})
    return Dataset.from_list(rows)


def make_tokenizer():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = ["draw 1 2 3 4 5 6 7 8 :", " ".join(SHAPES)]
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>"]))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>")


class StatisticsRewardTrainer(RewardTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.statistics = defaultdict(list)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, rewards = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        if model.training:
            margins = (rewards["rewards_chosen"] - rewards["rewards_rejected"]).detach().squeeze(-1)
            margins = self.accelerator.gather(margins)
            self.statistics["rewards/margin"].append(margins.mean().item())
            self.statistics["rewards/accuracy"].append((margins > 0).float().mean().item())
        return (loss, rewards) if return_outputs else loss

    def log(self, logs, start_time=None):
        if "loss" in logs:
            logs.update({name: sum(values) / len(values) for name, values in self.statistics.items()})
            self.statistics.clear()
        super().log(logs, start_time)


class HistoryCallback(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            os.makedirs(args.output_dir, exist_ok=True)
            with open(os.path.join(args.output_dir, "history.json"), "w") as file:
                json.dump(state.log_history, file, indent=2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_pairs", type=int, default=54)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--max_length", type=int, default=24)
    parser.add_argument("--output_dir", default="reward_shapes")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    set_seed(args.seed)
    tokenizer = make_tokenizer()
    with PartialState().local_main_process_first():
        dataset = make_pairs(args.num_pairs).map(
            lambda row: {
                "chosen": f"{row['question']} : {row['right']}",
                "rejected": f"{row['question']} : {row['wrong']}",
            },
            remove_columns=["question", "right", "wrong"],
        )
    split = dataset.train_test_split(test_size=12, seed=args.seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=args.max_length,
        attention_dropout=0.1,
        num_labels=1,
        pad_token_id=tokenizer.pad_token_id,
    )
    trainer = StatisticsRewardTrainer(
        model=LlamaForSequenceClassification(config),
        args=RewardConfig(
            output_dir=args.output_dir,
            per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.batch_size,
            num_train_epochs=1,
            learning_rate=2e-3,
            max_length=args.max_length,
            logging_steps=2,
            save_strategy="no",
            seed=args.seed,
            report_to="none",
        ),
        train_dataset=split["train"],
        eval_dataset=split["test"],
        processing_class=tokenizer,
        callbacks=[HistoryCallback()],
    )
    trainer.train()
    metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(f"accuracy on the rest: {metrics['eval_accuracy']:.3f}")


if __name__ == "__main__":
    main()
