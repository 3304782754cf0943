"""The formats before GGUF, and the programs that share their magic."""
