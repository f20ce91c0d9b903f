//! Damage to bytes and single rows: class A.

use anyhow::Result;
use transcript::Class::{A1, A2, A3, A4};

use super::{Case, without};
use crate::base::Base;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::bytes("torn-tail", &[A1], "killed in the middle of the last write", torn_tail)
            .replies(without(&[7])),
        Case::bytes("splice", &[A2], "a torn row with the next one glued on", splice).replies(without(&[4])),
        Case::bytes("glued", &[A3], "two rows on one line", glued),
        Case::bytes("nul-run", &[A4], "power loss left a run of NUL bytes before a row", nul_run),
    ]
}

fn torn_tail(base: &mut Base) -> Result<Vec<u8>> {
    let last = base.reply(7)?;
    let (before, _) = base.around(last)?;
    Ok([before.as_slice(), &base.line(last)[..120]].concat())
}

fn nul_run(base: &mut Base) -> Result<Vec<u8>> {
    let row = base.ask(5)?;
    let (before, after) = base.around(row)?;
    Ok([before, vec![0; 4096], base.line(row), b"\n".to_vec(), after].concat())
}

/// A torn write and the next append on one line: the first row is gone, the second must live.
fn splice(base: &mut Base) -> Result<Vec<u8>> {
    let lost = base.reply(4)?;
    let (before, after) = base.around(lost)?;
    Ok([before.as_slice(), &base.line(lost)[..150], &after].concat())
}

fn glued(base: &mut Base) -> Result<Vec<u8>> {
    let row = base.reply(4)?;
    let (before, after) = base.around(row)?;
    Ok([before, base.line(row), after].concat())
}
