"""Forecasts of the next sessions, from random draws of the sessions seen."""
