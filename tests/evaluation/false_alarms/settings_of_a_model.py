# Settings that do not determine where a model is placed.
import wandb
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        loss = model(**inputs).loss
        if self.is_world_process_zero():
            wandb.log({"own": loss.mean().item()})  # expect: TRL003
        return loss


def main(name: str = "model", out: str = "out"):
    settings = {"trust_remote_code": True}
    model = AutoModelForCausalLM.from_pretrained(name, **settings)
    Own(model=model, args=TrainingArguments(out), train_dataset=load_dataset("rows")["train"]).train()
    model.save_pretrained(out)  # expect: TRL008


if __name__ == "__main__":
    main()
