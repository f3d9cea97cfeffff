"""An owner process for tests that kill it: python fake_owner.py run|resume STORE"""

import sys
from pathlib import Path

from fabricate import judge, space
from test_run import TRIALS, hands

from search.run import resume_study, run_study

match sys.argv[1:]:
    case ["run", store]:
        run_study(space(budget={"trials": TRIALS}), name="s", store_url=store, hands=hands(Path(store)), judge=judge)
    case ["resume", store]:
        resume_study("s", store_url=store, hands=hands(Path(store)), judge=judge)
