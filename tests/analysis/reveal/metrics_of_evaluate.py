"""Metrics of `evaluate`: they depend on what was added to them."""

import evaluate
from accelerate import Accelerator

accelerator = Accelerator()
model, loader = accelerator.prepare(model, loader)

local = evaluate.load("accuracy")
gathered = evaluate.load("accuracy")
shared = evaluate.load("accuracy", num_process=2, process_id=accelerator.process_index)
for batch in loader:
    preds = model(batch["x"]).argmax(-1)
    local.add_batch(predictions=preds, references=batch["labels"])
    shared.add_batch(predictions=preds, references=batch["labels"])
    preds, labels = accelerator.gather_for_metrics((preds, batch["labels"]))
    gathered.add_batch(predictions=preds, references=labels)
reveal_rank(local.compute()["accuracy"])  # revealed: local(data)
reveal_rank(local.compute())  # revealed: unknown
reveal_rank(gathered.compute()["accuracy"])  # revealed: same
reveal_rank(shared.compute())  # revealed: unknown
reveal_rank(local.compute(predictions=batch["x"], references=labels)["accuracy"])  # revealed: local(data)

errors = evaluate.load("wer")
reveal_rank(errors.compute(predictions=preds, references=labels))  # revealed: same
for batch in loader:
    reveal_rank(100 * errors.compute(predictions=model(batch["x"]), references=labels))  # revealed: local(data)
