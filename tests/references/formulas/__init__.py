"""One file per catalogue entry: `formula`, the published mixer from raw projections to outputs, in another form."""
