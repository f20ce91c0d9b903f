//! Passwords in command lines, by the options that the commands' manuals give them.

use crate::shape::{Judge, Shape, command, within};

/// A word of the shell: quoted, or up to a blank. The password is the first group that takes part. An option is no
/// password: where the command asks for one, the next option follows at once.
macro_rules! word {
    () => {
        r#"(?:\\{0,3}'([^'\\\n]+)|\\{0,3}"([^"\\\n]+)|([^\s"'`\\|<>&;-][^\s"'`\\]*))"#
    };
}

/// What may stand between a command and the option: other options and words of the same command.
macro_rules! others {
    () => {
        r"[ \t](?:[^\n|;]{0,300}?[ \t])?"
    };
}

/// A password behind an option of a command; the option may be written together with it.
macro_rules! option {
    ($command:literal, $option:literal) => {
        concat!($command, others!(), $option, r"[ \t=]*", word!())
    };
}

const fn password(triggers: &'static [&'static str], pattern: &'static str) -> Shape {
    command("password", Judge::Password, triggers, pattern)
}

pub(super) static SHAPES: [Shape; 64] = [
    password(
        &[
            "docker login",
            "podman login",
            "nerdctl login",
            "buildah login",
            "skopeo login",
            "registry login",
            "oras login",
            "crane auth login",
            "oc login",
            "az login",
            "cf login",
            "twine upload",
        ],
        option!(r"[a-z]+[ \t]+(?:auth[ \t]+)?(?:login|upload)", "-p"),
    ),
    // Options of the program itself stand before its command.
    password(
        &["docker -", "podman -"],
        option!(r"(?:docker|podman)(?:[ \t]+--?[a-z-]+(?:[ =][^\s]+)?)+[ \t]+login", "-p"),
    ),
    within(
        "password",
        Judge::Password,
        &["creds"],
        concat!(r#"creds[ =]+\\{0,3}["']?[^\s:"'\\]+:"#, word!()),
    ),
    password(
        &[
            "ldapsearch",
            "ldapmodify",
            "ldapadd",
            "ldapdelete",
            "ldappasswd",
            "ldapwhoami",
            "ldapcompare",
            "ldapmodrdn",
        ],
        concat!(r"ldap[a-z]+[ \t](?:[^\n;]{0,300}?[ \t])?-w[ \t=]*", word!()),
    ),
    password(&["ldappasswd"], option!("ldappasswd", "-s")),
    password(&["ldappasswd"], option!("ldappasswd", "-a")),
    password(&["sqlcmd", "bcp ", "osql ", "isql ", "tsql "], option!("[a-z]+", "-P")),
    // A quoted password may hold blanks. Before the next one: of two that begin alike, the first that finds something counts.
    password(
        &["smbclient", "rpcclient", "smbget", "smbcacls", "winexe"],
        concat!("[a-z]+", others!(), r#"(?:-U|--user)[ \t=]*(?:'[^'%\n]+%([^'\n]+)'|"[^"%\n]+%([^"\n]+)")"#),
    ),
    password(
        &[
            "smbclient",
            "rpcclient",
            "smbget",
            "smbcacls",
            "smbtree",
            "winexe",
            "net ads ",
            "net rpc ",
            "nmblookup",
        ],
        concat!(
            r#"[a-z]+(?:[ \t]+(?:ads|rpc))?"#,
            others!(),
            r#"(?:-U|--user)[ \t=]*\\{0,3}["']?[^\s%"']+%"#,
            word!()
        ),
    ),
    password(&["smbclient "], concat!(r#"smbclient[ \t]+["']?//[^\s"']+["']?[ \t]+"#, word!())),
    password(
        &["net use "],
        r#"net use[ \t][^\n]{0,120}?\\\\[^\s]+[ \t]+([^\s/*"'`][^\s"'`]*)[ \t]+/(?i:user):"#,
    ),
    password(&["net use "], r#"net use[ \t][^\n]{0,120}?/(?i:user):[^\s]+[ \t]+([^\s/"'`][^\s"'`]*)"#),
    password(&["net user "], r#"net user[ \t]+[^\s/]+[ \t]+([^\s/*"'`][^\s"'`]*)[ \t]+/[A-Za-z]"#),
    password(
        &["htpasswd "],
        concat!(
            r"htpasswd[ \t]+(?:-[A-Za-z0-9]+[ \t]+(?:[0-9]+[ \t]+)?)*?-[A-Za-z0-9]*b[A-Za-z0-9]*[ \t]+",
            r"(?:-[A-Za-z0-9]+[ \t]+(?:[0-9]+[ \t]+)?)*(?:[^\s|<>;&-][^\s|<>;&]*[ \t]+){1,2}",
            word!()
        ),
    ),
    password(
        &["echo ", "printf "],
        r#"(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?\\{0,3}["']?(?:[^\s:"'\\|]+:\[redacted: password\](?:\\+n|[ \t]+))*[^\s:"'\\|]+:([^\s"'`\\|]+)[^\n"'|]{0,400}["']?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-[a-zA-Z]+[ \t]+)*)?(?:/usr/sbin/)?chpasswd"#,
    ),
    password(&["chpasswd"], r#"chpasswd[^\n<]{0,40}<<<[ \t]*\\{0,3}["']?[^\s:"'\\]+:([^\s"'`\\]+)"#),
    password(
        &["chpasswd"],
        r#"chpasswd[^\n<]{0,40}<<-?[ \t]*["']?[A-Za-z_]+["']?\n(?:[^\s:]+:\[redacted: password\]\n)*[ \t]*[^\s:]+:([^\s"'`\\]+)"#,
    ),
    password(
        &["echo "],
        r#"echo[ \t]+(?:-[neE]+[ \t]+)?\\{0,3}["']?([^\s"'`\\|]+)\\{0,3}["']?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-[a-zA-Z]+[ \t]+)*)?(?:kinit\b|cryptsetup\b|passwd[ \t][^\n|]{0,40}--stdin|smbpasswd[ \t][^\n|]{0,40}-[a-zA-Z]*s|[^\n|]{1,120}--pass(?:word-stdin|phrase-fd))"#,
    ),
    password(&["usermod ", "useradd "], option!("user(?:mod|add)", "-p")),
    password(
        &["mongosh ", "mongo ", "mongodump ", "mongorestore ", "mongoexport ", "mongoimport ", "mongostat "],
        option!("mongo[a-z]*", "-p"),
    ),
    password(&["mysqladmin ", "mariadb-admin "], option!("[a-z-]+", "password[ \t]")),
    password(&["evil-winrm ", "crackmapexec ", "netexec ", "nxc "], option!("[a-z-]+", "-p")),
    within("password", Judge::Password, &["jdbc:oracle:"], r#"jdbc:oracle:[a-z]+:[^\s/@:"']+/([^\s@"']+)@"#),
    password(&["cqlsh "], option!("cqlsh", "-p")),
    within(
        "password",
        Judge::Password,
        &["> auth "],
        concat!(r"> (?i:auth)[ \t]+(?:[^\s]+[ \t]+)?", word!()),
    ),
    password(&["requirepass ", "masterauth "], concat!(r"(?i:requirepass|masterauth)[ \t]+", word!())),
    password(
        &["rabbitmqctl "],
        concat!(
            r"rabbitmqctl[ \t](?:[^\n|;]{0,100}?[ \t])?(?:add_user|change_password|authenticate_user)[ \t]+[^\s]+[ \t]+",
            word!()
        ),
    ),
    password(&["mosquitto_pub ", "mosquitto_sub ", "mosquitto_rr "], option!("mosquitto_[a-z]+", "-P")),
    password(
        &["mosquitto_passwd "],
        concat!(r"mosquitto_passwd[ \t](?:-c[ \t]+)?-b[ \t]+[^\s]+[ \t]+[^\s]+[ \t]+", word!()),
    ),
    password(&["plink ", "pscp ", "psftp ", "putty "], option!("[a-z]+", "-pw")),
    password(&["xfreerdp", "wlfreerdp", "sdl-freerdp"], concat!(r"[a-z0-9-]+", others!(), "/p:", word!())),
    password(
        &["http -", "https -", "xh -"],
        concat!(
            r#"[a-z]+[ \t](?:[^\n|;]{0,200}?[ \t])?(?:-a|--auth)[ \t=]*\\{0,3}["']?[^\s:"'\\$]+:"#,
            word!()
        ),
    ),
    password(&["openssl "], option!(r"openssl[ \t]+(?:enc|aes|des|camellia|aria)[a-z0-9-]*", "-k")),
    password(&["zip ", "unzip ", "zipcloak "], option!("[a-z]+", "-P")),
    password(
        &["7z ", "7za ", "7zr ", "7zz ", "rar ", "unrar "],
        concat!(r"[a-z0-9]+[ \t]+[a-z]+", others!(), "-h?p", r#"\\{0,3}["']?([^\s"'`\\-][^\s"'`\\]*)"#),
    ),
    password(&["ipmitool "], option!("ipmitool", "-P")),
    password(
        &["snmpwalk ", "snmpget ", "snmpset ", "snmpbulkwalk ", "snmpgetnext "],
        option!("snmp[a-z]+", "-A"),
    ),
    password(
        &["snmpwalk ", "snmpget ", "snmpset ", "snmpbulkwalk ", "snmpgetnext "],
        option!("snmp[a-z]+", "-X"),
    ),
    password(&["nmcli "], option!("nmcli", "password[ \t]")),
    password(&["wpa_passphrase "], concat!(r#"wpa_passphrase[ \t]+["']?[^\s"']+["']?[ \t]+"#, word!())),
    password(
        &["sqlplus ", "impdp ", "expdp ", "sqlldr ", "rman "],
        r#"[a-z]+[ \t]+(?:-[A-Za-z]+[ \t]+|(?i:userid|target)[= ])*["']?[^\s/"'@]+/([^\s@"'/]+)@"#,
    ),
    password(&["db2 "], concat!(r"db2[ \t]+connect[ \t][^\n]{0,80}?[ \t]using[ \t]+", word!())),
    password(
        &["pgpass"],
        r#"pgpass[^\n]{0,60}\n[ \t]*[^\s:]+:[0-9*]+:[^\s:]+:[^\s:]+:((?:[^\s:"'`\\]|\\[:\\])+)"#,
    ),
    within(
        "password",
        Judge::Password,
        &["password for", "passphrase for", "passwort f"],
        r#"(?i:password|passphrase|passwort)[ \t]+(?:for|für)[ \t]+(?:[^\n:'"]{0,40}'[^'\n]{1,120}'|[^\n:'"]{0,40}"[^"\n]{1,120}"|[^\n:'"]{1,60}):[ \t]?([^\s]+)[ \t]*(?:\z|\r|\n|\||│|┃|║|\\[nr])"#,
    ),
    within("password", Judge::Password, &["/pass:"], concat!("/(?i:pass):", word!())),
    password(
        &["mc alias set ", "mc config host add "],
        concat!(
            r"mc[ \t]+(?:alias[ \t]+set|config[ \t]+host[ \t]+add)[ \t]+[^\s]+[ \t]+[^\s]+[ \t]+(?:\[redacted: [a-z ]+\]|[^\s]+)[ \t]+",
            word!()
        ),
    ),
    password(
        &["lftp "],
        concat!("lftp", others!(), r#"(?:-u|--user)[ \t=]*\\{0,3}["']?[^\s,"'\\]+,"#, word!()),
    ),
    password(&["rdesktop "], option!("rdesktop", "-p")),
    password(&["gh secret set "], option!(r"gh[ \t]+secret[ \t]+set", "(?:-b|--body)")),
    password(
        &["fly secrets set ", "flyctl secrets set "],
        concat!(r"fly(?:ctl)?[ \t]+secrets[ \t]+set", others!(), "[A-Za-z_][A-Za-z0-9_]*=", word!()),
    ),
    password(
        &["vault kv put ", "vault kv patch "],
        concat!(r"vault[ \t]+kv[ \t]+(?:put|patch)", others!(), "value=", word!()),
    ),
    // Other methods of logging in are options, and their values are assigned.
    command(
        "token",
        Judge::Token,
        &["vault login "],
        r#"vault[ \t]+login[ \t]+(?:-[^\s]+[ \t]+)*([^\s="'`-][^\s="'`]*)(?:\s|\z)"#,
    ),
    password(
        &["rclone config "],
        concat!(
            r"rclone[ \t]+config[ \t]+(?:create|update|password)",
            others!(),
            r"(?:pass|password|password2)[ \t=]+",
            word!()
        ),
    ),
    password(&["rclone obscure "], concat!(r"rclone[ \t]+obscure[ \t]+", word!())),
    within(
        "password",
        Judge::Password,
        &["password-command"],
        r#"password-command[ =]+\\{0,3}["'](?:echo|printf)[ \t]+(?:-n[ \t]+)?([^\s"'`\\|$]+)"#,
    ),
    password(
        &["echo ", "printf "],
        r#"(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?\\{0,3}["']?([^\s"'`\\|]+)\\{0,3}["']?[ \t]*\|[ \t]*(?:gh[ \t]+secret[ \t]+set|(?:npx[ \t]+)?wrangler[ \t]+secret[ \t]+put|docker[ \t]+secret[ \t]+create|vault[ \t]+login|vncpasswd|rclone[ \t]+obscure)\b"#,
    ),
    password(&["vncpasswd", "smbpasswd"], concat!(r"[a-z]+passwd[^\n<]{0,40}<<<[ \t]*", word!())),
    within(
        "key",
        Judge::Token,
        &["privatekey ", "private-key "],
        r"(?i:private-?key)[ \t]+([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    ),
    // The word for a password in other languages, with the colons that they write.
    command(
        "password",
        Judge::Said,
        &[
            "mot de passe",
            "contraseña",
            "contraseÑa",
            "contrasena",
            "senha",
            "wachtwoord",
            "kennwort",
            "пароль",
            "Пароль",
            "ПАРОЛЬ",
            "密码",
            "密碼",
            "パスワード",
        ],
        concat!(
            r"(?:(?i:mot de passe|contrase\xc3[\xb1\x91]a|contrasena|senha|wachtwoord|kennwort)|",
            r"пароль|Пароль|ПАРОЛЬ|密码|密碼|パスワード)",
            r#"(?:[ \t]|\xc2\xa0|\xe2\x80\xaf|\xe3\x80\x80)*(?:[:=]|\xef\xbc\x9a)(?:[ \t]|\xc2\xa0|\xe3\x80\x80)*\\{0,3}["']?([^\s"'`\\]+)"#,
        ),
    ),
    password(&["psexec"], option!(r"(?i:psexec(?:64)?(?:\.exe)?)", "-p")),
    password(&["ssh-keygen "], option!("ssh-keygen", "-N")),
    password(&["ssh-keygen "], option!("ssh-keygen", "-P")),
    // What the password store prints; a folder is a tree, and what is copied is a sentence.
    password(
        &["pass show ", "gopass show "],
        r"(?:go)?pass[ \t]+show[ \t]+(?:-[^\s]+[ \t]+)*[^\s]+[ \t]*\r?\n[ \t]*([^\s]+)[ \t]*(?:\r?\n[^\xe2]|\r?\n?\z)",
    ),
    // The words of a wallet.
    within(
        "seed phrase",
        Judge::Shape,
        &["mnemonic", "seed phrase", "seed_phrase", "seedphrase", "recovery phrase", "recovery_phrase"],
        r#"(?i:mnemonic|(?:seed|recovery)[ _]?phrase)\\{0,3}["']?\]?[ \t]*[:=][ \t]*\\{0,3}["'`]?([a-z]{3,8}(?:[ \t]+[a-z]{3,8}){11,23})"#,
    ),
];
