"""The decision between one reward and an endless chain of them (O'Donoghue et al. 2018, 3.2)."""
