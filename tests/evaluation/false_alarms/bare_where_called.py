# The constructor of TRL's PPO creates the optimizer before it wraps the model, and its save passes on the policy alone.
from transformers import Trainer
from trl import PPOTrainer


class Mixed:
    def create_optimizer_and_scheduler(self, num_training_steps):
        self.optimizer = make_optimizer(self, self.model)
        self.show()
        self.create_scheduler(num_training_steps=num_training_steps, optimizer=self.optimizer)

    def show(self):
        print(self.model.size)

    def _save(self, output_dir=None, state_dict=None):
        def show_width():
            print(self.model[0].width, self.model.width)

        print(self.model.model_dir)
        show_width()
        self.show_kind()
        super()._save(output_dir, state_dict)

    def show_kind(self):
        print(self.model.kind)  # expect: TRL002

    def log(self, logs, start_time=None):
        logs["size"] = self.model.width  # expect: TRL002
        self.show_kind()
        super().log(logs, start_time)


def make_optimizer(trainer, model):
    return trainer.optimizers[model.arch](model.parameters())


class Ppo(Mixed, PPOTrainer):
    """It saves as the library does."""


class OwnSave(PPOTrainer):
    def save_model(self, output_dir=None, _internal_call=False):
        whole = self.model
        self.model = self.accelerator.unwrap_model(self.model).policy
        Trainer.save_model(self, output_dir, _internal_call)
        self.model = whole

    def _save(self, output_dir=None, state_dict=None):
        print(self.model.model_dir)
        super()._save(output_dir, state_dict)


class WholeSave(PPOTrainer):
    def save_model(self, output_dir=None, _internal_call=False):
        Trainer.save_model(self, output_dir, _internal_call)

    def _save(self, output_dir=None, state_dict=None):
        print(self.model.model_dir)  # expect: TRL002
        super()._save(output_dir, state_dict)
