//! The laboratory: a loopback API, throwaway homes, the real agent and the real tmux.
