# The labels of tokens are padded to the longest sample of each rank, by the collators that are made for them.
import evaluate
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq


def padded(accelerator, model, loader, metric):
    for batch in loader:
        tokens = accelerator.unwrap_model(model).generate(batch["input_ids"])
        tokens = accelerator.pad_across_processes(tokens, dim=1, pad_index=0)
        labels = accelerator.pad_across_processes(batch["labels"], dim=1, pad_index=-100)
        tokens, labels = accelerator.gather_for_metrics((tokens, labels))
        metric.add_batch(predictions=tokens, references=labels)
    return metric.compute()


def only_tokens(accelerator, model, loader, metric):
    for batch in loader:
        tokens = accelerator.unwrap_model(model).generate(batch["input_ids"])
        tokens = accelerator.pad_across_processes(tokens, dim=1, pad_index=0)
        tokens, labels = accelerator.gather_for_metrics((tokens, batch["labels"]))  # expect: TRL005
        metric.add_batch(predictions=tokens, references=labels)
    return metric.compute()


def counted(accelerator, model, loader):
    right = []
    for batch in loader:
        predicted = model(**batch).logits.argmax(-1)
        right.append(accelerator.gather_for_metrics((predicted == batch["labels"]).float().mean(1)))
    return torch.cat(right).mean().item()


def main(rows):
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained("t5-small")
    model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
    loader = DataLoader(rows, batch_size=8, collate_fn=DataCollatorForSeq2Seq(tokenizer, model=model))
    model, loader = accelerator.prepare(model, loader)
    metric = evaluate.load("rouge")
    accelerator.print(padded(accelerator, model, loader, metric))
    accelerator.print(only_tokens(accelerator, model, loader, metric))
    accelerator.print(counted(accelerator, model, loader))


main(make_rows())
