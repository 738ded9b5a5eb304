# At stage 2 of ZeRO the parameters are whole: the rank that saves gathers nothing.
import deepspeed
from accelerate import Accelerator


def save(model, folder, accelerator):
    weights = [each for name, each in model.named_parameters() if "lora" in name]
    is_second = isinstance(model, deepspeed.DeepSpeedEngine) and model.zero_optimization_stage() == 2
    with deepspeed.zero.GatheredParameters(weights, enabled=is_second):
        if accelerator.is_main_process:
            accelerator.unwrap_model(model).save_pretrained(folder)


def save_gathered(model, folder, accelerator):
    weights = [each for name, each in model.named_parameters() if "lora" in name]
    is_third = isinstance(model, deepspeed.DeepSpeedEngine) and model.zero_optimization_stage() == 3
    with deepspeed.zero.GatheredParameters(weights, enabled=is_third):
        if accelerator.is_main_process:
            accelerator.unwrap_model(model).save_pretrained(folder)


def train(model, optimizer, loader, folder):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
    if accelerator.is_main_process:
        save(model, folder, accelerator)
        save_gathered(model, folder, accelerator)  # expect: TRL006
