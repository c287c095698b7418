"""The formats, one file each. One of several files is a package with the reader in its `__init__`, which names it; a
package of several formats (OpenHands) has a file for each and an empty `__init__`.
"""
