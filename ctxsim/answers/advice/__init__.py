"""Advice: which policy to take, what it saves and loses, and how sure that is."""
