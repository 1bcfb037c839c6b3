"""The language server: ``torchlint server`` speaks the Language Server Protocol over standard input and output.

The protocol runs on a thread of its own (``language_server``, ``features``), and everything that lints runs on the main
thread (``worker``, ``checker``, ``folder``), where time limits can interrupt it. The two share nothing but documents,
which are replaced and never changed, and futures.
"""
