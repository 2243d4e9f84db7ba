"""Link up and down as the transaction layer sees them: Drop Mode, the gate, what is left over."""
