"""The figures of docs/findings.md that no single command prints: `python -m evidence.findings.NAME PATH`."""
