//! A loopback stand-in for the model API: enough for a real `claude` to hold a conversation offline.
//!
//! It answers `ask-NN` with `reply-NN` ([`answer`]), refuses what the real API refuses, in its words ([`refuse`]),
//! and remembers every request, so that a test can read what the agent sent.

mod answer;
mod http;
pub mod picture;
pub mod refuse;

use std::fs::File;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

pub use refuse::Limits;

/// One request to the messages endpoint, as the agent sent it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Whether it offered tools: the conversation itself, not a title or a summary on the side.
    pub main: bool,
    /// Why it was refused, in the API's words; empty where it was answered.
    pub refused: Vec<String>,
    /// The model that was asked for.
    pub model: String,
    /// The `system` prompt as JSON text.
    pub system: String,
    /// The `messages` as JSON text; the whole body where that was no JSON.
    pub messages: String,
}

/// How the API behaves beyond its script.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What it refuses by size.
    pub limits: Limits,
    /// The pause before every few characters of an answer to a `SLOW` prompt.
    pub slow: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        // Two seconds per eight characters: an answer lasts long enough to be killed in the middle by a person, too.
        Settings { limits: Limits::default(), slow: Duration::from_secs(2) }
    }
}

/// A running API on a free port of the loopback interface; it ends when dropped.
#[derive(Debug)]
pub struct Api {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    requests: Mutex<Vec<Request>>,
    log: Mutex<File>,
    stopped: AtomicBool,
}

impl Api {
    /// Starts an API that appends every request to `log` as one JSON line.
    pub fn start(log: &Path, settings: Settings) -> Result<Api> {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).context("no free port on the loopback interface")?;
        let address = listener.local_addr()?;
        let log =
            File::options().create(true).append(true).open(log).context("the API's log cannot be opened")?;
        let shared = Arc::new(Shared {
            settings,
            requests: Mutex::default(),
            log: Mutex::new(log),
            stopped: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &serving));
        Ok(Api { address, shared })
    }

    /// What `ANTHROPIC_BASE_URL` must be.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far whose messages contain `needle`.
    pub fn requests_with(&self, needle: &str) -> Vec<Request> {
        let requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.iter().filter(|r| r.messages.contains(needle)).cloned().collect()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // The accepting thread waits in the kernel: one connection wakes it up to see the flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // An agent that is killed in the middle of an answer breaks its connection; that is its right.
        std::thread::spawn(move || drop(serve(stream, &shared)));
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    while let Some(request) = http::read(&mut reader, &mut out)? {
        let stay = respond(&request, &mut out, shared)?;
        if stay == http::Connection::Close {
            break;
        }
    }
    Ok(())
}

fn respond(request: &http::Request, out: &mut TcpStream, shared: &Shared) -> Result<http::Connection> {
    if request.method != "POST" || !request.path.contains("/v1/messages") {
        return http::json(out, 200, &json!({}));
    }
    if request.path.contains("count_tokens") {
        return http::json(out, 200, &json!({"input_tokens": 1000}));
    }
    let parsed = serde_json::from_slice::<Value>(&request.body);
    let refused = refuse::refusals(&request.body, &parsed, shared.settings.limits);
    remember(request, parsed.as_ref().ok(), &refused, shared)?;
    if let Some(first) = refused.first() {
        let error = json!({"type": "error", "error": {"type": first.kind, "message": first.words}});
        return http::json(out, first.status, &error);
    }
    answer::answer(&parsed?, out, shared.settings.slow)
}

fn remember(
    request: &http::Request,
    parsed: Option<&Value>,
    refused: &[refuse::Refusal],
    shared: &Shared,
) -> Result<()> {
    let main = match parsed {
        Some(body) => body["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
        None => memory_contains(&request.body, br#""tools":[{"#),
    };
    let messages = match parsed {
        Some(body) => body["messages"].to_string(),
        None => String::from_utf8_lossy(&request.body).into_owned(),
    };
    let model = parsed.and_then(|body| body["model"].as_str()).unwrap_or_default().to_owned();
    let system = parsed.map(|body| body["system"].to_string()).unwrap_or_default();
    let refused: Vec<String> = refused.iter().map(|r| r.words.clone()).collect();
    let line = json!({
        "at": jiff::Timestamp::now().to_string(),
        "main": main,
        "refused": refused,
        "messages": parsed.map(|body| &body["messages"]),
    });
    let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(log, "{line}")?;
    let mut requests = shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
    requests.push(Request { main, refused, model, system, messages });
    Ok(())
}

fn memory_contains(body: &[u8], needle: &[u8]) -> bool {
    body.windows(needle.len()).any(|window| window == needle)
}
