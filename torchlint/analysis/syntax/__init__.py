"""Trees: LibCST nodes, how they are made, walked over, and where they stand."""
