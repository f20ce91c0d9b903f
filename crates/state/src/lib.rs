//! What rekindle remembers, and the only way anything is written.
