//! A transcript as rows that can be edited, found by what they say, so that cases hold on every version.

use std::ops::{Index, IndexMut};

use anyhow::{Context, Result};
use serde_json::Value;

/// A parent that no file has.
pub const GHOST: &str = "deadbeef-0000-4000-8000-000000000000";

/// A handle to one row; it stays the same row whatever is inserted or dropped around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row(usize);

/// The rows of a conversation the agent itself wrote, to be damaged.
#[derive(Debug, Clone, Default)]
pub struct Base {
    made: Vec<Value>,
    order: Vec<Row>,
}

impl Index<Row> for Base {
    type Output = Value;
    fn index(&self, row: Row) -> &Value {
        &self.made[row.0]
    }
}

impl IndexMut<Row> for Base {
    fn index_mut(&mut self, row: Row) -> &mut Value {
        &mut self.made[row.0]
    }
}

impl Base {
    /// Reads a transcript's bytes and gives every row the session's id.
    pub fn read(bytes: &[u8], session: &str) -> Result<Base> {
        let mut base = Base::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let mut value: Value =
                serde_json::from_slice(line).context("the agent wrote a row that is none")?;
            if value.get("sessionId").is_some() {
                value["sessionId"] = session.into();
            }
            base.push(value);
        }
        Ok(base)
    }

    /// Moves every row to yesterday, ten seconds behind the one before it. Newer agents bridge a missing parent to a row
    /// at most five seconds older (2.1.100, 2.1.325): a conversation held by a script in seconds would hide damage that
    /// costs a person the whole history.
    pub fn spread_out(mut self) -> Result<Base> {
        for (number, row) in (0..).zip(self.order.clone()) {
            if let Some(time) = self[row]["timestamp"].as_str() {
                let time: jiff::Timestamp = time.parse()?;
                let yesterday = time - jiff::SignedDuration::from_hours(24);
                self[row]["timestamp"] =
                    written(yesterday + jiff::SignedDuration::from_secs(10 * number)).into();
            }
        }
        Ok(self)
    }

    /// Every row, in file order.
    pub fn rows(&self) -> Vec<Row> {
        self.order.clone()
    }

    /// The first row for which `test` holds.
    pub fn find(&self, what: &str, test: impl Fn(&Value) -> bool) -> Result<Row> {
        self.find_from(0, what, test)
    }

    /// The last row for which `test` holds.
    pub fn find_last(&self, what: &str, test: impl Fn(&Value) -> bool) -> Result<Row> {
        let found = self.order.iter().rev().copied().find(|row| test(&self[*row]));
        found.with_context(|| format!("the base conversation has no {what}"))
    }

    fn find_from(&self, start: usize, what: &str, test: impl Fn(&Value) -> bool) -> Result<Row> {
        let found = self.order.iter().skip(start).copied().find(|row| test(&self[*row]));
        found.with_context(|| format!("the base conversation has no {what}"))
    }

    /// The user's row of a turn.
    pub fn ask(&self, turn: u8) -> Result<Row> {
        let word = format!("ask-{turn:02}");
        self.find(&word, |row| row["type"] == "user" && row["message"]["content"].to_string().contains(&word))
    }

    /// The agent's row of a turn.
    pub fn reply(&self, turn: u8) -> Result<Row> {
        let word = format!("reply-{turn:02}");
        self.find(&word, |row| {
            row["type"] == "assistant" && row["message"]["content"].to_string().contains(&word)
        })
    }

    /// The row that calls a tool in this turn.
    pub fn call(&self, turn: u8) -> Result<Row> {
        self.tool(turn, "assistant", "tool_use")
    }

    /// The row that holds a tool's result in this turn.
    pub fn result(&self, turn: u8) -> Result<Row> {
        self.tool(turn, "user", "tool_result")
    }

    fn tool(&self, turn: u8, role: &str, kind: &str) -> Result<Row> {
        let start = self.at(self.ask(turn)?)?;
        self.find_from(start, kind, |row| row["type"] == role && has_block(row, kind))
    }

    /// Where a row stands in the file.
    pub fn at(&self, row: Row) -> Result<usize> {
        self.order.iter().position(|other| *other == row).context("the row was dropped")
    }

    /// The row's own uuid.
    pub fn uuid(&self, row: Row) -> Value {
        self[row]["uuid"].clone()
    }

    /// A copy of a row with a uuid of its own; it is nowhere in the file yet.
    pub fn twin(&mut self, row: Row) -> Row {
        let mut copy = self[row].clone();
        copy["uuid"] = uuid::Uuid::new_v4().to_string().into();
        self.make(copy)
    }

    /// A row of any value; it is nowhere in the file yet.
    pub fn make(&mut self, value: Value) -> Row {
        self.made.push(value);
        Row(self.made.len() - 1)
    }

    /// Puts a value at the end as a row.
    pub fn push(&mut self, value: Value) -> Row {
        let row = self.make(value);
        self.order.push(row);
        row
    }

    /// Puts rows at the end.
    pub fn append(&mut self, rows: &[Row]) {
        self.order.extend(rows);
    }

    /// Puts rows before another.
    pub fn insert_before(&mut self, row: Row, new: &[Row]) -> Result<()> {
        let at = self.at(row)?;
        self.order.splice(at..at, new.iter().copied());
        Ok(())
    }

    /// Puts rows behind another.
    pub fn insert_after(&mut self, row: Row, new: &[Row]) -> Result<()> {
        let at = self.at(row)? + 1;
        self.order.splice(at..at, new.iter().copied());
        Ok(())
    }

    /// Puts rows into the chain between a row and its parent, and into the file before it.
    pub fn link_before(&mut self, child: Row, new: &[Row]) -> Result<()> {
        let mut parent = self[child]["parentUuid"].clone();
        for row in new {
            self[*row]["parentUuid"] = parent;
            parent = self.uuid(*row);
        }
        self[child]["parentUuid"] = parent;
        self.insert_before(child, new)
    }

    /// Takes a row out of the file and the chain: its children hang on its parent.
    pub fn unlink(&mut self, row: Row) -> Result<()> {
        let (uuid, parent) = (self.uuid(row), self[row]["parentUuid"].clone());
        for child in self.rows() {
            if self[child]["parentUuid"] == uuid {
                self[child]["parentUuid"] = parent.clone();
            }
        }
        self.drop_rows(&[row]);
        Ok(())
    }

    /// Takes rows out.
    pub fn drop_rows(&mut self, rows: &[Row]) {
        self.order.retain(|row| !rows.contains(row));
    }

    /// Keeps the rows for which `test` holds.
    pub fn keep(&mut self, test: impl Fn(&Value) -> bool) {
        let made = &self.made;
        self.order.retain(|row| test(&made[row.0]));
    }

    /// Cuts everything behind a row.
    pub fn until(&mut self, row: Row) -> Result<()> {
        let at = self.at(row)?;
        self.order.truncate(at + 1);
        Ok(())
    }

    /// The newest time in the file plus so many seconds, as the agent writes it.
    pub fn later(&self, seconds: i64) -> Result<String> {
        let times = self.order.iter().filter_map(|row| self[*row]["timestamp"].as_str());
        let newest: jiff::Timestamp = times.max().context("no row has a time")?.parse()?;
        Ok(written(newest + jiff::SignedDuration::from_secs(seconds)))
    }

    /// A row's line, without its end.
    pub fn line(&self, row: Row) -> Vec<u8> {
        self[row].to_string().into_bytes()
    }

    /// The lines of some rows, as a file has them.
    pub fn lines(&self, rows: &[Row]) -> Vec<u8> {
        rows.iter().flat_map(|row| [self.line(*row), b"\n".to_vec()].concat()).collect()
    }

    /// The whole file.
    pub fn bytes(&self) -> Vec<u8> {
        self.lines(&self.order)
    }

    /// The file before a row, and the file after it.
    pub fn around(&self, row: Row) -> Result<(Vec<u8>, Vec<u8>)> {
        let at = self.at(row)?;
        Ok((self.lines(&self.order[..at]), self.lines(&self.order[at + 1..])))
    }
}

/// A time as the agent writes it.
fn written(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Whether a row's message has a block of this type.
pub fn has_block(row: &Value, kind: &str) -> bool {
    row["message"]["content"]
        .as_array()
        .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
}
