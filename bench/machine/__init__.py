"""What is here, and what it can do: the only floor that asks the machine.

``devices`` runs work and waits for it, ``availability`` says why a device is missing, ``ceilings`` what one can do at
most; ``memory``, ``energy`` and ``load`` read counters, ``environment`` and ``apple`` what a result depends on, and
``home`` names the folder of everything that is written.
"""
