"""SHA-256 of the bundled vocabularies: what they come to takes a third of a second to find out again, at each run."""

from __future__ import annotations

import hashlib
from importlib.metadata import version

from ctxsim.counting.tokenizers.ranks import rank_file

STORED_FOR = "0.22.0"
"""The version of the splintr-rs wheel that holds these vocabularies."""

STORED = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "llama3": "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
    "llama2": "d066fc6a23f4b5f9af8522799fcbc7924253ee79fb079a60394898447025237f",
    "codellama": "3cabddbe45634d3dfa5de1ac2b0d3e4f8c5ee186f79702806e2c9221700e6285",
    "qwen3": "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
    "deepseek_v3": "ea361439831165203088c236a65f20163f58a68d735b51593dfe1068a23920b2",
    "mistral_v1": "82023e8595f8f1e845a16f8ee68d50a9c943ea5578d9b0ebfdd3456cfa8d4024",
    "mistral_v2": "6cbd1625309d720bf65ac6634ce5676e6c7bca21995e7ff2326edc62b452f943",
    "mistral_v3": "c1b58cd4b5c4c45fb7fb585916b61b703ab5e864878ed02e2b61b14997d56936",
    "kimi_k2": "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
    "glm4": "5a493598071550244b2ee7f26118f3edec2150b9dfa967929a99052ac83fe716",
    "phi4": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "olmo2": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "gemma2": "f1c06ff0fb1afb50164d249a290a86190e2448cb5f18296090c202b845f0ebee",
    "gemma3": "a941eec12850cb7ae0f7bdaf433faeee46ca74830e4e8230bb048f3ce2e322f1",
    "modernbert": "685663b4c9e7fc91ef24b5d9145288deb1d5e2559041b8596d176b5ffeb1f418",
    "whisper_v3": "f8ce6dba8329323e26218dc08e4b79a44f425420bb580dbab9784ce0f47f123e",
}


def vocabulary_sha256(name: str) -> str:
    """Return the hash of a bundled vocabulary's rank file: as stored, or computed where the wheel is another one."""
    if version("splintr-rs") == STORED_FOR:
        return STORED[name]
    return hashlib.sha256(rank_file(name)).hexdigest()
