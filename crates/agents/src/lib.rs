//! What is true of one kind of agent: its files, its registry, its processes.
