"""Published mixers, one file each: `get(name)` imports one of them, `names()` none."""

from designspace.entry import Entry as Entry
from designspace.entry import get as get
from designspace.entry import names as names
from designspace.entry import outside_names as outside_names
