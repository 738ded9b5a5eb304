"""Distils a larger frozen model into a small one with a Trainer."""

import argparse

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class RandomTokens(torch.utils.data.Dataset):
    def __init__(self, size, length, vocab_size):
        self.ids = torch.randint(0, vocab_size, (size, length), generator=torch.Generator().manual_seed(4))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


class DistillationTrainer(Trainer):
    def __init__(self, *args, teacher=None, temperature=1.0, alpha=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher.to(self.args.device).eval()
        self.temperature = temperature
        self.alpha = alpha

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        student_outputs = self.model(**inputs)
        with torch.no_grad():
            teacher_logits = self.teacher(input_ids=inputs["input_ids"]).logits
        kl = F.kl_div(
            F.log_softmax(student_outputs.logits / self.temperature, dim=-1).flatten(0, 1),
            F.log_softmax(teacher_logits / self.temperature, dim=-1).flatten(0, 1),
            reduction="batchmean",
            log_target=True,
        )
        loss = self.alpha * student_outputs.loss + (1 - self.alpha) * self.temperature**2 * kl
        return (loss, student_outputs) if return_outputs else loss


def gpt2(width, layers, vocab_size):
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab_size,
            n_positions=32,
            n_embd=width,
            n_layer=layers,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab_size", type=int, default=48)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--alpha", type=float, default=0.3)
    parser.add_argument("--max_steps", type=int, default=6)
    parser.add_argument("--output_dir", default="distilled")
    args = parser.parse_args()

    set_seed(0)
    trainer = DistillationTrainer(
        model=gpt2(16, 1, args.vocab_size),
        teacher=gpt2(48, 3, args.vocab_size),
        temperature=args.temperature,
        alpha=args.alpha,
        args=TrainingArguments(
            output_dir=args.output_dir,
            per_device_train_batch_size=4,
            max_steps=args.max_steps,
            learning_rate=3e-3,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
        ),
        train_dataset=RandomTokens(64, 20, args.vocab_size),
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
