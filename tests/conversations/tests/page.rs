//! The programs of docs/targets/rust.md that use other crates. `tests/suite/rust.rs` checks that they are those of the page.

mod cancelling {
    include!("page/cancelling.rs");

    #[test]
    fn runs() -> Result<(), Closed> {
        main()
    }
}

mod errors {
    include!("page/errors.rs");

    #[test]
    fn runs() {
        main();
    }
}

#[cfg(feature = "sockets")]
mod serving {
    include!("page/serving.rs");

    #[test]
    fn runs() -> Result<(), Box<dyn std::error::Error>> {
        main()
    }
}

mod streams {
    include!("page/streams.rs");

    #[test]
    fn runs() -> Result<(), Closed> {
        main()
    }
}
