"""Executes safe fixes: generates programs for each rule, fixes them, and runs them before and after.

There is a module of strategies for each topic, one judge, and a command that runs any number of programs: ``python -m
tests.differential --rule TL103 --programs 20000``.
"""
