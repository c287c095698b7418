"""Does kept mean recalled? Compares graded answers of a live model with what its requests still held."""

from evidence.recall.predicted import predict, read_questions

__all__ = ["predict", "read_questions"]
