//! The mirror of conversations.
