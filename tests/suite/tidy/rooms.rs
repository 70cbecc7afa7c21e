//! Which module of `src/` may use which other modules and which external crates, and which do I/O.

/// Each module of `src/` with the modules that it may use. A stage uses the stages before it and none after.
pub const ROOMS: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("diagnostic", &["source"]),
    ("name", &["source", "diagnostic"]),
    ("protocol", &["source", "name", "diagnostic"]),
    ("syntax", &["source", "name", "diagnostic", "protocol"]),
    (
        "resolve",
        &["source", "name", "diagnostic", "protocol", "syntax"],
    ),
    ("graph", &["source", "protocol"]),
    ("sizes", &["protocol"]),
    (
        "relation",
        &["source", "name", "diagnostic", "protocol", "sizes"],
    ),
    ("fingerprint", &["diagnostic", "protocol", "relation"]),
    ("wire", &["protocol", "sizes", "relation", "fingerprint"]),
    (
        "check",
        &[
            "source",
            "name",
            "diagnostic",
            "protocol",
            "graph",
            "relation",
            "fingerprint",
            "wire",
        ],
    ),
    ("endpoint", &["protocol", "graph"]),
    ("robots", &["protocol", "relation", "fingerprint", "check"]),
    (
        "languages",
        &[
            "source",
            "name",
            "diagnostic",
            "protocol",
            "graph",
            "relation",
            "check",
            "fingerprint",
            "wire",
            "endpoint",
            "robots",
        ],
    ),
    (
        "compile",
        &[
            "source",
            "diagnostic",
            "protocol",
            "resolve",
            "check",
            "languages",
        ],
    ),
    ("repair", &["source", "diagnostic", "resolve", "compile"]),
    ("report", &["source", "diagnostic", "relation", "check"]),
    ("dual", &["source", "protocol"]),
    ("files", &["protocol", "syntax", "compile", "languages"]),
    (
        "build",
        &[
            "diagnostic",
            "check",
            "languages",
            "compile",
            "report",
            "files",
        ],
    ),
    ("lib", &[]),
    ("pages", &[]),
];

/// Each external crate with the module that may use it.
pub const OUTSIDE: &[(&str, &str)] = &[
    ("annotate_snippets", "report"),
    ("askama", "languages"),
    ("blake3", "fingerprint"),
    ("duologue_grammar", "syntax"),
    ("heck", "languages"),
    ("petgraph", "graph"),
    ("proc_macro2", "languages"),
    ("strsim", "name"),
];

/// Modules that may read, write and print.
pub const OUTWARD: [&str; 2] = ["files", "build"];

/// What does not read, write and print in the tools.
pub const PURE: [&str; 7] = [
    "tools/lsp/src/answer",
    "tools/peers/src/attack",
    "tools/peers/src/talk",
    "tools/reports/src",
    "tools/site/src/doc",
    "tools/site/src/picture",
    "tools/traces/src",
];
