"""Events: every kind in one table (``registry``), and the state of a league after a number of events (``history``)."""
