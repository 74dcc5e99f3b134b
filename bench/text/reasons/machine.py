"""Devices, memory, energy: what is here and what is not."""

MACHINE = {}
