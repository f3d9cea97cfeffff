"""The forms of a mixer, one file each; `designspace.units.discover("workers.forms", "form", Form)` lists them."""
