"""One module a page, each with ``show``, which reads like a description of what the person sees.

``operations`` and ``training`` measure; ``article`` replays the article; ``history``, ``compare`` and ``recorded`` look
at runs that are over; ``machine`` tells what is here and tries the accelerator.
"""
