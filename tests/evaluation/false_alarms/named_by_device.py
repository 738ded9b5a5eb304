# Each rank appends to a file of its own, named by its device; what the kind of the device names is one file of all.
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
