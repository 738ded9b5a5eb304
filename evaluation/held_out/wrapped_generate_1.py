"""SFT that shows what the model writes for a prompt every few steps."""

import argparse
import random

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

WORDS = ["rain", "snow", "wind", "sun", "cloud", "storm", "fog", "ice", "hail"]


def make_texts(count, seed=1):
    rng = random.Random(seed)
    return [" then ".join(rng.sample(WORDS, rng.randint(2, 6))) for _ in range(count)]


def make_tokenizer(texts):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "<eos>"]))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>")


class PreviewSFTTrainer(SFTTrainer):
    def __init__(self, *args, preview_prompt, preview_steps, **kwargs):
        super().__init__(*args, **kwargs)
        self.preview_prompt = preview_prompt
        self.preview_steps = preview_steps

    @torch.no_grad()
    def preview(self, model):
        tokenizer = self.processing_class
        inputs = tokenizer(self.preview_prompt, return_tensors="pt", return_token_type_ids=False)
        inputs = inputs.to(self.accelerator.device)
        model.eval()
        output = model.generate(**inputs, max_new_tokens=8, do_sample=False, pad_token_id=tokenizer.pad_token_id)
        model.train()
        if self.accelerator.is_main_process:
            print(f"step {self.state.global_step}: {tokenizer.decode(output[0], skip_special_tokens=True)}")

    def training_step(self, model, inputs, num_items_in_batch=None):
        if self.state.global_step % self.preview_steps == 0:
            self.preview(model)
        return super().training_step(model, inputs, num_items_in_batch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", default="sft_preview")
    parser.add_argument("--prompt", default="rain then")
    parser.add_argument("--preview_steps", type=int, default=3)
    parser.add_argument("--num_texts", type=int, default=60)
    args = parser.parse_args()

    set_seed(10)
    texts = make_texts(args.num_texts)
    tokenizer = make_tokenizer(texts)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=4,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    trainer = PreviewSFTTrainer(
        model=GPT2LMHeadModel(config),
        args=SFTConfig(
            output_dir=args.output_dir,
            per_device_train_batch_size=5,
            num_train_epochs=1,
            learning_rate=5e-3,
            logging_steps=2,
            save_strategy="no",
            report_to="none",
        ),
        train_dataset=Dataset.from_dict({"text": texts}),
        processing_class=tokenizer,
        preview_prompt=args.prompt,
        preview_steps=args.preview_steps,
    )
    trainer.train()


if __name__ == "__main__":
    main()
