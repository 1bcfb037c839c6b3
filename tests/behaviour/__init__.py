"""Fixes are executed: programs before and after, and what a run of each can be seen to do."""
