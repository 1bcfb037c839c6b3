"""The static half of the runtime companion: decides what a run should observe, and evaluates its evidence."""
