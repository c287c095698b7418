"""Measurements that docs quote; not part of the test suite."""
