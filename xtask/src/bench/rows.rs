//! Rows as the agent writes them, made up fast and always the same.

use std::fmt::Write as _;

/// A small generator of numbers: the same seed, the same corpus (splitmix64, public domain by S. Vigna).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    pub(super) fn uuid(&mut self) -> String {
        let (a, b) = (self.roll(), self.roll());
        let (high, mid, low) = (a >> 32, (a >> 16) & 0xffff, a & 0xfff);
        format!("{high:08x}-{mid:04x}-4{low:03x}-8{:03x}-{:012x}", b >> 52, b & 0xffff_ffff_ffff)
    }
}

/// Lines of a tool's output and of prose, escaped as they stand in JSON, with what scanners trip over.
const PIECES: [&str; 10] = [
    r#"fn main() {\n    println!(\"hello {}\", name);\n}\n"#,
    r#"error[E0382]: borrow of moved value: `rows`\n  --> src/lib.rs:41:9\n   |\n41 |     drop(rows);\n"#,
    r"Größe geändert: naïve façade — “quoted”, 日本語のテキスト, emoji 🚀 and \u00e9scapes\n",
    r#"{\"type\":\"user\",\"uuid\":\"not-a-row\",\"parentUuid\":null,\"nested\":[1,2,{\"a\":\"}{\"}]}\n"#,
    r"    \tindented\twith\ttabs\\and\\backslashes C:\\Users\\dev\\project\\src\n",
    r"The quick brown fox jumps over the lazy dog, again and again, until the build is green.\n",
    r#"  \"dependencies\": {\n    \"left-pad\": \"^1.3.0\"\n  },\n"#,
    r"2026-11-15T09:21:55.123Z INFO request finished in 12 ms status=200 path=/api/v1/items?limit=50\n",
    r"diff --git a/src/main.rs b/src/main.rs\n@@ -1,4 +1,6 @@\n-use std::io;\n+use std::io::Read;\n",
    r"- [x] read the file\n- [ ] change the function\n- [ ] run the tests\n",
];

/// Text of about so many bytes.
pub(super) fn text(dice: &mut Dice, bytes: u64) -> String {
    let mut text = String::with_capacity(usize::try_from(bytes).unwrap_or(0) + 128);
    while (text.len() as u64) < bytes {
        text.push_str(PIECES[usize::try_from(dice.below(PIECES.len() as u64)).unwrap_or(0)]);
    }
    text
}

/// What the turns of a conversation are like.
#[derive(Clone, Copy)]
pub(super) enum Turns {
    /// Tools one by one; `scale` is about a row's size.
    OneByOne { scale: u64 },
    /// Up to ten tools at once, whose results hang side by side; `row` is the average size of a row.
    AtOnce { row: u64 },
}

impl Turns {
    /// Small enough for a file of so many bytes.
    pub(super) fn within(self, size: u64) -> Turns {
        match self {
            Turns::OneByOne { scale } => Turns::OneByOne { scale: scale.min(size / 16).max(8) },
            at_once @ Turns::AtOnce { .. } => at_once,
        }
    }
}

/// One conversation, row by row.
pub(super) struct Writer<'a> {
    dice: &'a mut Dice,
    session: String,
    parent: Option<String>,
    seconds: u64,
    turn: u64,
}

impl<'a> Writer<'a> {
    pub(super) fn new(dice: &'a mut Dice, session: &str) -> Writer<'a> {
        let seconds = dice.below(20_000_000);
        Writer { dice, session: session.to_owned(), parent: None, seconds, turn: 0 }
    }

    /// Cuts the chain: the next row's parent is this one.
    pub(super) fn set_parent(&mut self, parent: Option<String>) {
        self.parent = parent;
    }

    /// The head that every row of the chain has; the row is the new end of the chain.
    fn head(&mut self, kind: &str) -> String {
        let uuid = self.dice.uuid();
        let parent = match &self.parent {
            Some(parent) => format!("\"{parent}\""),
            None => "null".to_owned(),
        };
        self.seconds += 1 + self.dice.below(30);
        let (session, time) = (&self.session, time(self.seconds));
        let head = format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/dev/project\",\
             \"sessionId\":\"{session}\",\"version\":\"2.1.325\",\"gitBranch\":\"main\",\"type\":\"{kind}\",\
             \"uuid\":\"{uuid}\",\"timestamp\":\"{time}\","
        );
        self.parent = Some(uuid);
        head
    }

    /// A single prompt in a row of about so many bytes.
    pub(super) fn tiny(&mut self, bytes: u64) -> String {
        let (uuid, session, time) = (self.dice.uuid(), &self.session, time(self.seconds));
        let head = format!(
            "{{\"parentUuid\":null,\"sessionId\":\"{session}\",\"type\":\"user\",\"uuid\":\"{uuid}\",\"timestamp\":\"{time}\",\
             \"message\":{{\"role\":\"user\",\"content\":\""
        );
        let words =
            "hello ".repeat(usize::try_from(bytes.saturating_sub(head.len() as u64) / 6).unwrap_or(0).max(1));
        format!("{head}{words}\"}}}}\n")
    }

    /// The next turn: a prompt, tools with their results, a reply, and the rows around them.
    pub(super) fn turn(&mut self, turns: Turns, out: &mut String) {
        let scale = match turns {
            Turns::OneByOne { scale } => scale,
            Turns::AtOnce { row } => row / 4,
        };
        self.turn += 1;
        let (prompt, turn) = (self.dice.uuid(), self.turn);
        let words = text(self.dice, scale / 8);
        let head = self.head("user");
        let _ = writeln!(
            out,
            "{head}\"promptId\":\"{prompt}\",\"message\":{{\"role\":\"user\",\"content\":\"prompt {turn}: {words}\"}}}}"
        );
        match turns {
            Turns::OneByOne { scale } => {
                for _ in 0..self.dice.below(4) {
                    self.tool(scale, &prompt, out);
                }
            }
            Turns::AtOnce { row } => self.tools_at_once(row, &prompt, out),
        }
        let words = text(self.dice, scale / 4);
        self.assistant(&format!("{{\"type\":\"text\",\"text\":\"{words}\"}}"), out);
        let session = &self.session;
        let _ = writeln!(
            out,
            "{{\"type\":\"last-prompt\",\"lastPrompt\":\"prompt {turn}\",\"sessionId\":\"{session}\"}}"
        );
    }

    fn tool(&mut self, scale: u64, prompt: &str, out: &mut String) {
        let id = format!("toolu_{:016x}{:08x}", self.dice.roll(), self.dice.roll() >> 32);
        self.assistant(
            &format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"Bash\",\"input\":{{\"command\":\"cargo test 2>&1 | tail\"}}}}"),
            out,
        );
        if self.dice.below(3) == 0 {
            // Old agents wrote progress beside the chain; it is most of some files.
            let (chain, output) = (self.parent.clone(), text(self.dice, scale / 6));
            let head = self.head("progress");
            let _ = writeln!(
                out,
                "{head}\"data\":{{\"type\":\"bash_progress\",\"output\":\"{output}\"}},\"toolUseID\":\"{id}\"}}"
            );
            self.parent = chain;
        }
        let bytes = scale / 2 + self.dice.below(scale * 2);
        self.result(&id, bytes, prompt, out);
    }

    /// The calls are rows of one reply, each behind the one before; each result hangs on its own call.
    fn tools_at_once(&mut self, row: u64, prompt: &str, out: &mut String) {
        /// About what the rows of a call and of a result have besides the output.
        const AROUND: u64 = 750;
        let message = self.dice.roll();
        let mut calls = Vec::new();
        for _ in 0..=self.dice.below(10) {
            let id = format!("toolu_{:016x}{:08x}", self.dice.roll(), self.dice.roll() >> 32);
            self.part(
                message,
                &format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"Read\",\"input\":{{\"file_path\":\"/home/dev/project/src/lib.rs\"}}}}"),
                out,
            );
            calls.push((id, self.parent.clone()));
        }
        // Every result stands twice in its row, and a call's row has none.
        let output = row.saturating_sub(AROUND).max(16);
        for (id, call) in calls {
            self.parent = call;
            let bytes = output / 2 + self.dice.below(output);
            self.result(&id, bytes, prompt, out);
        }
    }

    fn result(&mut self, id: &str, bytes: u64, prompt: &str, out: &mut String) {
        let output = text(self.dice, bytes);
        let head = self.head("user");
        let _ = writeln!(
            out,
            "{head}\"promptId\":\"{prompt}\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"{id}\",\"type\":\"tool_result\",\
             \"content\":\"{output}\",\"is_error\":false}}]}},\"toolUseResult\":{{\"stdout\":\"{output}\",\"stderr\":\"\",\"interrupted\":false}}}}"
        );
    }

    fn assistant(&mut self, block: &str, out: &mut String) {
        let message = self.dice.roll();
        self.part(message, block, out);
    }

    /// A part of a reply.
    fn part(&mut self, message: u64, block: &str, out: &mut String) {
        let (request, tokens) = (self.dice.roll(), self.dice.below(90_000));
        let head = self.head("assistant");
        let _ = writeln!(
            out,
            "{head}\"requestId\":\"req_{request:016x}\",\"message\":{{\"id\":\"msg_{message:016x}\",\"type\":\"message\",\"role\":\"assistant\",\
             \"model\":\"claude-opus-4-5\",\"content\":[{block}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":4,\
             \"cache_creation_input_tokens\":812,\"cache_read_input_tokens\":{tokens},\"output_tokens\":211,\"service_tier\":\"standard\"}}}}}}"
        );
    }
}

/// A time in 2026, as the agent writes it.
fn time(seconds: u64) -> String {
    let (day, hour, minute, second) =
        (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("2026-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.000Z", 1 + day / 28 % 12, 1 + day % 28)
}
