"""Is it right, and how fast: verification against an oracle, and paired timing."""
