"""Material of the course that is code: what is broken on purpose, to be repaired in a lesson."""
