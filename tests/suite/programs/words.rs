//! Words that are difficult for generated code: they mean something in a target language, in its library, in generated code, or
//! next to another of these words.

/// Keywords of Rust, and what every Rust program sees or generated Rust uses.
const RUST: &str = "\
    as async await box break const continue crate dyn else enum extern false fn for gen if impl in let loop match mod move mut \
    pub ref return self Self static struct super trait true try type typeof unsafe use virtual where while yield union macro \
    Option Some None Result Ok Err Vec String Box Send Sync Copy Clone Eq PartialEq Ord PartialOrd Hash Debug Default Drop From \
    Into Iterator ToString Fn FnOnce std core alloc u8 u64 str isize usize char bool i128 main new drop clone fmt default into \
    from cmp eq ne hash borrow as_ref deref map unwrap expect PhantomData size_of derive inline must_use allow rustfmt";

/// Keywords of C and C++, macros of compilers and common headers, and what the C library declares.
const C: &str = "\
    alignas and asm auto bool case catch char class compl concept const constexpr default delete do double explicit export extern \
    float friend goto inline int long mutable namespace new not operator or private protected public register requires restrict \
    short signed sizeof static_assert struct switch template this thread_local throw typedef typeid typename union unsigned using \
    virtual void volatile wchar_t xor char8_t co_await errno EOF linux unix i386 NULL stdin stdout stderr assert offsetof \
    max min major minor environ si_pid sa_handler st_mtime TRUE FALSE BUFSIZ INT_MAX SIGINT EINTR size_t uint8_t int_fast8_t \
    pthread_t time_t FILE va_list memcpy memset malloc free printf exit abort signal raise time clock read write open close \
    main index string stdio stdint errno_t time_out isatty log exp sin y0 j1 gamma remove rename select accept bind";

/// Names of the C library, to be split into parts: generated names are composed of the names of a protocol, a state and a message.
const C_LIBRARY: &str = "\
    int_fast8_t int_least16_t uint_fast8_t INT_FAST8_MAX UINT_LEAST8_MAX sig_atomic_t SIG_ATOMIC_MAX max_align_t pthread_mutex_t \
    pthread_cond_init pthread_attr_t pthread_mutex_init pthread_rwlock_t pthread_barrier_init sem_init mtx_init cnd_init \
    once_flag tss_t thrd_start_t memory_order_t atomic_flag_t atomic_init FILENAME_MAX EXIT_SUCCESS SEEK_SET CLOCKS_PER_SEC \
    clock_t PTHREAD_MUTEX_DEFAULT FP_NAN MB_CUR_MAX suseconds_t sa_family_t va_list_t posix_spawn_file_actions_t posix_spawnattr_t";

/// Keywords of Scala 2 and 3, and what the libraries of Scala and Java make visible everywhere or give to every object.
const SCALA: &str = "\
    abstract case class def derives do else end enum export extends extension final finally forSome given implicit import infix \
    inline lazy macro match new null object opaque open override package private protected return sealed super then this throw \
    trait transparent type using val var with yield as Any AnyRef AnyVal Nothing Unit String Option Some None Either Left Right \
    List Nil Seq Vector Map Set Int Long Double Float Byte Short Boolean Char Object Class Thread Exception Throwable Error Array \
    Function1 Tuple2 Product Serializable Predef scala java javax duologue util lang collection _root_ _empty_ Singleton Matchable \
    CanEqual Override Deprecated Record Integer Iterable wait notify notifyAll hashCode toString equals clone finalize getClass \
    eq ne synchronized isInstanceOf asInstanceOf apply unapply copy productArity productElement productIterator productPrefix \
    canEqual _1 _2 println print require locally identity implicitly main readResolve writeReplace writeObject value";

/// Names that generated code and the runtimes use.
const OURS: &str = "\
    protocol protocols server client init init_in recv send close free take tag next state states messages message shape wire \
    payload layout fields capacity CAPACITY room try try_send recv_within try_recv recv_then on on_or_closed previous index number \
    values start over unknown open Moving carrier Carrier Value poll async ready is_ready value value_0 str_1 string err bytes_1 \
    int_1 list list_str opt duo duo_status duo_t duo_of sender Sender receiver Receiver closed Closed session Session slot Slot \
    Branch Finished endpoint Endpoint SendEndpoint RecvEndpoint generated Message runtime_0_1 shared Shared share shared_send \
    shared_hold shared_retain watch way cursor self nanoseconds status arrived place taken as of nothing tag_t attach session_memory fingerprint types \
    type_ state_a server_hello client_hello hello take_ drop abandon Select PortSet service select recv_async end stay turn first \
    second pair host payload_of count inner entries unused used empty OK FULL";

/// The lists, and how many words of each are in a program's vocabulary.
const LISTS: [(&str, usize); 4] = [(RUST, 7), (C, 7), (SCALA, 8), (OURS, 10)];

pub const NUMBERS: [&str; 11] = [
    "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "int", "uint",
];

/// Beginnings of words that have no special meaning.
pub const PLAIN: [&str; 7] = ["red", "green", "blue", "north", "south", "alpha", "omega"];

/// The limits of a program: bounds of its types, and times of its states. They take no random choices, so that they change nothing
/// else in a program.
#[derive(Default)]
pub struct Limits {
    types: u32,
    states: u32,
}

impl Limits {
    /// What precedes a state. Every third state has a time limit.
    pub fn sometimes_before_state(&mut self) -> String {
        self.states += 1;
        let unit = ["ms", "s", "min", "h"][self.states as usize / 3 % 4];
        match self.states.is_multiple_of(3) {
            true => format!("#[within({}{unit})] ", self.states % 24 + 1),
            false => String::new(),
        }
    }

    /// A type of a field or of an entry. Every other text, list or value of bytes gets a bound.
    pub fn sometimes_in(&mut self, ty: String) -> String {
        let list = ty.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if list.is_none() && ty != "str" && ty != "bytes" {
            return ty;
        }
        self.types += 1;
        let most = self.types % 7 + 1;
        match list {
            _ if self.types.is_multiple_of(2) => ty,
            Some(item) => format!("[{item}; {most}]"),
            None => format!("{ty}<{most}>"),
        }
    }
}

/// The words that the names of one program are made of. There are few, so that names clash.
pub struct Vocabulary(Vec<String>);

impl Vocabulary {
    pub fn new(choices: &mut super::Choices) -> Vocabulary {
        let mut words = Vec::new();
        for (list, count) in LISTS {
            let list: Vec<&'static str> = list.split(' ').collect();
            words.extend((0..count).map(|_| choices.one_of(&list).to_owned()));
        }
        let library: Vec<&'static str> = C_LIBRARY.split(' ').collect();
        let name = choices.one_of(&library);
        words.extend(name.match_indices('_').flat_map(|(at, _)| {
            [&name[..at], &name[at + 1..]].map(|part| part.trim_end_matches("_t").to_owned())
        }));
        // Two words, one after the other.
        for _ in 0..4 {
            let [first, second] = [0, 0].map(|_| choices.below(words.len()));
            words.push(format!("{}_{}", words[first], words[second]));
        }
        Vocabulary(words)
    }

    pub fn word(&self, choices: &mut super::Choices) -> String {
        let word = &self.0[choices.below(self.0.len())];
        match choices.below(24) {
            0 => format!("{word}_t"),
            1 => format!("{word}_"),
            2 => format!("{word}s"),
            3 => word.to_uppercase(),
            _ => word.clone(),
        }
    }
}
