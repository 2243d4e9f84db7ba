"""What is collected here."""

import os

collect_ignore = [] if os.environ.get("UALINK_SOAK") else ["test_upsets_whole.py"]
"""Long campaigns of which CI has a slice."""
