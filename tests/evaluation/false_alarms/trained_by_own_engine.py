# A loop that replaces that of a Trainer, and has an engine of DeepSpeed run the model, hands on the model itself only
# where there is no engine. With another wrapper, or without any, each rank trains its own model.
import deepspeed
from transformers import Trainer


class WithEngine(Trainer):
    def train(self):
        self.model_engine, self.optimizer, _, _ = deepspeed.initialize(self.args, self.model)
        for batch in self.get_train_dataloader():
            if self.args.use_deepspeed:
                self.training_step(self.model_engine, batch)
                self.model_engine.step()
            else:
                self.training_step(self.model, batch)
                self.optimizer.step()

    def training_step(self, model, batch):
        loss = model(batch).mean()
        if self.args.use_deepspeed:
            self.model_engine.backward(loss)
        else:
            loss.backward()


class WithWrapper(Trainer):
    def train(self):
        model = self._wrap_model(self.model_wrapped)
        for batch in self.get_train_dataloader():
            if self.args.several:
                self.training_step(model, batch)
            else:
                self.training_step(self.model, batch)
            self.optimizer.step()

    def training_step(self, model, batch):
        model(batch).mean().backward()  # expect: TRL009


class WithoutWrapper(Trainer):
    def train(self):
        for batch in self.get_train_dataloader():
            self.run(self.model, batch)
            self.optimizer.step()

    def run(self, model, batch):
        model(batch).mean().backward()  # expect: TRL009
