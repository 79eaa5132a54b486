"""Leith, Shorten and McCullagh, "Experimental evaluation of Cubic-TCP" (PFLDnet 2007)."""

TITLE = "Experimental evaluation of Cubic-TCP (Leith, Shorten, McCullagh)"
