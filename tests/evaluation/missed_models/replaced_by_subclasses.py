# The value of an attribute that a subclass of another class, or of one whose source is unavailable, reassigns.
from abc import abstractmethod

from accelerate import Accelerator
from trl import PPOTrainer


class Base:
    def __init__(self, args):
        self.accelerator = Accelerator()
        self.model = self.make_model(args)
        self.other = self.make_model(args)

    def export(self, path):
        self.model.base_model.save_pretrained(path)  # expect: TRL002
        self.other.base_model.save_pretrained(path)
        self.accelerator.unwrap_model(self.model).base_model.save_pretrained(path)

    @abstractmethod
    def make_model(self, args):
        """Defined by subclasses."""


class Prepared(Base):
    def __init__(self, args):
        super().__init__(args)
        print(self.model.base_model)
        self.model, self.optimizer = self.accelerator.prepare(self.model, make_optimizer())
        if args.all:
            self.other = self.accelerator.prepare(self.other)

    def save(self, path):
        self.model.base_model.save_pretrained(path)  # expect: TRL002
        self.other.base_model.save_pretrained(path)
        self.accelerator.unwrap_model(self.model).save_pretrained(path)


class Early(Base):
    def __init__(self, args):
        self.model = Accelerator().prepare(make(args))
        super().__init__(args)

    def save(self, path):
        self.model.base_model.save_pretrained(path)


class SavesPolicy(PPOTrainer):
    def save_model(self, path):
        backup = self.model
        self.model = self.model.policy  # expect: TRL002
        super().save_model(path)
        self.model = backup


class SavesBarePolicy(PPOTrainer):
    def save_model(self, path):
        backup = self.model
        self.model = self.accelerator.unwrap_model(self.model).policy
        super().save_model(path)
        self.model = backup
