"""One file per model_type; the file name is the model_type and the attribute is `importer`."""
