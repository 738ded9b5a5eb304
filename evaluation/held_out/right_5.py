"""SFT on dialogues of differing length; logs the entropy of the targets and the longest sample."""

import argparse
import random

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

OPENINGS = ["good morning", "hello", "excuse me sir", "hi there"]
ANSWER = "yes of course i can help you with that please tell me what you would like to know about the city"


def make_dialogues(count, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        words = ANSWER.split()
        answer = words[: rng.randint(1, len(words))]
        rows.append({"prompt": rng.choice(OPENINGS) + " :", "completion": " " + " ".join(answer)})
    return Dataset.from_list(rows)


def make_tokenizer():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        [" ".join(OPENINGS), ANSWER, ":"],
        trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "</s>"]),
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", eos_token="</s>")


class EntropyTrainer(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        mode = "train" if model.training else "eval"
        mask = inputs["labels"][:, 1:] != -100
        with torch.no_grad():
            entropies = torch.distributions.Categorical(logits=outputs.logits[:, :-1].float()).entropy()

        # Token counts differ between processes: add up sums and counts, divide once
        totals = torch.stack([(entropies * mask).sum(), mask.sum().to(entropies.dtype)])
        entropy_sum, token_count = self.accelerator.reduce(totals, reduction="sum")
        self._metrics[mode]["entropy"].append((entropy_sum / token_count).item())

        lengths = inputs["attention_mask"].sum(dim=1)
        self._metrics[mode]["max_length"].append(self.accelerator.gather(lengths).max().item())
        return (loss, outputs) if return_outputs else loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_dialogues", type=int, default=50)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--output_dir", default="sft_dialogues")
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args()

    set_seed(args.seed)
    # Drawn before the trainer exists, so with a seed of its own
    dataset = make_dialogues(args.num_dialogues, args.seed).shuffle(seed=args.seed)
    tokenizer = make_tokenizer()
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            attention_dropout=0.1,
        )
    )
    trainer = EntropyTrainer(
        model=model,
        args=SFTConfig(
            output_dir=args.output_dir,
            per_device_train_batch_size=args.batch_size,
            num_train_epochs=args.epochs,
            learning_rate=args.lr,
            logging_steps=3,
            save_strategy="no",
            seed=args.seed,
            report_to="none",
        ),
        train_dataset=dataset,
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_model()
    if trainer.accelerator.is_main_process:
        print(f"trained on {len(dataset)} dialogues, final step {trainer.state.global_step}")


if __name__ == "__main__":
    main()
