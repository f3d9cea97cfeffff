"""Faulty implementations of sound designs, one file a record of class K; the attribute is `faulty`."""
