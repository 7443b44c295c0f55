"""The built-in tools. A tool is a pair: `read_file.py` is the code, `read_file.md` the words the model reads."""
