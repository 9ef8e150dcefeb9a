"""Game rules: pure functions behind one interface (ruling, section 7). A game is one module here."""
