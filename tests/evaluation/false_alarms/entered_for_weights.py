# The block reads weights only: the context managers that it enters with the model yield it to nobody, and run nothing.
from contextlib import contextmanager

from trl import GRPOTrainer
from trl.models.utils import unwrap_model_for_generation


@contextmanager
def patched(model):
    for module in model.modules():
        module.merge_origin = module.merge
    try:
        yield model
    finally:
        for module in model.modules():
            del module.merge_origin


@contextmanager
def warmed_up(model, batch):
    model(**batch)
    yield model


class Copies(GRPOTrainer):
    def copy_weights(self):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:
            with patched(bare):
                bare.merge_adapter()
            self.engine.load_weights(bare.state_dict().items())
            bare.unmerge_adapter()


class Generates(GRPOTrainer):
    def answers(self, batch):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:  # expect: TRL010
            print("ready")
            with patched(bare) as ready:
                return ready.generate(**batch)

    def more_answers(self, batch):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:  # expect: TRL010
            print("ready")
            with patched(bare):
                return bare.generate(**batch)

    def copy_weights(self, batch):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:  # expect: TRL010
            print("ready")
            with warmed_up(bare, batch):
                self.engine.load_weights(bare.state_dict().items())
