"""phi3_v: phi3 with an image processor in front. Source: modeling_phi3_v of microsoft/Phi-3-vision-128k-instruct."""

from designspace.huggingface.importer import Importer
from designspace.huggingface.model_types.phi3 import importer as phi3

importer = Importer(
    phi3.stack,
    ignores={**phi3.ignores, "img_processor": "of the image part", "embd_layer": "of the embedding of images"},
)
