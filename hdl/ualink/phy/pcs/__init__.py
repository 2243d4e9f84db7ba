"""The 64B/66B PCS of boards, between reconciliation sublayer and the words of 1, 2 or 4 lanes (UALink_200 §7.3)."""
