"""Which kinds of secrets are not looked for."""

NOT_LOOKED_FOR = "passwords that are words, secrets in prose, in pictures, encrypted or packed, and names of people"
