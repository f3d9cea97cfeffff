"""The full grammar as a space: its holes, how they are filled, and where they stand in a space file."""
