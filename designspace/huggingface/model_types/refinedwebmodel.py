"""RefinedWebModel: the name that falcon-7b and the rw models first had on the hub; one key/value head if multi_query.

Source: its modeling_RW, which is falcon before the new decoder architecture.
"""

from designspace.huggingface.model_types.falcon import importer as importer
