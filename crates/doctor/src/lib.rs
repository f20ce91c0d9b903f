//! Acts on a repair plan: owner, copy, swap, late rows, undo.
