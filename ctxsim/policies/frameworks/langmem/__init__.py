"""LangMem."""
