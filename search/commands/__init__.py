"""The subcommands of `sextant`, one file per group; heavy modules are imported inside the functions that need them."""
