"""Does a device compute the right thing? Float64 on the CPU is the judge, of every element of an answer.

``judge`` looks at one answer: ``whole`` compares it element by element, ``mixtures`` a large product or convolution by
random mixtures of its rows and columns; ``population`` tells rounding from faults, ``limits`` what rounding may be, and
``places`` where a fault lies. ``case`` looks after the answers of one case, timed ones included; ``steps`` after those
of a network.
"""
