# A value that is unwrapped unless it is None is nowhere wrapped after that.
from accelerate import Accelerator
from diffusers import DiffusionPipeline
from transformers import CLIPTextModel


def validate(accelerator, encoder, unet):
    if encoder is not None:
        encoder = accelerator.unwrap_model(encoder)
    return DiffusionPipeline.from_pretrained("x", text_encoder=encoder, unet=accelerator.unwrap_model(unet))


def show(accelerator, encoder, unet, asked):
    if asked:
        encoder = accelerator.unwrap_model(encoder)
    return DiffusionPipeline.from_pretrained("x", text_encoder=encoder, unet=unet)  # expect: TRL002


def train(settings, loader, unet):
    accelerator = Accelerator()
    encoder = CLIPTextModel.from_pretrained("x")
    if settings.train_encoder:
        unet, encoder, loader = accelerator.prepare(unet, encoder, loader)
    else:
        unet, loader = accelerator.prepare(unet, loader)
    for batch in loader:
        accelerator.backward(unet(batch, encoder).mean())
        if accelerator.is_main_process:
            validate(accelerator, encoder, unet)
            show(accelerator, encoder, accelerator.unwrap_model(unet), settings.asked)
