"""DL flits: header, segments, CRC, packing and unpacking (UALink_200 §6.3)."""
