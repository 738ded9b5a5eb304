# named: check_alone.py
# One process, which the script checks.
from accelerate import Accelerator, PartialState
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


def asserted():
    assert PartialState().num_processes == 1
    tokenizer = AutoTokenizer.from_pretrained("tiny")
    data = load_dataset("quotes", split="train").map(lambda rows: tokenizer(rows["quote"]), batched=True)
    model = AutoModelForCausalLM.from_pretrained("tiny")
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
    model.save_pretrained("out")


def raised(model, optimizer, loader):
    accelerator = Accelerator()
    if accelerator.num_processes > 1:
        raise ValueError("on one GPU only")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        accelerator.log({"loss": model(**batch).loss.item()})
        model.generate(**batch)


def neither(model, optimizer, loader):
    accelerator = Accelerator()
    assert accelerator.num_processes >= 1
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        accelerator.log({"loss": model(**batch).loss.item()})  # expect: TRL003


asserted()
