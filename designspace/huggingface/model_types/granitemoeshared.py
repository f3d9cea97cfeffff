"""granitemoeshared: granitemoe with an expert that always acts. Source: transformers 5.24, granitemoeshared."""

from designspace.huggingface.importer import Importer
from designspace.huggingface.model_types.granite import IGNORES
from designspace.huggingface.model_types.granite import importer as granite

importer = Importer(granite.stack, ignores={**IGNORES, "shared_intermediate_size": "routing of the channel mixer"})
