//! Programs that answer in time, or are ended.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How a program that was given a deadline ended.
#[derive(Debug)]
pub enum Ran {
    /// By itself.
    Done(Output),
    /// It did not answer in time and was killed.
    TooLate,
    /// It could not be started.
    NotStarted(io::Error),
}

/// Runs a program without input and collects what it prints.
pub fn run(command: &mut Command, deadline: Duration) -> Ran {
    collect(command.stdin(Stdio::null()), Vec::new(), deadline)
}

/// Runs a program with this input and collects what it prints.
pub fn run_with(command: &mut Command, input: Vec<u8>, deadline: Duration) -> Ran {
    collect(command.stdin(Stdio::piped()), input, deadline)
}

fn collect(command: &mut Command, input: Vec<u8>, deadline: Duration) -> Ran {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ran::NotStarted(error),
    };
    if let Some(mut pipe) = child.stdin.take() {
        // One that does not read all of its input is fine: the pipe breaks.
        std::thread::spawn(move || pipe.write_all(&input));
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    match told.recv_timeout(deadline) {
        Ok(Ok(output)) => Ran::Done(output),
        Ok(Err(error)) => Ran::NotStarted(error),
        Err(_) => {
            // Not waited for yet, so the id is still its own.
            if let Some(pid) = pid {
                let _ = kill_process(pid, Signal::KILL);
            }
            Ran::TooLate
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_what_is_printed_and_ends_what_hangs() {
        let Ran::Done(output) = run(Command::new("echo").arg("hi"), Duration::from_secs(30)) else {
            panic!()
        };
        assert_eq!(output.stdout, b"hi\n");
        let Ran::Done(output) = run_with(&mut Command::new("cat"), b"x".to_vec(), Duration::from_secs(30))
        else {
            panic!()
        };
        assert_eq!(output.stdout, b"x");
        assert!(matches!(run(Command::new("sleep").arg("600"), Duration::from_millis(20)), Ran::TooLate));
        assert!(matches!(run(&mut Command::new("/nonexistent"), Duration::from_secs(1)), Ran::NotStarted(_)));
    }
}
