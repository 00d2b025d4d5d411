"""The windy cliff of Clements et al. 2019, section 3.1, and what is known exactly about it."""
