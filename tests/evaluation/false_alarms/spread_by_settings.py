# A model that settings spread over all GPUs is trained by one process, whose metrics are all there are.
import wandb
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        loss = model(**inputs).loss
        if self.is_world_process_zero():
            wandb.log({"own": loss.mean().item()})
        return loss


def main(name: str = "model", out: str = "out"):
    settings = {"device_map": "auto", "trust_remote_code": True}
    model = AutoModelForCausalLM.from_pretrained(name, **settings)
    Own(model=model, args=TrainingArguments(out), train_dataset=load_dataset("rows")["train"]).train()
    model.save_pretrained(out)


if __name__ == "__main__":
    main()
