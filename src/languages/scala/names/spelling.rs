//! How names are written in Scala: valid in 2.13 and 3, and never in conflict with a member that every object has.

use crate::languages::spelling::{lower_camel, upper_camel};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

/// How names of one kind are written.
pub type Spell = fn(&str) -> String;

/// Words that mean something already.
type Words = LazyLock<HashSet<&'static str>>;

/// The hard keywords of either version. Soft keywords (`end`, `using`, `extension`, ...) need no escape.
static KEYWORDS: Words = Words::new(|| {
    "abstract case catch class def do else enum export extends false final finally for forSome \
    given if implicit import lazy macro match new null object override package private protected return sealed super \
    then this throw trait true try type val var while with yield _ derives inline"
        .split_whitespace()
        .collect()
});

/// Members that every object has. A method or field with such a name gets a trailing `_`, whatever its arguments are.
static OBJECT_MEMBERS: Words = Words::new(|| {
    "asInstanceOf clone eq equals finalize getClass hashCode isInstanceOf ne notify notifyAll \
    synchronized toString"
        .split_whitespace()
        .collect()
});

/// Members that every case class has in addition.
static CASE_CLASS_MEMBERS: Words = Words::new(|| {
    "canEqual copy productArity productElement productElementName productElementNames \
    productIterator productPrefix"
        .split_whitespace()
        .collect()
});

/// Terms that may refer to something in a nearer scope than an object of the package, which then needs its full path: what
/// generated objects themselves declare, the parameters and values of what they contain, and what endpoints inherit.
static TERMS_IN_SIGHT: Words = Words::new(|| {
    "client client_ index init next number on onOrClosed open payload previous recv recvAsync \
    recvOrClosed recvThen recvWithin robots robots_ server server_ start tryRecv values wait"
        .split_whitespace()
        .collect()
});

/// Types that are in scope everywhere (`scala`, `Predef`, `java.lang`). A type parameter with such a name would shadow the type,
/// which 2.13 warns about. If a state or message has such a name, generated code uses the full path of the type.
static TYPES_IN_SIGHT: Words = Words::new(|| {
    "AbstractMethodError Any AnyRef AnyVal Appendable App Array Boolean BigDecimal BigInt \
    BufferedIterator Byte CanEqual CharSequence Char Character Class ClassLoader ClassManifest ClassValue Cloneable Comparable \
    Compiler Console Conversion Deprecated Double DummyImplicit Dynamic Either Enum Equals Equiv Error Exception Float Fractional \
    Function FunctionalInterface IArray IndexedSeq InheritableThreadLocal Int Integer Integral Iterable IterableOnce Iterator \
    Left List LazyList Long Manifest Map MatchError Math Matchable Module ModuleLayer NamedTuple Nil None Nothing Null Number \
    Numeric Object Option Ordered Ordering Override Package PartialFunction PartialOrdering Precise Process ProcessBuilder \
    ProcessHandle Product Proxy Range Readable Record Right Runnable Runtime RuntimeException SafeVarargs ScopedValue \
    SecurityException SecurityManager Selectable Seq Serializable Set Short Singleton Some Specializable StackOverflowError \
    StackTraceElement StackWalker Stream StrictMath String StringBuffer StringBuilder StringContext StringTemplate Suppress \
    SuppressWarnings Symbol System Thread ThreadDeath ThreadGroup ThreadLocal Throwable Traversable TraversableOnce Tuple \
    UninitializedFieldError Unit ValueOf Vector Void WeakPairMap \
    AssertionError ArithmeticException Iterable IllegalArgumentException UnsupportedOperationException NoSuchElementException \
    InterruptedException NullPointerException NumberFormatException ClassCastException IndexOutOfBoundsException Throwable \
    ClassNotFoundException IllegalStateException StringIndexOutOfBoundsException ArrayIndexOutOfBoundsException \
    ArrayStoreException AutoCloseable BootstrapMethodError CanThrow ClassCircularityError ClassFormatError \
    CloneNotSupportedException DelayedInit EnumConstantNotPresentException Enumeration ExceptionInInitializerError \
    IllegalAccessError IllegalAccessException IllegalCallerException IllegalMonitorStateException IllegalThreadStateException \
    IncompatibleClassChangeError InstantiationError InstantiationException InternalError LayerInstantiationException \
    LinkageError NegativeArraySizeException NoClassDefFoundError NonEmptyTuple NoSuchFieldError NoSuchFieldException \
    NoSuchMethodError NoSuchMethodException NotImplementedError OptManifest OutOfMemoryError PolyFunction Predef \
    ReflectiveOperationException RuntimePermission ScalaReflectionException SerialVersionUID TypeNotPresentException \
    UninitializedError UnknownError UnsatisfiedLinkError UnsupportedClassVersionError VerifyError VirtualMachineError"
        .split_whitespace()
        .collect()
});

/// Types in scope whose names end in their number of parts.
const NUMBERED_TYPES_IN_SIGHT: [&str; 3] = ["Function", "Product", "Tuple"];

/// The type of a state's messages, the class of a message, a declared type: `LoginResponse`.
pub fn type_name(name: &str) -> String {
    upper_camel(name)
}

/// The method that sends a message: `insufficientFunds`.
pub fn method_name(name: &str) -> String {
    let name = lower_camel(name);
    if is_object_member(&name) {
        return name + "_";
    }
    escaped(name)
}

/// A value of a message, variant or struct: `finishedAt`.
pub fn field_name(name: &str) -> String {
    let name = lower_camel(name);
    let is_tuple_member = name
        .strip_prefix('_')
        .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    if is_object_member(&name) || CASE_CLASS_MEMBERS.contains(name.as_str()) || is_tuple_member {
        return name + "_";
    }
    // A soft keyword, except at the beginning of parameters.
    if name == "using" {
        return format!("`{name}`");
    }
    escaped(name)
}

/// A value of a variant of an enum in Scala 3, which has a member `ordinal`.
pub fn case_field_name(name: &str) -> String {
    match field_name(name) {
        name if name == "ordinal" => name + "_",
        name => name,
    }
}

/// A value of a message, whose last field is `next`.
pub fn entry_name(name: &str) -> String {
    match field_name(name) {
        name if name == "next" => name + "_",
        name => name,
    }
}

/// The object of a protocol or an instance: the name as written, but with a lower-case first letter.
pub fn object_name(name: &str) -> String {
    let name = small(name);
    // `object package` declares its members in the package around it.
    if name == "package" {
        return name + "_";
    }
    not_root(escaped(name))
}

/// The object that holds a file's types.
pub fn types_object(stem: &str) -> String {
    small(&lower_camel(stem)) + "Types"
}

/// The object that encodes a declared type.
pub fn wire_object(name: &str) -> String {
    format!("${}", type_name(name))
}

/// The file name of an object. Windows reserves some names, with any extension.
pub fn file_name(name: &str) -> String {
    let name = small(name);
    let device = name.to_ascii_lowercase();
    let numbered = device.len() == 4 && (device.starts_with("com") || device.starts_with("lpt"));
    let is_device = matches!(device.as_str(), "con" | "prn" | "aux" | "nul")
        || numbered && device.ends_with(|last: char| last.is_ascii_digit());
    if is_device { name + "_" } else { name }
}

/// One part of a package.
pub fn package_segment(name: &str) -> String {
    // Scala 2.13 mistakes the members of a package of this name for those of a package object, and warns about classes
    // there.
    if name == "package" {
        return name.to_owned() + "_";
    }
    not_root(escaped(name.to_owned()))
}

/// Whether a term of this name may refer to something in a nearer scope than the object in the package.
pub fn is_in_sight(term: &str) -> bool {
    let plain = term.trim_matches('`');
    let mut letters = plain.chars();
    // A state has the same name as an object only if its name has no letter to capitalize.
    let is_numbered =
        letters.next() == Some('_') && letters.next().is_some_and(|second| second.is_ascii_digit());
    is_numbered
        || TERMS_IN_SIGHT.contains(plain)
        || is_object_member(plain)
        || CASE_CLASS_MEMBERS.contains(plain)
        || matches!(plain, "scala" | "java")
}

/// Whether a type of this name is in scope without any declaration.
pub fn is_common_type(name: &str) -> bool {
    let is_numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    TYPES_IN_SIGHT.contains(name)
        || NUMBERED_TYPES_IN_SIGHT
            .iter()
            .any(|stem| name.strip_prefix(stem).is_some_and(is_numbered))
}

/// A line of documentation that is safe in a comment: comments nest, and `\u` is an escape even there.
pub fn doc_line(line: &str) -> Cow<'_, str> {
    if !line.contains(['*', '\\']) {
        return Cow::Borrowed(line);
    }
    let line = line.replace("\\u", "&#92;u");
    Cow::Owned(line.replace("/*", "/&#42;").replace("*/", "*&#47;"))
}

fn is_object_member(name: &str) -> bool {
    OBJECT_MEMBERS.contains(name) || name == "wait"
}

/// Full paths begin with `_root_`, which must not mean anything else.
fn not_root(name: String) -> String {
    if name == "_root_" { name + "_" } else { name }
}

fn small(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_lowercase().to_string() + letters.as_str()
    })
}

fn escaped(name: String) -> String {
    if KEYWORDS.contains(name.as_str()) {
        format!("`{name}`")
    } else {
        name
    }
}
