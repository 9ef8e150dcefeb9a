"""One attempt at one match, from the invitation to GAME_OVER: no network, clock or file but what is passed in."""
