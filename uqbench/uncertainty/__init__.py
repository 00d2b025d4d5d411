"""What is asked of agents about their uncertainty, the truth about it, and the scores."""
