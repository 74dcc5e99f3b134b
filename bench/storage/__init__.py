"""Where runs lie: on disk while they are measured, in files that are taken away, and the recorded ones that come along.

``database`` is the SQLite file, opened, brought up to date and claimed by one process at a time; ``store`` keeps runs
in it, ``head`` is one of them in a list, and ``recorder`` writes what a job publishes. ``writing`` and ``reading`` are
the JSON of a run: version 2 keeps reasons as values, and version 1, which kept sentences, is mended by ``versions``.
``recorded`` are the runs that come with the program.
"""
