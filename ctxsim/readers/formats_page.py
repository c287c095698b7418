"""The page that `ctxsim list formats --format md` prints, from each reader's title, versions and documentation."""

from ctxsim.readers.reader import documentation, registered_formats

INTRODUCTION = """# Transcript formats

Each line has the format's documentation, its name in ctxsim, and the versions that ctxsim reads. `ctxsim list formats
NAME` also says which parts of a format are read and which aren't.

"""


def markdown() -> str:
    """Return the page: one line per format."""
    lines = []
    for name, reader in registered_formats().items():
        # Our own format is documented on the page about logs.
        address = documentation(reader)
        documented = f"formats.md{address}" if address.startswith("#") else address
        line = f"- [{reader.TITLE}]({documented}), `{name}`: {reader.VERSIONS}"
        lines.append(" ".join(line.split()))
    return INTRODUCTION + "\n".join(lines) + "\n"
