# Rewards are trained on pairs: each answer of a batch is padded to this rank's longest one, whatever its field is called.
from trl import RewardTrainer


class Shows(RewardTrainer):
    def visualize_samples(self, num_print_samples):
        for inputs in self.get_eval_dataloader():
            ids = self.accelerator.gather(inputs["input_ids_chosen"])  # expect: TRL005
            padded = self.accelerator.pad_across_processes(inputs["input_ids_rejected"], dim=1)
            print(self.processing_class.batch_decode(ids), self.accelerator.gather(padded))

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        lengths = self.accelerator.gather(inputs["attention_mask_j"].sum(1))
        masks = self.accelerator.gather(inputs["attention_mask_k"])  # expect: TRL005
        margins = self.accelerator.gather(inputs["margin_chosen"])
        self.log({"length": lengths.float().mean().item(), "tokens": masks.sum().item(), "m": margins.mean().item()})
        return super().compute_loss(model, inputs, return_outputs)
