"""Does a device compute the right thing? Float64 on the CPU is the judge, of every element of an answer.

``judge`` looks at one answer: element by element where float64 can afford that, by a sample and an estimate, or (in
``mixtures``) by random sums of rows and columns. ``question`` is what was asked, with the exact answer; ``population``
tells rounding from faults, ``limits`` what rounding may be, ``places`` where a fault lies. ``case`` looks after the
answers of one case, timed ones included; ``steps`` and ``gradients`` after a network.
"""
