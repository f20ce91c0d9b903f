//! Conversations that the API refuses on every turn: class C.

use anyhow::Result;
use transcript::Class::{C1, C2, C5};

use super::{Case, without};
use crate::base::Base;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::rows("lost-tool-result", &[C1], "a tool's result never reached the disk", |b| {
            let row = b.result(5)?;
            b.drop_rows(&[row]);
            Ok(())
        }),
        Case::rows("lost-tool-call", &[C2], "a tool's call never reached the disk", |b| {
            let row = b.call(5)?;
            b.drop_rows(&[row]);
            Ok(())
        }),
        Case::rows("killed-in-a-tool", &[C1], "killed while a tool ran", |b| b.until(b.call(5)?))
            .asks(0..6)
            .replies(0..5),
        Case::rows("empty-ask", &[C5], "an empty user text, which the API refuses on every turn", empty_ask)
            .asks(without(&[4])),
    ]
}

fn empty_ask(base: &mut Base) -> Result<()> {
    let ask = base.ask(4)?;
    base[ask]["message"]["content"] = "".into();
    Ok(())
}
