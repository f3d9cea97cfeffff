"""Independent references for the catalogue: one formula per entry, written from the paper, and golden tensors."""
