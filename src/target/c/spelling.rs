//! How names and comments are written in C, so that they are also C++.

use crate::target::spelling::{shouty_snake, snake};

/// A name inside a longer one: `login_response`.
pub fn word(name: &str) -> String {
    snake(name)
}

/// A name inside an enumerator: `LOGIN_RESPONSE`.
pub fn loud(name: &str) -> String {
    shouty_snake(name)
}

/// A member of a struct or union, which nothing but keywords and macros can take away.
pub fn member(name: &str) -> String {
    let name = escaped(snake(name));
    // In C++ a member may not have the name of a type that its struct has used.
    if name.ends_with("_t") || name.starts_with("duo_") {
        name + "_"
    } else {
        name
    }
}

/// An entry of a message: its struct ends with a member `next`.
pub fn entry(name: &str) -> String {
    let name = member(name);
    if name == "next" { name + "_" } else { name }
}

/// A parameter of a function that sends, whose body uses names of its own.
pub fn parameter(name: &str) -> String {
    let name = entry(name);
    if matches!(
        name.as_str(),
        "self" | "message" | "way" | "nanoseconds" | "memcpy"
    ) {
        name + "_"
    } else {
        name
    }
}

/// A type of the host program, which is written as the user wrote it.
pub fn host(name: &str) -> String {
    escaped(name.to_owned())
}

/// What the names of a protocol start with. Some words would make `<word>_init` a function of the C library.
pub fn protocol(prefix: &str, name: &str) -> String {
    let word = format!("{prefix}{}", snake(name));
    if ["sem", "mtx", "cnd", "atomic"].contains(&word.as_str()) {
        return word + "_protocol";
    }
    not_ours("protocol", word)
}

/// What the names of a declared type start with.
pub fn declared(prefix: &str, package: &str, name: &str) -> String {
    let word = format!("{prefix}{package}{}", snake(name));
    // With `_t` these are types of the C library.
    if LIBRARY_TYPES.contains(&word.as_str()) {
        return word + "_type";
    }
    not_ours("type", word)
}

/// What begins with `duo_` belongs to the runtime and to generated code itself.
fn not_ours(kind: &str, word: String) -> String {
    match word.strip_prefix("duo") {
        Some("") => format!("{kind}_{word}"),
        Some(rest) if rest.starts_with('_') => format!("{kind}_{word}"),
        Some(_) | None => word,
    }
}

/// The constant of an enum's variant.
pub fn variant(declared: &str, name: &str) -> String {
    let constant = format!("{}_{}", declared.to_ascii_uppercase(), shouty_snake(name));
    let is_limit = constant.ends_with("_MAX") || constant.ends_with("_MIN");
    let is_macro = is_limit || LIBRARY_CONSTANTS.contains(&constant.as_str());
    if is_macro { constant + "_" } else { constant }
}

/// The name of a generated file without its ending. Compilers look for `<string.h>` in the user's folders too, and Windows
/// keeps some names for devices.
pub fn file(name: &str) -> String {
    let is_taken = LIBRARY_HEADERS.contains(&name) || DEVICES.contains(&name);
    if is_taken {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// Lines of documentation as a C comment, each line indented by `indent`; nothing for no lines.
pub fn comment(docs: &[Box<str>], indent: &str) -> String {
    let lines: Vec<String> = docs.iter().map(|line| harmless(line)).collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] if line.len() < 80 => format!("{indent}/** {} */\n", line.trim()),
        lines => {
            let mut text = format!("{indent}/**\n");
            for line in lines {
                let line = format!("{indent} * {line}");
                text.push_str(line.trim_end());
                text.push('\n');
            }
            text.push_str(indent);
            text.push_str(" */\n");
            text
        }
    }
}

/// A line that neither ends a comment nor seems to begin one, is no trigraph, does not swallow the next line and does not turn
/// the direction of writing.
pub fn harmless(line: &str) -> String {
    let turns = |letter: &char| {
        matches!(letter, '\u{200e}' | '\u{200f}' | '\u{061c}')
            || ('\u{202a}'..='\u{202e}').contains(letter)
            || ('\u{2066}'..='\u{2069}').contains(letter)
    };
    let mut text = String::new();
    for letter in line.chars().filter(|letter| !turns(letter)) {
        let letter = if letter.is_control() { ' ' } else { letter };
        if matches!(
            (text.chars().last(), letter),
            (Some('*'), '/') | (Some('/'), '*') | (Some('?'), '?')
        ) {
            text.push(' ');
        }
        text.push(letter);
    }
    let text = text.trim_end();
    match text.strip_suffix('\\') {
        Some(rest) => format!("{rest}(\\)"),
        None => text.to_owned(),
    }
}

/// A function head within 100 columns: parameters stand behind the parenthesis, below each other where they do not fit.
pub fn head(start: &str, parameters: &[String]) -> String {
    wrapped(&format!("{start}("), parameters, ")")
}

/// A list within 100 columns; `start` ends with the opening bracket.
pub fn wrapped(start: &str, parts: &[String], end: &str) -> String {
    const COLUMNS: usize = 100;
    // A semicolon or comma may follow.
    let end_size = end.len() + 1;
    let size = parts.iter().map(|part| part.len() + 2).sum::<usize>();
    if start.len() + size + end_size <= COLUMNS + 2 {
        return format!("{start}{}{end}", parts.join(", "));
    }
    let longest = parts.iter().map(String::len).max().unwrap_or(0);
    let outer = start.len() - start.trim_start().len();
    let (mut text, indent) = if start.len() + longest + end_size <= COLUMNS {
        (start.to_owned(), start.len())
    } else {
        (format!("{start}\n{}", " ".repeat(outer + 4)), outer + 4)
    };
    let mut column = indent;
    for (position, part) in parts.iter().enumerate() {
        if position > 0 && column + 1 + part.len() + end_size > COLUMNS {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if position > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(part);
        text.push_str(if position + 1 == parts.len() {
            end
        } else {
            ","
        });
        column += part.len() + 1;
    }
    text
}

fn escaped(name: String) -> String {
    let is_macro = name.starts_with("si_") || MACROS.contains(&name.as_str());
    if is_macro || KEYWORDS.contains(&name.as_str()) {
        name + "_"
    } else {
        name
    }
}

/// The keywords of C23 and of C++23.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const", "const_cast",
    "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else",
    "enum", "explicit", "export", "extern", "false", "float", "for", "fortran", "friend", "goto", "if", "inline", "int", "long",
    "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected",
    "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "typeof", "typeof_unqual", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
];

/// Lower-case macros that compilers and common headers define.
#[rustfmt::skip]
const MACROS: &[&str] = &[
    "assert", "atomic_init", "complex", "environ", "errno", "far", "foreach", "forever", "emit", "i386", "imaginary",
    "interface", "linux", "major", "makedev", "max", "min", "minor", "mips", "near", "noreturn", "offsetof", "pascal",
    "sa_handler", "sa_sigaction", "signals", "slots", "small", "st_atime", "st_ctime", "st_mtime", "stderr", "stdin", "stdout",
    "sun", "unix", "vax",
];

#[rustfmt::skip]
const LIBRARY_TYPES: &[&str] = &[
    "blkcnt", "blksize", "clock", "clockid", "cnd", "cookie_io_functions", "dev", "div", "double", "errno", "error", "fenv",
    "fexcept", "float", "fpos", "fsblkcnt", "fsfilcnt", "gid", "id", "imaxdiv", "ino", "int16", "int32", "int64", "int8",
    "intmax", "intptr", "key", "ldiv", "lldiv", "loff", "mbstate", "mode", "mqd", "mtx", "nlink", "off", "once_flag", "pid",
    "ptrdiff", "quad", "regex", "regmatch", "regoff", "register", "rlim", "rsize", "sa_family", "sem", "sig_atomic", "siginfo",
    "sigset", "size", "socklen", "speed", "ssize", "stack", "suseconds", "tcflag", "thrd", "time", "timer", "tss", "ucontext",
    "uid", "uint", "uint16", "uint32", "uint64", "uint8", "uintmax", "uintptr", "useconds", "va_list", "wchar", "wctrans",
    "wctype", "wint", "max_align", "nullptr", "char8", "char16", "char32", "glob", "wordexp", "iconv", "nl_catd", "nl_item",
    "locale", "cc", "idtype", "ushort", "ulong", "caddr", "daddr", "fsid", "u_char", "in_addr", "in_port",
    "mcontext", "greg", "gregset", "fpregset", "sighandler", "comparison_fn", "register",
];

#[rustfmt::skip]
const LIBRARY_CONSTANTS: &[&str] = &[
    "CHAR_BIT", "EXIT_FAILURE", "EXIT_SUCCESS", "SEEK_CUR", "SEEK_END", "SEEK_SET", "SIG_BLOCK", "SIG_DFL", "SIG_ERR",
    "SIG_IGN", "SIG_SETMASK", "SIG_UNBLOCK", "CLOCKS_PER_SEC", "CLOCK_REALTIME", "CLOCK_MONOTONIC", "TIME_UTC", "LOCK_EX",
    "LOCK_NB", "LOCK_SH", "LOCK_UN", "DUO_OK", "DUO_CLOSED", "DUO_USED", "DUO_FULL", "DUO_EMPTY", "DUO_NO_MEMORY", "DUO_LIST",
    "DUO_OPTION", "DUO_STRUCT", "DUO_ENUM", "DUO_ENDPOINT", "DUO_EXTERN", "DUO_STAY", "DUO_TURN", "DUO_END", "DUO_CLIENT",
    "DUO_SERVER", "DUO_STR", "DUO_PRINT", "DUO_ENTRY", "DUO_FOREVER",
];

#[rustfmt::skip]
const LIBRARY_HEADERS: &[&str] = &[
    "aio", "alloca", "ar", "assert", "byteswap", "complex", "cpio", "ctype", "dirent", "dlfcn", "duologue", "elf", "endian",
    "err", "errno", "error", "execinfo", "fcntl", "features", "fenv", "float", "fmtmsg", "fnmatch", "ftw", "getopt", "glob",
    "grp", "iconv", "ifaddrs", "inttypes", "iso646", "langinfo", "libgen", "libintl", "limits", "link", "locale", "malloc",
    "math", "memory", "monetary", "mqueue", "ndbm", "netdb", "nl_types", "paths", "poll", "printf", "pthread", "pty", "pwd",
    "regex", "regexp", "resolv", "sched", "search", "semaphore", "setjmp", "shadow", "signal", "spawn", "stab", "stdalign",
    "stdarg", "stdatomic", "stdbit", "stdbool", "stdckdint", "stddef", "stdint", "stdio", "stdio_ext", "stdlib", "stdnoreturn",
    "string", "strings", "stropts", "syscall", "sysexits", "syslog", "tar", "termio", "termios", "tgmath", "threads", "time",
    "trace", "uchar", "ucontext", "ulimit", "unistd", "utime", "utmp", "utmpx", "values", "wait", "wchar", "wctype", "windows",
    "winsock", "winsock2", "wordexp", "xlocale",
];

#[rustfmt::skip]
const DEVICES: &[&str] = &[
    "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con", "lpt1", "lpt2", "lpt3", "lpt4",
    "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stay_comments() {
        assert_eq!(harmless("a */ b /* c ??/ d"), "a * / b / * c ? ?/ d");
        assert_eq!(harmless("/**/"), "/ ** /");
        assert_eq!(harmless("to be continued \\"), "to be continued (\\)");
        assert_eq!(harmless("tab\tand \u{202e}turn"), "tab and turn");
    }

    #[test]
    fn heads_keep_to_the_columns() {
        let parameters: Vec<String> = (0..9).map(|n| format!("uint64_t parameter_{n}")).collect();
        let text = head("static inline duo_status a_function", &parameters);
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with(&" ".repeat(36)))
        );
    }
}
