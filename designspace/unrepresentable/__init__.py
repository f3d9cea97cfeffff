"""Published mixers that are no point of the grammar, one file each: why, and the nearest point."""
