"""Tests; a package so that `tests.strategies` can be imported."""
