"""Static rules over candidates, and the report they make."""

from checkers.check import check as check
from checkers.finding import Finding as Finding
from checkers.finding import Report as Report
from checkers.finding import Verdict as Verdict
from checkers.rule import Rule as Rule
from checkers.rule import all_rules as all_rules
from checkers.settings import Settings as Settings
