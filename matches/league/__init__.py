"""WRITES: every change of league state, by subject.

leagues     find a league, move its state, refuse what its state forbids
opening     create, edit, close registration and make the schedule
making      write a long schedule in pieces
lifecycle   start, pause, resume, stop
planned     a start at a time chosen beforehand
entry       register players and referees; add a player by hand
refusing    why a league does not take a player
play        one match between the league and its referee: assign it, extend its lease, release it from hold
progress    take a referee's report of progress (read in ``progress_reading``, seals in ``sealing``)
losses      an attempt is lost by its referee
holds       retry a held match
reporting   take a referee's report of a result (read in ``reports`` and ``fault_reports``)
results     make a result count, once
endings     close a round, end a league, tell the new table after its end
corrections the instructor changes results, and undoes that
freeze      freeze the board, and unveil it
staffing    give and take roles in a league
seasons     archive, clone and delete a league
series      put a league into a series
screens     steer the screens of a league
notices     texts of the instructor to the room or to one student
names       decide about names that look like another's
gateways    mark hosts as gateways
conductors  which conductors are there, and which leagues are whose
outbox      broadcasts: queue, settle, drop
demo        the league that plays itself
audit       the log of who did what
effects     record an event; tell browsers and the conductor after commit
"""
