//! Passwords in files of settings, where another word than a name and a sign gives them away: registries, mail, directories,
//! private networks.

use crate::shape::{Judge, Shape, command, key, within};

pub(super) static SHAPES: [Shape; 14] = [
    // .npmrc
    within(
        "token",
        Judge::Password,
        &[":_authtoken", ":_auth=", ":_auth ="],
        r#":_(?i:authToken|auth)[ \t]*=[ \t]*\\{0,3}["']?([^\s"'`\\]+)"#,
    ),
    within(
        "password",
        Judge::Password,
        &[":_password"],
        r#":_(?i:password)[ \t]*=[ \t]*\\{0,3}["']?([^\s"'`\\]+)"#,
    ),
    within(
        "token",
        Judge::Password,
        &["config set //"],
        r#"config set //[^\s="']+:_(?i:authToken|auth|password)[ \t]+\\{0,3}["']?([^\s"'`\\-][^\s"'`\\]*)"#,
    ),
    within(
        "basic login",
        Judge::Login,
        &["_auth=", "_auth ="],
        r#"_auth[ \t]*=[ \t]*["']?([A-Za-z0-9+/]{8,}={0,2})"#,
    ),
    // .yarnrc.yml
    command(
        "token",
        Judge::Password,
        &["npmauthtoken", "npmauthident"],
        r#"npmAuth(?:Token|Ident)\\{0,3}["']?[ \t]*:[ \t]*["']?([^\s"'`,(){}]+)["']?[ \t]*(?:\z|[\r\n#])"#,
    ),
    // How directories keep passwords: `userPassword: {SSHA}…`.
    key(
        "password hash",
        &["{ssha", "{sha", "{smd5}", "{crypt}", "{pbkdf2"],
        r"\{(?:S?SHA(?:256|384|512)?|SMD5|CRYPT|PBKDF2[A-Z0-9-]*)\}[A-Za-z0-9+/=.$,]{8,}",
    ),
    // ldap.conf and its like.
    command(
        "password",
        Judge::Password,
        &["bindpw", "rootpw", "rootbindpw"],
        r#"(?:root|bind|rootbind)pw[ \t]+["']?([^\s"'`]+)["']?[ \t]*(?:\z|\r|\n|\\n)"#,
    ),
    // .msmtprc: an account on one line, its password on the next.
    command(
        "password",
        Judge::Password,
        &["user "],
        r#"user[ \t]+["']?[^\s"',;:=]+["']?[ \t]*\r?\n[ \t]*password[ \t]+(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"']+))[ \t]*(?:\z|[\r\n])"#,
    ),
    // .fetchmailrc
    command(
        "password",
        Judge::Password,
        &["poll "],
        r#"poll[ \t][^\n]{0,300}?[ \t]user(?:name)?[ \t]+["']?[^\s"']+["']?(?:[ \t]+|[ \t]*\r?\n[ \t]*)(?:with[ \t]+)?pass(?:word)?[ \t]+(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"']+))"#,
    ),
    // .muttrc
    command(
        "password",
        Judge::Password,
        &["set imap_pass", "set smtp_pass", "set pop_pass", "set my_pass"],
        r#"set[ \t]+[a-z_]+pass[ \t]*=[ \t]*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'`]+))"#,
    ),
    // .curlrc. Without a sign or a digit it may be a user and a group.
    within(
        "password",
        Judge::Said,
        &["user = \"", "user=\"", "user \""],
        r#"user[ \t]*[= ][ \t]*"[^\s:"/]+:([^\s"]*[^\s"0-9][^\s"]*)""#,
    ),
    // A client, a server, its password.
    command(
        "password",
        Judge::Password,
        &["chap-secrets", "pap-secrets"],
        r#"(?:ch|p)ap-secrets[^\n]{0,60}\n(?:#[^\n]{0,200}\n){0,8}["']?[^\s"']+["']?[ \t]+[^\s]+[ \t]+(?:"([^"\n]+)"|([^\s"'`]+))"#,
    ),
    // ipsec.secrets
    within(
        "password",
        Judge::Password,
        &[": psk ", ": eap ", ": xauth ", ": ntlm "],
        r#": (?:PSK|EAP|XAUTH|NTLM)[ \t]+"([^"\n]+)""#,
    ),
    // wp-config.php and its like.
    command(
        "password",
        Judge::Password,
        &["define('", "define( '", "define(\"", "define( \""],
        r#"define\([ \t]*["'][A-Z0-9_]*(?:PASSWORD|PASSWD|PASS|PWD|SECRET|_KEY|_SALT)["'],[ \t]*(?:'([^'\n]{3,})'|"([^"\n]{3,})")"#,
    ),
];
