"""What a capture says of its path and of its algorithm; `docs/captures.md`."""
