"""Safe fixes are executed: programs are generated for each rule, repaired, and run before and after.

A module of strategies for each topic, one judge, and a command that runs as many programs as wanted:
``python -m tests.differential --rule TL103 --programs 20000``.
"""
