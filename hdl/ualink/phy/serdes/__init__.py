"""SERDES wrappers: one file a transceiver primitive, all with ``SerdesLaneSignature`` towards the PCS."""
