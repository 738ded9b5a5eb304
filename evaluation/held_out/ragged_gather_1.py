"""Trainer with a token accuracy of its own, on sentences of differing lengths."""

import argparse
import random
from collections import defaultdict

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DataCollatorForLanguageModeling,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

SUBJECTS = ["the boy", "a girl", "my old friend from school", "the teacher", "nobody"]
VERBS = ["sees", "likes", "has never really understood", "buys"]
OBJECTS = ["bread", "the sea", "a very small house on the hill", "music and poems", "it"]


def make_texts(count):
    rng = random.Random(5)
    return [f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)} ." for _ in range(count)]


def make_tokenizer(texts):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "</s>"]))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", eos_token="</s>")


class AccuracyTrainer(Trainer):
    """Counts right next tokens while training, and logs their share."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.counts = defaultdict(int)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        if model.training:
            labels = inputs["labels"][:, 1:]
            predictions = outputs.logits[:, :-1].argmax(dim=-1)
            is_target = labels != -100
            is_right = (predictions == labels) & is_target
            self.counts["right"] += self.accelerator.gather(is_right).sum().item()
            self.counts["targets"] += self.accelerator.gather(is_target.sum()).sum().item()
        return (loss, outputs) if return_outputs else loss

    def log(self, logs, start_time=None):
        if self.counts["targets"]:
            logs["token_accuracy"] = self.counts["right"] / self.counts["targets"]
            self.counts.clear()
        super().log(logs, start_time)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_texts", type=int, default=45)
    parser.add_argument("--batch_size", type=int, default=3)
    parser.add_argument("--output_dir", default="accuracy_out")
    args = parser.parse_args()

    set_seed(21)
    texts = make_texts(args.num_texts)
    tokenizer = make_tokenizer(texts)
    dataset = Dataset.from_dict({"text": texts}).map(lambda row: tokenizer(row["text"]), remove_columns=["text"])

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    trainer = AccuracyTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=args.output_dir,
            num_train_epochs=1,
            per_device_train_batch_size=args.batch_size,
            learning_rate=3e-3,
            logging_steps=2,
            save_strategy="no",
            report_to="none",
            remove_unused_columns=False,
        ),
        train_dataset=dataset,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )
    trainer.train()


if __name__ == "__main__":
    main()
