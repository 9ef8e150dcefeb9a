"""Messages that wait for agents that dial out, and the lines on which these fetch them (ruling, section 13)."""
