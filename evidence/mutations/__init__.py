"""Small changes of the code, each tried against the tests of its own room: which ones the tests notice."""
