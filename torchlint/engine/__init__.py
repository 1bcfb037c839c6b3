"""Follows a project from its programs through one normal run, and says what its steps do on the device.

The functions of a project are evaluated on abstract values, once for each kind of arguments. What they do that concerns
the device (reads, copies, calls of ``backward``) is kept with the loops and guards around it; how often each happens is
solved afterwards on the graph of calls. See docs/design.md, "The engine".
"""
