"""The formats, one file each. A format of several files is a package with the reader in its `__init__`; a package of
several formats (OpenHands) has a file for each and an `__init__` without code.
"""
