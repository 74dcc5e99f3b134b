"""Benchmarking PyTorch on CPU, Apple MPS and other accelerators.

Floors, the lowest first; a floor imports only from those above it in this list::

    stats      estimates, intervals, speed-ups, fits, crossovers: numbers in, numbers out
    records    what a run is: case, measurement, failure, run, reason: immutable values
    machine    where it runs: devices, memory, energy, chip, environment, the program's folder
    workloads  what can be measured: operations, networks, inputs, data sets, the article's figures
    analysis   what follows from a run: fits, verdicts, caveats, comparisons: values, not sentences
    measure    how it is measured: clock, gate, sweep, training, verification, the runner, the doctor's checks
    storage    where runs lie: database, recorder, reading and writing files, recorded runs
    text       the only place with words for people: units, names, a sentence for every kind of reason, languages
    cli        the jobs at a terminal
    ui         the page: the only floor that imports streamlit or plotly

``cli`` and ``ui`` know nothing of each other. Nothing imports torch when it is imported except ``machine.devices`` and
what builds on it: the page paints before torch is there, and only the runner's thread brings it in.
"""
