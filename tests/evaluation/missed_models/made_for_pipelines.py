# A pipeline reads the attributes of the models that it is created from: it needs the bare ones.
from accelerate import Accelerator
from diffusers import DiffusionPipeline, StableDiffusionPipeline, UNet2DConditionModel
from elsewhere import OtherThing, make_optimizer, make_scheduler, make_vae


def validate(args):
    accelerator = Accelerator()
    unet = UNet2DConditionModel.from_pretrained("x")
    vae = make_vae()
    before = DiffusionPipeline.from_pretrained("x", unet=unet)
    unet, vae, optimizer = accelerator.prepare(unet, vae, make_optimizer())
    DiffusionPipeline.from_pretrained("x", unet=unet)  # expect: TRL002
    DiffusionPipeline.from_pretrained("x", unet=accelerator.unwrap_model(unet))
    StableDiffusionPipeline(vae=vae, scheduler=make_scheduler())  # expect: TRL002
    StableDiffusionPipeline(vae=vae.module, unet=before.unet)
    if hasattr(unet, "module"):
        DiffusionPipeline.from_pretrained("x", unet=unet.module)
    unet = accelerator.unwrap_model(unet)
    DiffusionPipeline.from_pretrained("x", unet=unet)
    OtherThing.from_pretrained("x", unet=vae)
