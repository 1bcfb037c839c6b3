"""The static half of the runtime companion: what a run is to watch, and what its evidence means; without torch."""
