"""The graph's nodes, one a file.

Each can be run again after a crash: it finds what was stored by its name, and does only the rest.
"""
