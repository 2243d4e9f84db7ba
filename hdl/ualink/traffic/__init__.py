"""Traffic engine: asks for memory over UPLI, answers for it, and checks every byte (docs/traffic-engine.md)."""
