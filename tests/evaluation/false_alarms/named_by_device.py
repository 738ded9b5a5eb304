# Each rank writes its own file, named after its device or its number; a name from the device type is one file for all.
from accelerate import Accelerator


def note(prompts):
    accelerator = Accelerator()
    device = accelerator.device
    with open(f"prompts_{device}.txt", "a") as file:
        file.write(str(len(prompts)))
    with open("prompts_" + str(accelerator.device) + ".txt", "a") as file:
        file.write(str(len(prompts)))
    with open(f"prompts_{device.type}.txt", "a") as file:  # expect: TRL008
        file.write(str(len(prompts)))


def save(prompts, batch):
    device = Accelerator().device
    number = batch["ids"].device.index if batch["ids"].device.index is not None else 0
    with open(f"prompts_{number}.json", "w") as file:
        file.write(str(len(prompts)))
    with open(f"prompts_{device.type}.json", "w") as file:  # expect: TRL008
        file.write(str(len(prompts)))
