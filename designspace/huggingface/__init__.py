"""Import of a Hugging Face config.json: an explicit table per model_type, every key read, derived or reported."""

from designspace.huggingface.importer import Imported as Imported
from designspace.huggingface.importer import import_config as import_config
