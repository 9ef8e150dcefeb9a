"""WRITES: every change of league state, by subject.

lifecycle   create, close registration, start, pause, resume, stop
entry       which league a registration belongs to
play        one match between the league and its referee: assign, accept, progress, lose, hold
results     a result counts, once
endings     a round closes, a league ends, a table changes after its end
corrections the instructor changes what counts (planned in ``correcting``), and undoes it
outbox      broadcasts: queue, settle, drop
demo        the league that plays itself
effects     what a change sets off after commit; events
"""
