"""SFT trainer that logs the entropy of the model on the completions."""

import random
from dataclasses import dataclass, field

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import HfArgumentParser, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

CITIES = {"paris": "france", "rome": "italy", "oslo": "norway", "lima": "peru", "cairo": "egypt"}
EXTRA = "which is well known for its old streets and the many people who visit it each year"


@dataclass
class DataArguments:
    num_examples: int = field(default=48)
    corpus_seed: int = field(default=17)


def build_dataset(data_args):
    rng = random.Random(data_args.corpus_seed)
    examples = []
    for _ in range(data_args.num_examples):
        city = rng.choice(sorted(CITIES))
        completion = [CITIES[city], *EXTRA.split()[: rng.choice([0, 0, 2, 18])]]
        examples.append({"prompt": f"the country of {city} is", "completion": " " + " ".join(completion)})
    return Dataset.from_list(examples)


def build_tokenizer(texts):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "</s>"]))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", eos_token="</s>")


class EntropySFTTrainer(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        with torch.no_grad():
            logps = outputs.logits[:, :-1].float().log_softmax(dim=-1)
            entropy = -(logps.exp() * logps).sum(dim=-1)
            mask = (inputs["labels"][:, 1:] != -100).float()
            mean_entropy = (entropy * mask).sum() / mask.sum()
        mode = "train" if model.training else "eval"
        self._metrics[mode]["entropy"].append(self.accelerator.gather(mean_entropy).mean().item())
        return (loss, outputs) if return_outputs else loss


def main():
    parser = HfArgumentParser((DataArguments, SFTConfig))
    parser.set_defaults(
        output_dir="sft_entropy",
        per_device_train_batch_size=2,
        max_steps=6,
        learning_rate=1e-2,
        logging_steps=1,
        save_strategy="no",
        report_to=["none"],
    )
    data_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    dataset = build_dataset(data_args)
    tokenizer = build_tokenizer(row["prompt"] + row["completion"] for row in dataset)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        attention_dropout=0.05,
    )
    trainer = EntropySFTTrainer(
        model=LlamaForCausalLM(config),
        args=training_args,
        train_dataset=dataset,
        processing_class=tokenizer,
    )
    trainer.train()


if __name__ == "__main__":
    main()
