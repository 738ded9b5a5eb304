"""With the release of trl unknown its releases disagree, so nothing is known (run without any versions)."""

from trl import DPOTrainer


class Mine(DPOTrainer):
    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        loss, metrics = super().get_batch_loss_metrics(model, batch, train_eval)
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(metrics["logps/chosen"])  # revealed: unknown
        return loss, metrics
