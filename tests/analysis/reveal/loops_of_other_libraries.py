"""Training loops as in code with Diffusers and other model libraries."""

import abc

import einops
import open_clip
import timm
import torch
import torchvision
from accelerate import Accelerator
from diffusers import AutoencoderKL, DDPMScheduler, FluxPipeline, UNet2DConditionModel
from diffusers.training_utils import compute_density_for_timestep_sampling, compute_snr
from transformers import CLIPTextModel, CLIPTextModelWithProjection


def prepared_on_both_ways(args, model, optimizer):
    accelerator = Accelerator()
    loader = torch.utils.data.DataLoader([1])
    if args.train_text_encoder:
        model, loader = accelerator.prepare(model, loader)
    else:
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        reveal_rank(batch)  # revealed: shard
        reveal_rank(model(**batch).loss)  # revealed: local(data)


def prepared_on_one_way(args):
    accelerator = Accelerator()
    loader = torch.utils.data.DataLoader([1])
    if args.shards_itself:
        pass
    else:
        loader = accelerator.prepare(loader)
    for batch in loader:
        reveal_rank(batch)  # revealed: unknown


def one_of(kind):
    if kind == "plain":
        return CLIPTextModel
    return CLIPTextModelWithProjection


def diffusion(args):
    accelerator = Accelerator()
    vae = AutoencoderKL.from_pretrained("tiny")
    text_encoder = one_of(args.kind).from_pretrained("tiny")
    scheduler = DDPMScheduler.from_pretrained("tiny")
    unet = UNet2DConditionModel.from_pretrained("tiny")
    loader = torch.utils.data.DataLoader([1])
    unet, loader = accelerator.prepare(unet, loader)
    for batch in loader:
        latents = vae.encode(batch["pixels"]).latent_dist.sample() * vae.config.scaling_factor
        reveal_rank(latents)  # revealed: shard
        noise = torch.randn_like(latents)
        timesteps = torch.randint(0, 10, (4,))
        noisy = scheduler.add_noise(latents, noise, timesteps)
        reveal_rank(noisy)  # revealed: local(data, rng)
        reveal_rank(text_encoder(batch["ids"])[0])  # revealed: shard
        reveal_rank(unet(noisy, timesteps, None).sample)  # revealed: local(data, rng)
        reveal_rank(scheduler.config.prediction_type)  # revealed: same
        reveal_rank(compute_snr(scheduler, timesteps))  # revealed: local(rng)
        reveal_rank(compute_density_for_timestep_sampling("logit_normal", 4))  # revealed: local(rng)
        reveal_rank(FluxPipeline._pack_latents(latents, 1, 2))  # revealed: shard
        reveal_rank(FluxPipeline.from_pretrained("tiny")(latents))  # revealed: unknown


def other_libraries():
    accelerator = Accelerator()
    classifier = timm.create_model("tiny")
    resnet = torchvision.models.resnet18()
    transformer = torchvision.models.video.mvit_v2_s()
    part = torchvision.models.video.mvit.PositionalEncoding()
    clip, _, preprocess = open_clip.create_model_and_transforms("tiny")
    detector = torch.jit.load("inception.pt").eval()
    crop = torchvision.transforms.CenterCrop(8)
    for batch in accelerator.prepare(torch.utils.data.DataLoader([1])):
        reveal_rank(classifier(batch["x"]))  # revealed: shard
        reveal_rank(resnet(batch["x"]))  # revealed: shard
        reveal_rank(transformer(batch["x"]))  # revealed: shard
        reveal_rank(part(batch["x"]))  # revealed: unknown
        reveal_rank(clip.encode_image(batch["x"]))  # revealed: shard
        reveal_rank(preprocess(batch["x"]))  # revealed: shard
        reveal_rank(detector(batch["x"]))  # revealed: shard
        reveal_rank(detector(1))  # revealed: same
        reveal_rank(crop(batch["x"]))  # revealed: shard
        reveal_rank(einops.rearrange(batch["x"], "a b -> b a"))  # revealed: shard
        reveal_rank(torchvision.models.list_models())  # revealed: same


def trained_on(model, make):
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(2, 2))
    loader = make()
    for epoch in make():
        reveal_rank(epoch)  # revealed: unknown
        for step, batch in enumerate(loader):
            reveal_rank(step)  # revealed: same
            reveal_rank(batch)  # revealed: shard
            accelerator.backward(model(batch["x"]).mean())
    for index, batch in make(enumerate(loader)):
        reveal_rank(index)  # revealed: unknown
        reveal_rank(batch)  # revealed: shard
        accelerator.backward(model(**batch).loss)
    for batch in make():
        reveal_rank(batch)  # revealed: unknown
        model(**batch)


def on_one_process(model, make):
    for batch in make():
        reveal_rank(batch)  # revealed: unknown
        model(**batch).loss.backward()


def by_use(model, loader, accelerator, evaluation):
    model.train()
    for batch in loader:
        loss = model(**batch).loss
        reveal_rank(loss)  # revealed: local(data)
        accelerator.backward(loss)
        reveal_rank(accelerator.gather_for_metrics(loss))  # revealed: same
    for batch in evaluation:
        reveal_rank(batch)  # revealed: unknown


class Abstract(abc.ABC):
    @abc.abstractmethod
    def loss(self, batch):
        """The training loss."""

    def weight(self, batch):
        pass

    def scale(self, batch): ...

    def shift(self, batch):
        raise NotImplementedError

    def nothing(self, batch):
        self.last = batch

    def step(self, batch):
        reveal_rank(self.loss(batch))  # revealed: unknown
        reveal_rank(self.weight(batch))  # revealed: unknown
        reveal_rank(self.scale(batch))  # revealed: unknown
        reveal_rank(self.shift(batch))  # revealed: unknown
        reveal_rank(self.nothing(batch))  # revealed: same


def only_on_some(accelerator, flag, batch):
    accelerator = Accelerator()
    reveal_rank(accelerator.is_main_process and flag())  # revealed: local(rank)
    reveal_rank(accelerator.is_main_process and flag() and flag())  # revealed: local(rank)
    reveal_rank(flag() and accelerator.is_main_process and flag() and flag())  # revealed: local(rank)
    reveal_rank((accelerator.process_index or flag()) and flag())  # revealed: unknown
    reveal_rank(accelerator.is_main_process or flag())  # revealed: unknown
    for batch in accelerator.prepare(torch.utils.data.DataLoader([1])):
        found = None
        if (batch["mask"].sum() > 0).item():
            found = batch["x"]
        reveal_rank(found is None)  # revealed: local(data)
        given = None
        if flag:
            given = batch["x"]
        reveal_rank(given is None)  # revealed: same
