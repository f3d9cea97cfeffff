"""docs/rules: a page for each rule, from the rule files and what the checker says of their examples.

python -m tests.references.rules    writes the pages, and removes those of rules that are gone
"""

from pathlib import Path

from checkers.explain import FOLDER
from checkers.pages import write

PATH = Path(__file__).parents[2] / FOLDER

if __name__ == "__main__":
    write(PATH)
