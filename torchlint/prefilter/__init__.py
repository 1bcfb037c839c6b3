"""Prefilters: decide from text, before parsing, which files and functions a rule must look at.

Rules do not write text patterns: their declarations in :mod:`torchlint.on` imply which identifiers a file must contain.
Prefilters are conservative: no rule can find anything in what they reject.
"""
