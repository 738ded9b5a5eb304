# An optimizer can be unwrapped, too: an object with `param_groups` is no model.
from accelerate import Accelerator
from elsewhere import load_model, logs_of, make_optimizer


def rates(optimizer):
    return [group["lr"] for group in optimizer.param_groups]


def width(model):
    return model.config.hidden_size  # expect: TRL002


def train(loader):
    accelerator = Accelerator()
    model = load_model()
    optimizer = make_optimizer(model)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        bare = accelerator.unwrap_model(optimizer)
        for group in bare.param_groups:
            group["params"] = [each for each in group["params"] if each.grad is not None]
        optimizer.step()
        optimizer.zero_grad()
        logs_of(rates(optimizer), width(model))
    accelerator.unwrap_model(model).save_pretrained("out", is_main_process=accelerator.is_main_process)
