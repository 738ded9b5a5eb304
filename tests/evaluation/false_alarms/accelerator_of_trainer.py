# A trainer always has its accelerator, which always has `gather`: a branch for none does not run. A branch for a
# setting does.
import torch
from transformers import Trainer


class Searching(Trainer):
    def some_left(self, count):
        accelerator = getattr(self, "accelerator", None)
        if accelerator is None or not hasattr(accelerator, "device") or not hasattr(accelerator, "gather"):
            return count > 0
        flag = torch.tensor([int(count > 0)], device=accelerator.device)
        return bool(accelerator.gather(flag).max().item())

    def some_left_here(self, count):
        if self.args.each_alone or not hasattr(self.accelerator, "gather"):
            return count > 0
        flag = torch.tensor([int(count > 0)], device=self.accelerator.device)
        return bool(self.accelerator.gather(flag).max().item())

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        left = [row for row in inputs["rows"] if row > 0]
        for _ in range(4):
            left = left[1:]
            if not self.some_left(len(left)):
                break
        return model(**inputs).loss


class SearchingAlone(Searching):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        left = [row for row in inputs["rows"] if row > 0]
        for _ in range(4):
            left = left[1:]
            if not self.some_left_here(len(left)):
                break  # expect: TRL006
        return model(**inputs).loss
