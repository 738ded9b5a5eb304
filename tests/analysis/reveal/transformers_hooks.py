"""What Trainer hands to its hooks, its own collectives, and its attributes."""

import torch
from transformers import Trainer, TrainingArguments
from transformers.trainer_pt_utils import distributed_concat, nested_detach, nested_numpify
from transformers.trainer_utils import EvalLoopOutput, set_seed, speed_metrics


class Hooks(Trainer):
    def compute_loss(self, model, batch, return_outputs=False, **kwargs):
        # By position: an override may call its parameters what it likes.
        reveal_rank(batch["x"])  # revealed: shard
        outputs = model(**batch)
        reveal_rank(outputs.logits)  # revealed: shard
        reveal_rank(outputs["logits"])  # revealed: shard
        reveal_rank(outputs.logits.argmax(-1))  # revealed: shard
        reveal_rank(outputs.loss)  # revealed: local(data)
        reveal_rank(outputs["loss"])  # revealed: local(data)
        reveal_rank(outputs.get("loss"))  # revealed: local(data)
        reveal_rank(self.label_smoother(outputs, batch["labels"]))  # revealed: shard
        reveal_rank(self._nested_gather(outputs.loss))  # revealed: same
        reveal_rank(self._nested_gather(outputs.loss.repeat(4)).mean())  # revealed: same
        reveal_rank(self.gather_function(outputs.logits))  # revealed: same
        reveal_rank(self.accelerator.gather(outputs.logits))  # revealed: same
        reveal_rank(distributed_concat(outputs.logits))  # revealed: same
        reveal_rank(nested_detach(outputs.loss))  # revealed: local(data)
        reveal_rank(nested_numpify(outputs.logits))  # revealed: shard
        reveal_rank(model.training)  # revealed: same
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        reveal_rank(loss)  # revealed: local(data)
        pair = self.compute_loss(model, inputs, return_outputs=True)
        reveal_rank(pair[0])  # revealed: local(data)
        self.accelerator.backward(loss)
        reveal_rank(self.args.device)  # revealed: same
        reveal_rank(self.args.n_gpu)  # revealed: same
        reveal_rank(self.args.local_rank)  # revealed: local(rank)
        reveal_rank(self.args.local_process_index)  # revealed: local(rank)
        reveal_rank(self.args.should_log)  # revealed: local(rank)
        reveal_rank(self.args.should_save)  # revealed: local(rank)
        reveal_rank(self.args.gradient_accumulation_steps)  # revealed: same
        reveal_rank(self.state.is_world_process_zero)  # revealed: local(rank)
        reveal_rank(self.state.global_step)  # revealed: same
        reveal_rank(self.is_local_process_zero())  # revealed: local(rank)
        reveal_rank(self.lr_scheduler.get_last_lr()[0])  # revealed: same
        reveal_rank(self.control.should_log)  # revealed: same
        reveal_rank(speed_metrics("train", 0.0))  # revealed: local(clock)
        reveal_rank(set_seed(1))  # revealed: same
        output = EvalLoopOutput(predictions=loss, label_ids=None, metrics=self.state.global_step, num_samples=len(pair))
        reveal_rank(output.predictions)  # revealed: local(data)
        reveal_rank(output.metrics)  # revealed: same
        return loss.detach() / self.args.gradient_accumulation_steps

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():
            outputs = model(**inputs)
        reveal_rank(prediction_loss_only)  # revealed: same
        reveal_rank(outputs.logits)  # revealed: shard
        return outputs.loss, outputs.logits, inputs["labels"]

    def evaluation_loop(self, dataloader, description, prediction_loss_only=None, ignore_keys=None, metric_key_prefix="eval"):
        for batch in dataloader:
            reveal_rank(batch["x"])  # revealed: shard
            loss, logits, labels = self.prediction_step(self.model, batch, False)
            reveal_rank(loss)  # revealed: local(data)
            reveal_rank(logits)  # revealed: shard
        output = super().evaluation_loop(dataloader, description)
        reveal_rank(output.metrics["eval_loss"])  # revealed: same
        reveal_rank(output.predictions)  # revealed: same
        return output

    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        reveal_rank(self.predict(eval_dataset).predictions)  # revealed: same
        return super().evaluate(eval_dataset, ignore_keys, metric_key_prefix)

    def floating_point_ops(self, inputs):
        reveal_rank(inputs["input_ids"])  # revealed: shard
        reveal_rank(super().floating_point_ops(inputs))  # revealed: local(data)
        return 0

    def get_batch_samples(self, epoch_iterator, num_batches, device):
        batches, count = super().get_batch_samples(epoch_iterator, num_batches, device)
        for batch in batches:
            reveal_rank(batch["x"])  # revealed: shard
        reveal_rank(count)  # revealed: unknown
        return batches, count


arguments = TrainingArguments("out")
reveal_rank(arguments.learning_rate)  # revealed: same
reveal_rank(arguments.process_index)  # revealed: local(rank)
