"""LibCST nodes made from :mod:`ast`, without layout, and of function bodies only when somebody looks.

LibCST's parser spends nearly all of its time on whitespace, commas and parentheses, which no rule reads.
CPython's own parser is some ten times faster. The nodes made here are of LibCST's classes and hold what
carries meaning; fields of layout are not set.
"""
