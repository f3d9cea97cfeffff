"""Decides, stores and shows: search, store, leaderboard, service and command line."""
