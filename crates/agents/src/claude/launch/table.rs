//! The agent's flags and sub-commands, as it writes them in its own help.
//!
//! Measured on 2.1.31, 2.1.100 and 2.1.325: `claude --help`, and the option list in the program for those that the help
//! hides. A test of the laboratory compares it with the real help of the three; docs/launch.md says how to refresh it.
//! Which ones 2.1.325 itself carries into a respawned session was the guide for what is kept.

use semver::Version;

use super::flags::Known::{self, After, Always, Before};
use super::flags::OnResume::{self, Bypass, Drop, Elsewhere, InTranscript, Keep, NoConversation};

const V31: Version = Version::new(2, 1, 31);
const V100: Version = Version::new(2, 1, 100);
const V325: Version = Version::new(2, 1, 325);

pub(super) static FLAGS: &[(Known, OnResume, &[&str])] = &[
    (
        Always,
        Keep,
        &[
            "--add-dir <directories...>",
            "--agent <agent>",
            "--agents <json>",
            "--allowedTools, --allowed-tools <tools...>",
            "--append-system-prompt <prompt>",
            "--append-system-prompt-file <file>",
            "--betas <betas...>",
            "--chrome",
            "-d, --debug [filter]",
            "-d2e, --debug-to-stderr",
            "--debug-file <path>",
            "--disable-slash-commands",
            "--disallowedTools, --disallowed-tools <tools...>",
            "--fallback-model <model>",
            "--ide",
            "--max-thinking-tokens <tokens>",
            "--mcp-config <configs...>",
            "--model <model>",
            "--no-chrome",
            "--setting-sources <sources>",
            "--settings <file-or-json>",
            "--strict-mcp-config",
            "--system-prompt <prompt>",
            "--system-prompt-file <file>",
            "--teammate-mode <mode>",
            "--tools <tools...>",
            "--verbose",
        ],
    ),
    (
        After(V31),
        Keep,
        &[
            "--advisor <model>",
            "--bare",
            "--brief",
            "--channels <servers...>",
            // The agent asks its user about these at every start.
            "--dangerously-load-development-channels <servers...>",
            "--effort <level>",
            "--enable-auto-mode",
            "--exclude-dynamic-system-prompt-sections",
            "--plugin-dir <path>",
            "--remote-control [name]",
            "--rc [name]",
            "--remote-control-session-name-prefix <prefix>",
            "--task-budget <tokens>",
            "--thinking <mode>",
            "--thinking-display <display>",
        ],
    ),
    (
        After(V100),
        Keep,
        &[
            "--allow-other-models",
            "--autocompact <auto|tokens>",
            "--ax-screen-reader",
            "--client-data-url <url>",
            "--fast-mode <on|off>",
            "--include-unsupported-models",
            "--messaging-socket-path <path>",
            "--plan-mode-instructions <instructions>",
            "--plugin-dir-no-mcp <path>",
            "--plugin-url <url>",
            "--proactivity <level>",
            "--project-config-root <dir>",
            "--prompt-suggestions [value]",
            "--restricted",
            "--safe-mode",
            "--system-prompt-snapshot <on|off>",
            "--watch-artifact <artifact>",
            "--watch-artifact-no-autoreact <artifact>",
        ],
    ),
    (Before(V325), Keep, &["--mcp-debug"]),
    (Before(V100), Keep, &["--plugin-dir <paths...>"]),
    (
        Always,
        Bypass,
        &[
            "--allow-dangerously-skip-permissions",
            "--dangerously-skip-permissions",
            "--permission-mode <mode>",
        ],
    ),
    (After(V100), Bypass, &["--inherit-permission-mode <mode>"]),
    // Which conversation it is, and from where in it.
    (
        Always,
        Drop,
        &[
            "-c, --continue",
            "--fork-session",
            "--from-pr [value]",
            "-r, --resume [value]",
            "--resume-session-at <message id>",
            "--session-id <uuid>",
            "--teleport [session]",
        ],
    ),
    (After(V100), Drop, &["--reply-on-resume", "--resume-drops-turn <message id>"]),
    // With a transcript a second `-n` undoes a later /rename (measured on 2.1.100 and 2.1.325).
    (After(V31), InTranscript, &["-n, --name <name>"]),
    // Done once: a second time files would be fetched over edited ones, or another worktree made. In the worktree itself a
    // resume needs no `-w` (measured on 2.1.100 and 2.1.325).
    (Always, Drop, &["--file <specs...>", "--init", "--maintenance"]),
    (
        After(V31),
        Drop,
        &[
            "--deep-link-last-fetch <ms>",
            "--deep-link-origin",
            "--deep-link-repo <slug>",
            "--prefill <text>",
            "--tmux[=classic]",
            "-w, --worktree [name]",
        ],
    ),
    (After(V100), Drop, &["--agents-view-if-allowed", "--deep-link-cwd-b64 <b64>", "--prefill-b64 <b64>"]),
    // Only with `--print`, by the agent's own words.
    (
        Always,
        Drop,
        &[
            "--enable-auth-status",
            "--include-partial-messages",
            "--input-format <format>",
            "--json-schema <schema>",
            "--max-budget-usd <amount>",
            "--max-turns <turns>",
            "--no-session-persistence",
            "--output-format <format>",
            "--permission-prompt-tool <tool>",
            "-p, --print",
            "--replay-user-messages",
        ],
    ),
    (After(V31), Drop, &["--include-hook-events", "--session-mirror", "--workload <tag>"]),
    (
        After(V100),
        Drop,
        &[
            "--append-subagent-system-prompt <prompt>",
            "--append-subagent-system-prompt-file <file>",
            "--await-initialize",
            "--forward-subagent-text",
            "--permission-prompts <target>",
        ],
    ),
    // Members of a team are started by their lead, the others by a host or in the cloud.
    (
        Always,
        Elsewhere,
        &[
            "--agent-color <color>",
            "--agent-id <id>",
            "--agent-name <name>",
            "--agent-type <type>",
            "--parent-session-id <id>",
            "--plan-mode-required",
            "--remote [description|session_id|url]",
            "--sdk-url <url>",
            "--team-name <name>",
        ],
    ),
    (
        After(V100),
        Elsewhere,
        &[
            "--attach-serve <session_id>",
            "--await-claim",
            "--bg, --background",
            "--cloud [description|session_id|url]",
            "--correlation-id <id>",
            "--desktop",
            "--environment <environment_id>",
            "--forward-home-settings <true|false>",
            "--host-auth-is-org-sign-in",
            "--lead-verify-key <time.key>",
            "--managed-settings <json>",
            "--managed-settings-in-initialize",
            "--on-branch <branch>",
            "--pool <pool_id>",
            "--ref <ref>",
            "--runner-declares <names>",
            "--session-began-as-copy <value>",
        ],
    ),
    (
        Always,
        NoConversation,
        &["-h, --help", "--init-only", "--rewind-files <user-message-id>", "-v, --version"],
    ),
];

/// Sub-commands and their other names, hidden ones too.
pub(super) static COMMANDS: &[(Known, &[&str])] = &[
    (Always, &["doctor", "install", "mcp", "plugin", "setup-token", "update"]),
    (After(V31), &["agents", "auth", "auto-mode", "plugins", "rc", "remote-control", "upgrade"]),
    (
        After(V100),
        &[
            "attach",
            "daemon",
            "edit-hook",
            "gateway",
            "import",
            "import-conversations",
            "kill",
            "logs",
            "project",
            "purge",
            "respawn",
            "rm",
            "sandbox",
            "stop",
            "ultrareview",
            "workspace-trust",
        ],
    ),
];
