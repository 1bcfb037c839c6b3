"""Notebooks: their Python cells as one module, findings as places in cells, and changed cells written back.

Standard library only. The engine knows nothing of notebooks: it lints the module of a
:class:`~torchlint.notebook.book.Book`.
"""
