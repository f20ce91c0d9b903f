//! As much of HTTP/1.1 as the agents speak: requests with a length or in chunks, JSON back, or a stream until close.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// More than any limit under test, so that a body over the limit is refused in words and not by a closed socket.
const LARGEST_BODY: usize = 512 << 20;

pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

#[derive(PartialEq, Eq)]
pub(super) enum Connection {
    Keep,
    Close,
}

/// Reads the next request; `None` when the client is done with the connection.
pub(super) fn read(reader: &mut impl BufRead, out: &mut TcpStream) -> Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { bail!("no request line: {line:?}") };
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match (name.to_ascii_lowercase().as_str(), value.trim()) {
            ("content-length", value) => length = value.parse().context("content-length is no number")?,
            ("transfer-encoding", value) => chunked = value.eq_ignore_ascii_case("chunked"),
            ("expect", _) => out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let body = if chunked { read_chunks(reader)? } else { read_exactly(reader, length)? };
    Ok(Some(Request { method, path, body }))
}

fn read_exactly(reader: &mut impl BufRead, length: usize) -> Result<Vec<u8>> {
    if length > LARGEST_BODY {
        bail!("a body of {length} bytes");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).context("chunk length is no number")?;
        if body.len() + length > LARGEST_BODY {
            bail!("a body of more than {LARGEST_BODY} bytes");
        }
        reader.take(length as u64).read_to_end(&mut body)?;
        line.clear();
        reader.read_line(&mut line)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Answers with one JSON value and keeps the connection.
pub(super) fn json(out: &mut TcpStream, status: u16, body: &Value) -> Result<Connection> {
    let text = body.to_string();
    let reason = if status == 200 { "OK" } else { "Refused" };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    out.write_all(head.as_bytes())?;
    out.write_all(text.as_bytes())?;
    Ok(Connection::Keep)
}

/// Begins a stream of events that ends with the connection.
pub(super) fn begin_stream(out: &mut TcpStream) -> Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    Ok(())
}
