"""What happens in a league: every kind of event in one table (``registry``), and how a league stood after some."""
