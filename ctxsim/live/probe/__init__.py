"""Tests whether an agent honours a setting: requests grow around the threshold of its policy until it compacts."""
