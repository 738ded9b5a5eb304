"""Clause 9: library rows give parameters and returns of hooks and of inherited methods (trl 0.17, transformers 4.51)."""

from transformers import Seq2SeqTrainer, Trainer
from trl import DPOTrainer, GRPOTrainer, KTOTrainer, OnlineDPOTrainer, SFTTrainer


class Inherited(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        reveal_rank(inputs)  # revealed: shard
        reveal_rank(inputs["x"])  # revealed: shard
        reveal_rank(inputs.x)  # revealed: shard
        reveal_rank(num_items_in_batch)  # revealed: unknown
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(outputs.logits)  # revealed: shard
        reveal_rank(super().compute_loss(model, inputs))  # revealed: local(data)
        return loss

    def training_step(self, model, inputs, num_items_in_batch=None):
        reveal_rank(super().training_step(model, inputs, num_items_in_batch))  # revealed: local(data)
        inputs = self._prepare_inputs(inputs)
        reveal_rank(inputs["x"])  # revealed: shard
        reveal_rank(self._get_learning_rate())  # revealed: same
        reveal_rank(self.is_world_process_zero())  # revealed: local(rank)
        reveal_rank(self.state.epoch)  # revealed: same
        reveal_rank(self.args.process_index)  # revealed: local(rank)
        reveal_rank(self.args.world_size)  # revealed: same
        reveal_rank(self.optimizer.param_groups[0]["lr"])  # revealed: same
        return super().training_step(model, inputs, num_items_in_batch)

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        loss, logits, labels = super().prediction_step(model, inputs, prediction_loss_only)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(logits)  # revealed: shard
        reveal_rank(labels)  # revealed: shard
        return loss, logits, labels

    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        metrics = super().evaluate(eval_dataset)
        reveal_rank(metrics["eval_loss"])  # revealed: same
        for batch in self.get_eval_dataloader():
            reveal_rank(batch["x"])  # revealed: shard
        return metrics

    def log(self, logs, start_time=None):
        reveal_rank(logs["loss"])  # revealed: same
        super().log(logs, start_time)


class Sequence(Seq2SeqTrainer):
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None, **kwargs):
        reveal_rank(inputs["labels"])  # revealed: shard
        return super().prediction_step(model, inputs, prediction_loss_only)


class Preference(DPOTrainer):
    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        reveal_rank(batch["prompt"])  # revealed: shard
        loss, metrics = super().get_batch_loss_metrics(model, batch, train_eval)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(metrics["rewards/chosen"])  # revealed: same
        reveal_rank(train_eval)  # revealed: same
        return loss, metrics


class Online(OnlineDPOTrainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        reveal_rank(inputs["prompt"])  # revealed: shard
        return super().training_step(model, inputs, num_items_in_batch)


class Groups(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        reveal_rank(inputs["advantages"])  # revealed: shard
        reveal_rank(super().compute_loss(model, inputs))  # revealed: local(data)
        reveal_rank(self.accelerator.process_index)  # revealed: local(rank)
        return super().compute_loss(model, inputs)


class Supervised(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        (loss, outputs) = super().compute_loss(model, inputs, return_outputs=True)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(outputs.logits)  # revealed: shard
        return (loss, outputs) if return_outputs else loss


class Kahneman(KTOTrainer):
    def get_batch_loss_metrics(self, model, batch):
        reveal_rank(batch["label"])  # revealed: shard
        return super().get_batch_loss_metrics(model, batch)


class ThroughTheClass(Trainer):
    """A method of a base that is called through its class, with the object as its first argument."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        moved = Trainer._prepare_inputs(self, inputs)
        reveal_rank(moved["x"])  # revealed: shard
        reveal_rank(Trainer._prepare_inputs(self, inputs=inputs)["x"])  # revealed: shard
        loss = Trainer.compute_loss(self, model, moved)
        reveal_rank(loss)  # revealed: local(data)
        loss, outputs = Trainer.compute_loss(self, model, moved, return_outputs=True)
        reveal_rank(outputs.logits)  # revealed: shard
        reveal_rank(DPOTrainer.compute_loss(self, model, moved))  # revealed: local(data)
        reveal_rank(Trainer.unheard_of(self, moved))  # revealed: unknown
        return loss
