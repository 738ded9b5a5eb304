# A model that is frozen before it is prepared is not wrapped, whatever it is.
from accelerate import Accelerator
from models import load


def main(args):
    accelerator = Accelerator()
    frozen, trained = load(args)
    frozen.requires_grad_(False)
    trained.requires_grad_(False)
    trained.requires_grad_(True)
    frozen, trained = accelerator.prepare(frozen), accelerator.prepare(trained)
    accelerator.unwrap_model(frozen)
    accelerator.unwrap_model(trained)
    print(frozen.config, frozen.head)
    print(trained.config)  # expect: TRL002
    print(trained.head)  # expect: TRL002
