# Nothing is generated in these blocks, or nothing is gathered for it.
from trl import GRPOTrainer, OnlineDPOTrainer
from trl.models.utils import unwrap_model_for_generation


class Pushing(GRPOTrainer):
    def push_weights(self, client):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:
            for name, parameter in bare.named_parameters():
                client.update(name, parameter.data)

    def training_step(self, model, inputs, num_items_in_batch=None):
        self.push_weights(self.client)
        return super().training_step(model, inputs, num_items_in_batch)


class Ungathered(OnlineDPOTrainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        gather = False
        with unwrap_model_for_generation(self.model, self.accelerator, gather_deepspeed3_params=gather) as bare:
            inputs["ids"] = bare.generate(**inputs)
        return super().training_step(model, inputs, num_items_in_batch)


class Gathered(OnlineDPOTrainer):
    def sample(self, bare, inputs):
        return bare.generate(**inputs)

    def training_step(self, model, inputs, num_items_in_batch=None):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:  # expect: TRL010
            inputs["ids"] = self.sample(bare, inputs)
        return super().training_step(model, inputs, num_items_in_batch)


def sent(net, client, prefix=""):
    for name, parameter in net.named_parameters():
        client.update(prefix + name, parameter.data)


def sampled(net, inputs):
    return net.generate(**inputs)


class Sending(GRPOTrainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:
            if hasattr(bare, "merge_adapter"):
                bare.merge_adapter()
            inner = bare.base_model
            sent(net=inner, client=self.client, prefix=inner.name)
        return super().training_step(model, inputs, num_items_in_batch)


class Sampling(OnlineDPOTrainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        with unwrap_model_for_generation(self.model, self.accelerator) as bare:  # expect: TRL010
            inner = bare.base_model
            inputs["ids"] = sampled(inner, inputs)
        return super().training_step(model, inputs, num_items_in_batch)
