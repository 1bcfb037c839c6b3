"""LibCST nodes made from :mod:`ast` trees, without layout, and with function bodies made lazily.

LibCST's parser spends nearly all of its time on whitespace, commas and parentheses, which no rule reads. CPython's
parser is some ten times faster. The nodes made here are instances of LibCST's classes with their semantic fields;
fields for layout are not set.
"""
