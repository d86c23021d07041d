"""What makes, measures and checks the project; nothing of it is installed."""
