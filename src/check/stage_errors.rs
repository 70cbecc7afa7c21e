//! Errors that other stages find and that are only listed here: some are found while files are parsed and names are resolved, others
//! when two versions are compared.

macro_rules! declare_errors {
    ($($constant:ident, $name:literal, $summary:literal;)+) => {
        $(rule! { $constant, $name, None, None, $summary })+
    };
}

declare_errors! {
    SYNTAX, "syntax", "the text cannot be parsed";
    UNRESOLVED_IMPORT, "unresolved-import", "an imported file does not exist";
    IMPORT_CYCLE, "import-cycle", "files import each other in a cycle";
    DUPLICATE_NAME, "duplicate-name", "a name is declared twice";
    EMPTY_PROTOCOL, "empty-protocol", "a protocol has no states";
    UNKNOWN_STATE, "unknown-state", "a message or an endpoint type names a state that does not exist";
    UNKNOWN_SIDE, "unknown-side", "an endpoint type does not name one of the two sides";
    UNKNOWN_PROTOCOL, "unknown-protocol", "a protocol that does not exist is used";
    UNKNOWN_BOUND, "unknown-bound", "a bound is neither built in nor declared";
    TYPE_ARGUMENT_COUNT, "type-argument-count", "there are more or fewer type arguments than type parameters";
    INCOMPATIBLE_WITH_OLD_CLIENT, "incompatible-with-old-client", "old clients and new servers do not understand each other";
    INCOMPATIBLE_WITH_OLD_SERVER, "incompatible-with-old-server", "new clients and old servers do not understand each other";
    UNSOUND_ACCEPTANCE, "unsound-acceptance", "a side accepts the fingerprint of an old version that it cannot talk to";
    PROTOCOL_REMOVED, "protocol-removed", "a protocol of the old version has been removed";
}
