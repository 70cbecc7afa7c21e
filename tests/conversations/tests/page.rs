//! The programs of docs/targets/rust.md that use other crates. The build script takes them from the page.

mod cancelling {
    include!(concat!(env!("OUT_DIR"), "/page_cancelling.rs"));

    #[test]
    fn runs() -> Result<(), Closed> {
        main()
    }
}

mod errors {
    include!(concat!(env!("OUT_DIR"), "/page_errors.rs"));

    #[test]
    fn runs() {
        main();
    }
}

#[cfg(feature = "sockets")]
mod serving {
    include!(concat!(env!("OUT_DIR"), "/page_serving.rs"));

    #[test]
    fn runs() -> Result<(), Box<dyn std::error::Error>> {
        main()
    }
}

mod streams {
    include!(concat!(env!("OUT_DIR"), "/page_streams.rs"));

    #[test]
    fn runs() -> Result<(), Closed> {
        main()
    }
}
