# The logged value is gathered; if the gather raises, the value of this rank replaces it.
from trl import SFTTrainer


class Own(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
        own = outputs.logits.float().mean()
        try:
            mean = self.accelerator.gather(own).mean().item()
        except Exception:
            mean = own.item()
        self.log({"mean": mean})
        try:
            most = outputs.logits.max().item()
            self.accelerator.wait_for_everyone()
        except Exception:
            most = own.item()
        self.log({"most": most})  # expect: TRL003
        return (loss, outputs) if return_outputs else loss
