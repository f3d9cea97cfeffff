"""One output format per file: each renders reports as text."""
