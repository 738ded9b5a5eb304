# The DeepSpeed engine has its own settings; properties of the model are the model's.
from accelerate import Accelerator


def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    stage = model.config["zero_optimization"]["stage"]
    rows = model.config.get("train_micro_batch_size_per_gpu", 1)
    layers = model.config.num_hidden_layers  # expect: TRL002
    kind = model.config.get("model_type")  # expect: TRL002
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss / rows)
        optimizer.step()
    return stage, layers, kind
