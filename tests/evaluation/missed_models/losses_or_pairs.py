# A library's trainer returns a loss, or a pair if it is asked for outputs. What reads `loss.item()` has no pair.
from trl import DPOTrainer, GRPOTrainer


class Logs(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = super().compute_loss(
            model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch
        )
        self.log({"own_loss": loss.item()})  # expect: TRL003
        return loss


class Stops(DPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if loss.item() > 10:
            self.control.should_training_stop = True  # expect: TRL006
        return loss


class StopsTogether(DPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if self.accelerator.gather(loss.detach()).mean().item() > 10:
            self.control.should_training_stop = True
        return loss


class LogsMetricsOfAll(DPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        result = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if return_outputs:
            loss, metrics = result
            self.log({"own_margin": metrics["rewards/margins"]})
        return result


class LogsOneOfThem(DPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        result = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if return_outputs:
            self.log({"own_margin": result[1]["rewards/margins"]})
        else:
            print(result.dtype)
        return result
