"""Files of `sextant demo`: a real config.json, a sound and an unsound spec, and two space files."""
