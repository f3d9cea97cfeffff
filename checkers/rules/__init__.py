"""One rule per file: its documentation, examples, exceptions and logic."""
