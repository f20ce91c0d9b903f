//! Counts how often rows are looked at, in tests only: a file must cost a constant number of looks for each of its rows,
//! whatever its shape. A clock cannot tell that on a busy machine.

#[cfg(test)]
thread_local! {
    static VISITS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Notes that so many rows were looked at. Costs nothing outside of tests.
#[inline(always)]
pub(crate) fn visit(rows: usize) {
    #[cfg(test)]
    VISITS.with(|visits| visits.set(visits.get() + rows as u64));
    #[cfg(not(test))]
    let _ = rows;
}

/// How many rows `work` looks at.
#[cfg(test)]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = VISITS.get();
    let result = work();
    (result, VISITS.get() - before)
}

#[cfg(test)]
#[path = "visits/tests.rs"]
mod tests;
