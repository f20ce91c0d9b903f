//! Keys of model providers and what is built around them.

use crate::shape::{Shape, key};

pub(super) static SHAPES: [Shape; 23] = [
    key("anthropic key", &["sk-ant-"], "sk-ant-[A-Za-z0-9_-]{16,}"),
    key("openrouter key", &["sk-or-"], "sk-or-[A-Za-z0-9_-]{24,}"),
    key("langfuse key", &["sk-lf-"], "sk-lf-[A-Za-z0-9_-]{24,}"),
    key(
        "openai key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"],
        "sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
    ),
    key("openai key", &["sk-"], "sk-[A-Za-z0-9]{20,}"),
    key("openai session", &["sess-"], "sess-[A-Za-z0-9]{32,}"),
    key("hugging face token", &["hf_"], "hf_[A-Za-z0-9]{30,}"),
    key("hugging face token", &["api_org_"], "api_org_[A-Za-z0-9]{30,}"),
    key("groq key", &["gsk_"], "gsk_[A-Za-z0-9]{40,}"),
    key("xai key", &["xai-"], "xai-[A-Za-z0-9]{40,}"),
    key("perplexity key", &["pplx-"], "pplx-[A-Za-z0-9]{40,}"),
    key("replicate token", &["r8_"], "r8_[A-Za-z0-9]{30,}"),
    key("nvidia key", &["nvapi-"], "nvapi-[A-Za-z0-9_-]{40,}"),
    key("tavily key", &["tvly-"], "tvly-[A-Za-z0-9_-]{20,}"),
    key("firecrawl key", &["fc-"], r"fc-[0-9a-f]{32}\b"),
    key("langsmith key", &["lsv2_"], r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}\b"),
    key("elevenlabs key", &["sk_"], r"sk_[0-9a-f]{48}\b"),
    key("cursor key", &["key_", "crsr_"], r"(?:key|crsr)_[0-9a-f]{64}\b"),
    key("jina key", &["jina_"], "jina_[A-Za-z0-9_-]{40,}"),
    key("pinecone key", &["pcsk_"], "pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}"),
    key("cerebras key", &["csk-"], "csk-[a-z0-9]{40,}"),
    key("fireworks key", &["fw_"], r"fw_[A-Za-z0-9]{22,24}\b"),
    key("voyage key", &["pa-"], r"pa-[A-Za-z0-9_-]{43,}"),
];
