# What an override of `evaluation_loop` adds to the metrics: `evaluate` logs them.
import time

import torch
from transformers import Trainer
from transformers.trainer_utils import EvalLoopOutput


class AddsAnEntry(Trainer):
    def evaluation_loop(self, dataloader, *args, metric_key_prefix="eval", **kwargs):
        output = super().evaluation_loop(dataloader, *args, metric_key_prefix=metric_key_prefix, **kwargs)
        seen = [batch["labels"].ne(-100).sum(1) for batch in dataloader]
        output.metrics[f"{metric_key_prefix}_length"] = torch.cat(seen).float().mean().item()  # expect: TRL003
        output.metrics[f"{metric_key_prefix}_batches"] = len(dataloader)
        return output


class UpdatesThem(Trainer):
    def evaluation_loop(self, dataloader, *args, **kwargs):
        output = super().evaluation_loop(dataloader, *args, **kwargs)
        lengths = torch.stack([batch["labels"].float().mean() for batch in dataloader])
        output.metrics.update({"eval_length": lengths.mean().item()})  # expect: TRL003
        return output


class NamesThem(Trainer):
    def evaluation_loop(self, dataloader, *args, **kwargs):
        output = super().evaluation_loop(dataloader, *args, **kwargs)
        metrics = output.metrics
        lengths = torch.stack([batch["labels"].float().mean() for batch in dataloader])
        metrics["eval_length"] = lengths.mean().item()  # expect: TRL003
        return output


class MakesThem(Trainer):
    def evaluation_loop(self, dataloader, *args, **kwargs):
        model = self._wrap_model(self.model, training=False)
        losses, began = [], time.time()
        with torch.no_grad():
            for batch in dataloader:
                losses.append(model(**batch).loss)
        metrics = {"eval_rows": len(dataloader.dataset), "eval_seconds": time.time() - began}
        metrics["eval_loss"] = torch.stack(losses).mean().item()  # expect: TRL003
        return EvalLoopOutput(predictions=None, label_ids=None, metrics=metrics, num_samples=len(dataloader.dataset))


class GathersThem(Trainer):
    def evaluation_loop(self, dataloader, *args, **kwargs):
        output = super().evaluation_loop(dataloader, *args, **kwargs)
        lengths = torch.stack([batch["labels"].float().mean() for batch in dataloader])
        output.metrics["eval_length"] = self.accelerator.gather(lengths).mean().item()
        output.metrics["eval_best"] = output.predictions.max()
        return output


class LogsItself(Trainer):
    def evaluate(self, *args, **kwargs):
        loader = self.get_eval_dataloader()
        output = self.evaluation_loop(loader, "all")
        self.log({"eval_length": self.accelerator.reduce(torch.tensor(output.metrics["length"], device=self.args.device), "mean").item()})
        return output.metrics

    def evaluation_loop(self, dataloader, *args, **kwargs):
        output = super().evaluation_loop(dataloader, *args, **kwargs)
        lengths = torch.stack([batch["labels"].float().mean() for batch in dataloader])
        output.metrics["length"] = lengths.mean().item()
        return output


class KeepsItsOwn(Trainer):
    def evaluation_loop(self, dataloader, *args, **kwargs):
        output = super().evaluation_loop(dataloader, *args, **kwargs)
        own = {}
        own["length"] = torch.stack([batch["labels"].float().mean() for batch in dataloader]).mean().item()
        self.last = own
        return output


class OfTheMainProcess(Trainer):
    def evaluation_loop(self, dataloader, *args, **kwargs):
        output = super().evaluation_loop(dataloader, *args, **kwargs)
        for name, value in list(output.metrics.items()):
            output.metrics[f"own_{name}"] = value
        return output
