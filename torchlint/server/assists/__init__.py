"""What the client is offered for a place or a document."""
