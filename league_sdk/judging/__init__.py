"""The referee: one match as a function, and the worker that runs many of them.

No database and no Django: it speaks only the protocol, on any machine.
"""
