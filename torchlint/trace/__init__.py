"""Reads recordings of runs that other tools have made, and says what they show at which lines.

:mod:`.reading` finds out what a file is; :mod:`.kineto`, :mod:`.compile_log` and :mod:`.nsys` read one form each.
"""
