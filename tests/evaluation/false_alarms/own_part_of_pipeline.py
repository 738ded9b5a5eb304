# Pipelines of Diffusers use more than a forward of the models that they know, and nothing of a project's additions.
from accelerate import Accelerator
from diffusers import StableDiffusionControlNetPipeline, UNet2DConditionModel


class LitPipeline(StableDiffusionControlNetPipeline):
    def __init__(self, *parts, light_encoder, **others):
        super().__init__(*parts, **others)
        self.register_modules(light_encoder=light_encoder)


def validate(light_encoder, unet, controlnet):
    return LitPipeline.from_pretrained(
        "path",
        light_encoder=light_encoder,
        unet=unet,  # expect: TRL002
        controlnet=controlnet,
    )


def main(light_encoder, optimizer, loader):
    accelerator = Accelerator()
    unet = UNet2DConditionModel.from_pretrained("path")
    light_encoder, unet, optimizer, loader = accelerator.prepare(light_encoder, unet, optimizer, loader)
    for batch in loader:
        accelerator.backward(unet(light_encoder(batch)).sample.sum())
        optimizer.step()
    validate(light_encoder, unet, None)
