use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use crate::guard::guard;

/// A thread that takes requests as they come, so that those which wait can be served together.
pub(crate) struct Batcher<T> {
    name: &'static str,
    serve: fn(&mut VecDeque<T>),
    open: Mutex<Option<Sender<T>>>,
}

impl<T: Send + 'static> Batcher<T> {
    /// A batcher whose `serve` takes at least one of the waiting requests, which are never none.
    pub(crate) const fn new(name: &'static str, serve: fn(&mut VecDeque<T>)) -> Batcher<T> {
        Batcher { name, serve, open: Mutex::new(None) }
    }

    /// Queues a request. The thread starts with the first one.
    pub(crate) fn ask(&self, request: T) -> napi::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |why: &str| napi::Error::from_reason(format!("cannot start a thread: {why}"));
        if let Some(sender) = &*open {
            return sender.send(request).map_err(|_| failed("it ended"));
        }
        let (sender, receiver) = channel();
        let serve = self.serve;
        std::thread::Builder::new()
            .name(self.name.to_owned())
            .spawn(move || attend(&receiver, serve))
            .map_err(|error| failed(&error.to_string()))?;
        sender.send(request).map_err(|_| failed("it ended"))?;
        *open = Some(sender);
        Ok(())
    }
}

fn attend<T>(requests: &Receiver<T>, serve: fn(&mut VecDeque<T>)) {
    let mut waiting = VecDeque::new();
    while let Ok(request) = requests.recv() {
        waiting.push_back(request);
        while !waiting.is_empty() {
            waiting.extend(requests.try_iter());
            // `serve` guards its own work, to tell who asked; this keeps the batcher open for the others.
            let _ = guard(|| serve(&mut waiting));
        }
    }
}
