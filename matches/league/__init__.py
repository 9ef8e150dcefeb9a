"""WRITES: every change of league state, by subject.

opening     create, edit, close registration and make the schedule
lifecycle   start, pause, resume, stop
planned     a start at a time chosen beforehand
entry       which league a registration belongs to
refusing    why a league does not take a player
play        one match between the league and its referee: assign, accept, progress, lose, hold
holds       a held match is tried again
reporting   a referee's report is taken
results     a result counts, once
endings     a round closes, a league ends, a table changes after its end
corrections the instructor changes what counts (planned in ``correcting``), and undoes it
curtain     the board is frozen, and unveiled
importing   a league from an export
staffing    who has which role in a league
notices     what the instructor says to everybody
leading     which of several conductors conducts
outbox      broadcasts: queue, settle, drop
demo        the league that plays itself
effects     what a change sets off after commit; events
"""
