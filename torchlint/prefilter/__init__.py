"""Which files and functions a rule has to look at, told from text before anything is parsed.

Rules do not write text patterns: what they declare in :mod:`torchlint.on` says which identifiers a file must hold.
Everything here errs on one side: what is left out can certainly make no rule fire.
"""
