"""Action items in e-mail (Bennett's dissertation, chapter 10)."""
