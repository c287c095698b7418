"""Sources of transcripts: files, compressed or not, archives, databases, standard input; read within limits."""

from ctxsim.readers.source.sample import Sample
from ctxsim.readers.source.source import Record, Source
from ctxsim.readers.source.values import compact_json, convert, convert_all, decoded, has, json_file, time_s, under

__all__ = [
    "Record", "Sample", "Source", "compact_json", "convert", "convert_all", "decoded", "has", "json_file", "time_s",
    "under",
]  # fmt: skip
