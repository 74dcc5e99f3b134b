"""The jobs at a terminal: ``parser`` holds the commands and options, ``commands`` what each command does.

``options`` turns what was typed into plans, ``jobs`` carries one out, ``progress`` is its bar, ``views`` are the
tables that are printed.
"""
