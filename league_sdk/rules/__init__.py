"""Game rules: pure functions behind one interface (004 3.7, 3.8). A game is one module here."""
