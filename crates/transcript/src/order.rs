//! The order in which rows were said. It is the file's, but for rows that were written at once.

use std::collections::HashMap;

/// So many rows in file order, but none before its parent: in a new conversation 2.1.31 may write a reply before its prompt
/// (measured). Rows of a ring come last, as they stand.
pub(crate) fn parents_first(rows: usize, parent: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut order = Vec::with_capacity(rows);
    let mut taken = vec![false; rows];
    let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in 0..rows {
        if let Some(parent) = parent(at).filter(|parent| *parent != at && !taken[*parent]) {
            waiting.entry(parent).or_default().push(at);
            continue;
        }
        let mut next = vec![at];
        while let Some(at) = next.pop() {
            taken[at] = true;
            order.push(at);
            next.extend(waiting.remove(&at).unwrap_or_default().into_iter().rev());
        }
    }
    order.extend((0..rows).filter(|at| !taken[*at]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_follow_their_parents_and_everything_else_stays() {
        let check = |parents: &[Option<usize>], expected: &[usize]| {
            assert_eq!(parents_first(parents.len(), |at| parents[at]), expected, "{parents:?}");
        };
        check(&[], &[]);
        check(&[None, Some(0), None, Some(1)], &[0, 1, 2, 3]);
        check(&[Some(3), Some(0), None, Some(2), Some(1)], &[2, 3, 0, 1, 4]);
        check(&[Some(2), Some(2), None], &[2, 0, 1]);
        check(&[Some(0), Some(2), Some(1), None, Some(2)], &[0, 3, 1, 2, 4]);
    }
}
