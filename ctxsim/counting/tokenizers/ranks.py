"""The ranks of a bundled vocabulary as the file that other engines load: `base64(token) rank`, one per line."""

from base64 import b64encode

import splintr


def rank_file(name: str) -> bytes:
    """Return the rank file of a splintr vocabulary, special tokens left out.

    For o200k_base and cl100k_base its SHA-256 is the one that tiktoken expects of its download
    (openai/tiktoken, tiktoken_ext/openai_public.py), which is how the copy is known to be exact.
    """
    engine = splintr.Tokenizer.from_pretrained(name)
    special = set(engine.special_tokens().values())
    lines = []
    for rank in range(engine.vocab_size):
        if rank in special:
            continue
        try:
            token = engine.decode_token_bytes(rank)
        except ValueError:  # ids that the vocabulary skips
            continue
        lines.append(b"%s %d\n" % (b64encode(token), rank))
    return b"".join(lines)
