# What replaces the training loop of a Trainer, and saves by itself, says which ranks save: the library never calls its
# `_save_checkpoint`. Where the Trainer's own loop runs, each rank does.
import torch
from transformers import Trainer


class OwnLoop(Trainer):
    def train(self):
        for step, batch in enumerate(self.get_train_dataloader()):
            self.accelerator.backward(self.model_wrapped(**batch).loss)
            if self.args.local_rank in {-1, 0} and step % self.args.save_steps == 0:
                self._save_checkpoint(f"{self.args.output_dir}/{step}")

    def _save_checkpoint(self, folder):
        torch.save(self.optimizer.state_dict(), f"{folder}/optimizer.pt")


class OwnSaving(Trainer):
    def _save_checkpoint(self, model, trial):
        torch.save(model.state_dict(), f"{self.args.output_dir}/model.pt")  # expect: TRL008


class OwnLoopOnAll(Trainer):
    def train(self):
        for step, batch in enumerate(self.get_train_dataloader()):
            self.accelerator.backward(self.model_wrapped(**batch).loss)
            if step % self.args.save_steps == 0:
                self._save_checkpoint(f"{self.args.output_dir}/{step}")

    def _save_checkpoint(self, folder):
        torch.save(self.optimizer.state_dict(), f"{folder}/optimizer.pt")  # expect: TRL008
