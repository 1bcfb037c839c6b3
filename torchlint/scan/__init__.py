"""Lints more code than one machine holds: data sets of files, folders of repositories and of archives, on Ray Data.

The only importer of Ray and Arrow, the packages of the extra ``torchlint[scan]``.
"""
