use std::path::Path;
use std::time::Duration;

use toml::{Table, Value};

use super::units::{ByteSize, parse_duration, parse_size};
use super::{AutoResume, ConfigError, Continue, ResumeFallback};

/// One table of the file; what is taken out of it is known, what is left is not.
pub(super) struct Section<'a> {
    path: &'a Path,
    name: String,
    table: Table,
}

/// A value that a key can have.
pub(super) trait Setting: Sized {
    const ALLOWED: &'static str;
    fn from_toml(value: &Value) -> Option<Self>;
}

impl<'a> Section<'a> {
    pub(super) fn root(path: &'a Path, table: Table) -> Self {
        Self { path, name: String::new(), table }
    }

    pub(super) fn take<T: Setting>(&mut self, key: &str, default: T) -> Result<T, ConfigError> {
        match self.table.remove(key) {
            Some(value) => T::from_toml(&value).ok_or_else(|| self.bad(key, &value.to_string(), T::ALLOWED)),
            None => Ok(default),
        }
    }

    pub(super) fn required<T: Setting>(&mut self, key: &str) -> Result<T, ConfigError> {
        match self.table.remove(key) {
            Some(value) => T::from_toml(&value).ok_or_else(|| self.bad(key, &value.to_string(), T::ALLOWED)),
            None => Err(self.bad(key, "missing", T::ALLOWED)),
        }
    }

    pub(super) fn section(&mut self, key: &str) -> Result<Section<'a>, ConfigError> {
        match self.table.remove(key) {
            Some(Value::Table(table)) => Ok(self.inner(key, table)),
            Some(other) => Err(self.bad(key, &other.to_string(), "a table")),
            None => Ok(self.inner(key, Table::new())),
        }
    }

    pub(super) fn sections(&mut self, key: &str) -> Result<Vec<Section<'a>>, ConfigError> {
        let list = match self.table.remove(key) {
            Some(Value::Array(list)) => list,
            Some(other) => return Err(self.bad(key, &other.to_string(), "a list of tables")),
            None => Vec::new(),
        };
        list.into_iter()
            .map(|item| match item {
                Value::Table(table) => Ok(self.inner(key, table)),
                other => Err(self.bad(key, &other.to_string(), "a list of tables")),
            })
            .collect()
    }

    pub(super) fn left(self) -> Vec<String> {
        self.table.keys().map(|key| self.full(key)).collect()
    }

    fn inner(&self, key: &str, table: Table) -> Section<'a> {
        Section { path: self.path, name: self.full(key), table }
    }

    fn full(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    fn bad(&self, key: &str, found: &str, allowed: &str) -> ConfigError {
        ConfigError::Value {
            path: self.path.to_path_buf(),
            key: self.full(key),
            found: found.to_owned(),
            allowed: allowed.to_owned(),
        }
    }
}

impl Setting for bool {
    const ALLOWED: &'static str = "true or false";
    fn from_toml(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Setting for u32 {
    const ALLOWED: &'static str = "a whole number from 0";
    fn from_toml(value: &Value) -> Option<Self> {
        value.as_integer()?.try_into().ok()
    }
}

impl Setting for String {
    const ALLOWED: &'static str = "a text in quotes";
    fn from_toml(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Setting for Duration {
    const ALLOWED: &'static str = "a time such as \"30s\", \"5m\", \"4h\" or \"30d\"";
    fn from_toml(value: &Value) -> Option<Self> {
        parse_duration(value.as_str()?)
    }
}

impl Setting for ByteSize {
    const ALLOWED: &'static str = "a size such as \"512MiB\" or \"1GiB\"";
    fn from_toml(value: &Value) -> Option<Self> {
        parse_size(value.as_str()?)
    }
}

impl Setting for AutoResume {
    const ALLOWED: &'static str = "\"auto\", true or false";
    fn from_toml(value: &Value) -> Option<Self> {
        match value {
            Value::Boolean(true) => Some(Self::Always),
            Value::Boolean(false) => Some(Self::Never),
            Value::String(text) if text == "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}

impl Setting for Continue {
    const ALLOWED: &'static str = "\"ask\", \"always\" or \"never\"";
    fn from_toml(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "ask" => Some(Self::Ask),
            "always" => Some(Self::Always),
            "never" => Some(Self::Never),
            _ => None,
        }
    }
}

impl Setting for ResumeFallback {
    const ALLOWED: &'static str = "\"repair\", \"fresh\", \"shell\" or \"error\"";
    fn from_toml(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "repair" => Some(Self::Repair),
            "fresh" | "fresh_claude" => Some(Self::Fresh),
            "shell" => Some(Self::Shell),
            "error" => Some(Self::Error),
            _ => None,
        }
    }
}
