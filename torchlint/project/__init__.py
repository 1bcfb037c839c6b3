"""Facts about the files of one run, merged into a project that other files query by dotted name.

A fact describes something that other files may use: functions that set backend flags, functions that return a device,
whether anything is seeded. Facts are plain JSON, so that they can be cached and sent to
other processes, and merging them does not depend on order.

Each file queries the project through a :class:`ProjectView`, which records queries and results: the findings of the
file stay valid as long as these results stay the same.
"""
