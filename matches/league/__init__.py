"""WRITES: every change of league state, by subject.

lifecycle   create, close registration, start, pause, resume, stop
entry       which league a registration belongs to
play        one match between the league and its referee: assign, accept, progress, lose, hold
results     a result counts, once; a round closes, a league ends
outbox      broadcasts: queue, settle, drop
demo        the league that plays itself
effects     what a change sets off after commit; events
"""
