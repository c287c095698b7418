"""Does kept mean recalled: graded answers of a live model, held against what requests still held."""

from evidence.recall.predicted import predict, read_questions

__all__ = ["predict", "read_questions"]
