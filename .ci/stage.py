"""Copies the stand-in library with its scenario beside it, without the symbols that the scenario lacks.

stage.py LIBRARY SCENARIO.toml COPY.so
"""
import pathlib
import re
import sys

library, scenario, copy = map(pathlib.Path, sys.argv[1:])
code = library.read_bytes()
text = scenario.read_text()
listed = re.search(r"missing_symbols\s*=\s*\[(.*?)\]", text, re.DOTALL)
for symbol in re.findall(r'"(\w+)"', listed.group(1) if listed else ""):
    name = b"\0" + symbol.encode() + b"\0"
    assert name in code, f"the library has no {symbol}"
    code = code.replace(name, b"\0x" + name[2:])
copy.write_bytes(code)
copy.with_suffix(".toml").write_text(text)
