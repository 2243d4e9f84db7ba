"""What is collected here."""

import os

collect_ignore = [] if os.environ.get("UALINK_SOAK") else ["test_pair_whole.py"]
"""Long campaigns of which CI has no slice."""
