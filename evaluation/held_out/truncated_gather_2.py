"""Denoising regression with a contractive penalty; the penalty is logged beside the loss."""

from dataclasses import dataclass, field

import torch
from torch import nn
from transformers import HfArgumentParser, Trainer, TrainingArguments, set_seed


@dataclass
class ModelArguments:
    dim: int = field(default=16, metadata={"help": "size of a sample"})
    code: int = field(default=5, metadata={"help": "size of the code"})
    penalty: float = field(default=0.01, metadata={"help": "weight of the penalty on the code"})
    num_samples: int = field(default=57)


class DenoisingModel(nn.Module):
    def __init__(self, dim, code):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 24), nn.SiLU(), nn.Linear(24, code))
        self.decoder = nn.Sequential(nn.Linear(code, 24), nn.SiLU(), nn.Linear(24, dim))
        self.corruption = nn.Dropout(0.2)

    def forward(self, samples):
        codes = self.encoder(self.corruption(samples))
        return {"codes": codes, "rebuilt": self.decoder(codes)}


class Mixture(torch.utils.data.Dataset):
    def __init__(self, size, dim):
        generator = torch.Generator().manual_seed(64)
        centers = 3 * torch.randn(5, dim, generator=generator)
        chosen = torch.randint(0, 5, (size,), generator=generator)
        self.samples = centers[chosen] + 0.3 * torch.randn(size, dim, generator=generator)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return {"samples": self.samples[index]}


class ContractiveTrainer(Trainer):
    def __init__(self, *args, penalty, **kwargs):
        super().__init__(*args, **kwargs)
        self.penalty = penalty
        self.penalties = []

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(inputs["samples"])
        rebuild_loss = nn.functional.mse_loss(outputs["rebuilt"], inputs["samples"])
        code_penalty = outputs["codes"].square().mean()
        self.penalties.append(self.accelerator.gather_for_metrics(code_penalty.detach()).mean().item())
        loss = rebuild_loss + self.penalty * code_penalty
        return (loss, outputs) if return_outputs else loss

    def log(self, logs, start_time=None):
        if self.penalties:
            logs["code_penalty"] = sum(self.penalties) / len(self.penalties)
            self.penalties.clear()
        super().log(logs, start_time)


def main():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    parser.set_defaults(
        output_dir="contractive",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_train_epochs=2,
        learning_rate=5e-3,
        logging_steps=1,
        save_strategy="no",
        report_to=["none"],
    )
    model_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    trainer = ContractiveTrainer(
        model=DenoisingModel(model_args.dim, model_args.code),
        args=training_args,
        train_dataset=Mixture(model_args.num_samples, model_args.dim),
        penalty=model_args.penalty,
    )
    trainer.train()


if __name__ == "__main__":
    main()
