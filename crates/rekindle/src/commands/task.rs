use super::name::{Words, give, given};
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Say what a conversation is about
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle task shop \"mend the rounding of the cart\"\n  rekindle task shop --clear"
)]
pub(crate) struct Args {
    #[command(flatten)]
    words: Words,
}

/// A task is a sentence; more is a note.
const LONGEST: usize = 200;

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let task = given(&args.words, LONGEST)?;
    give(context, &args.words, "task", |record| {
        record.given.task.clone_from(&task);
        record.task = None;
    })
}
