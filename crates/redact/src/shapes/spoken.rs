//! Secrets that the words around them give away: headers and command lines.

use crate::shape::{Judge, Shape, within};

pub(super) static SHAPES: [Shape; 12] = [
    within(
        "authorization",
        Judge::Token,
        &["authorization"],
        r#"(?i)authorization\\{0,3}["\'`]?\]?[ \t]*[:=,][ \t]*\\{0,3}["\'`]?(?:(?:basic|bearer|token|digest|bot|apikey|api-key|key|ssws|splunk|negotiate|geniekey)(?:[ \t=]|%20)+)?([A-Za-z0-9._~+/=:|-]{8,})"#,
    ),
    within(
        "bearer token",
        Judge::Token,
        &["bearer"],
        r#"(?i)bearer\\{0,3}["\'`]?(?:[ \t:=,]|%20)+\\{0,3}["\'`]?([A-Za-z0-9._~+/=|-]{12,})"#,
    ),
    within("basic login", Judge::Login, &["basic "], r"(?i)basic[ \t]+([A-Za-z0-9+/]{8,}={0,2})"),
    within(
        "password",
        Judge::Password,
        &["curl"],
        r#"curl\b[^|;]{0,600}?[ \t](?:-[sSfLkivgINaljqRpJOZ0-9#]{0,8}[uU]|--user|--proxy-user)[ =]?\\{0,3}["\']?[^\s:"\'\\$]+:([^\s"\'`\\]+)"#,
    ),
    within("password", Judge::Password, &["sshpass"], r#"sshpass[ \t]+-p[ =]?\\{0,3}["\']?([^\s"\'`\\]+)"#),
    within(
        "password",
        Judge::Password,
        &["mysql", "mariadb"],
        r#"(?:mysql|mariadb)(?:dump|admin|import|sh)?[ \t](?:[^\n|;]{0,300}?[ \t])?-p\\{0,3}["\']?([^\s"\'`\\]+)"#,
    ),
    within(
        "password",
        Judge::Password,
        &["redis-cli"],
        r#"redis-cli[ \t](?:[^\n|;]{0,200}?[ \t])?-a[ \t]+\\{0,3}["\']?([^\s"\'`\\]+)"#,
    ),
    within(
        "password",
        Judge::Password,
        &["echo "],
        r#"echo[ \t]+(?:-[ne][ \t]+)?\\{0,3}["\']?([^\s"\'`\\|]+)\\{0,3}["\']?[ \t]*\|[ \t]*sudo[ \t]+(?:-[a-zA-Z]+[ \t]+)*-[a-zA-Z]*S"#,
    ),
    within(
        "password",
        Judge::Password,
        &["sudo -"],
        r#"sudo[ \t]+-[a-zA-Z]*S[^\n<]{0,120}<<<[ \t]*\\{0,3}["\']?([^\s"\'`\\]+)"#,
    ),
    within(
        "password",
        Judge::Password,
        &["-pass"],
        r#"-pass(?:in|out)?[ =]+\\{0,3}["\']?pass:([^\s"\'`\\]+)"#,
    ),
    within(
        "password",
        Judge::Password,
        &["login "],
        r#"login[ \t]+[^\s"\'`\\]+\s+password[ \t]+([^\s"\'`\\]+)"#,
    ),
    within(
        "password",
        Judge::Password,
        &["identified"],
        r#"(?i)identified[ \t]+(?:with[ \t]+[^ \t]+[ \t]+)?by[ \t]+(?:password[ \t]+)?\\{0,3}[\'"]([^\'"\\\s]+)"#,
    ),
];
