"""One attempt at one match, from the invitation to GAME_OVER: pure but for what is passed in."""
