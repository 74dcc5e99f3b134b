"""What pages are made of.

``entry`` begins a page and ``session`` holds what outlives it (runner, store); ``controls``, ``sweep_controls`` and
``training_controls`` turn choices into plans, ``presets`` and ``preset_buttons`` fill them in; ``live`` shows a run in
progress; ``run_view`` one that is over, by ``sweep_view`` with ``sweep_tabs``, ``training_view`` or ``article_view``,
of ``tables``, ``chart_cache``, ``explore`` and ``downloads`` with ``report``; ``notices`` tells what to know before
believing; ``plain`` makes words from files harmless; ``language`` asks for the reader's.
"""
