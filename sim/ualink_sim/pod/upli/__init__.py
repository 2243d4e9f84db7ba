"""A pod without links: requesters and responders in RTL, at the UPLI streams of a switch core."""
