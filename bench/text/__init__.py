"""Words for people: the floors below hold figures and reasons as values, and only this one has sentences for them.

``language`` is the reader's, with the catalogs in ``translations``; ``units`` writes numbers, ``names`` what workloads,
devices and cases are called; ``reasons`` holds the English sentence of every kind of reason, and ``tell`` fills it in.
"""
