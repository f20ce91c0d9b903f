use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does some work; a panic in it becomes a message and never reaches Node.
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Nothing that a panic leaves half done is looked at again: the work owns or rebuilds what it changes.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| format!("rekindle panicked: {}", text(&*payload)))
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message() {
        assert_eq!(guard(|| 7), Ok(7));
        let row = 3;
        assert_eq!(guard(|| panic!("row {row}")), Err::<(), _>("rekindle panicked: row 3".to_owned()));
        assert_eq!(guard(|| panic!("row")), Err::<(), _>("rekindle panicked: row".to_owned()));
        let odd = guard(|| std::panic::panic_any(7));
        assert_eq!(odd, Err::<(), _>("rekindle panicked: no message".to_owned()));
    }
}
