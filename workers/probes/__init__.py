"""The probes, one file each; `designspace.units.discover("workers.probes", "probe", Probe)` lists them."""
