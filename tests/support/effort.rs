//! How many cases the generated tests try: a sample that ends in seconds or, with `THOROUGH=1` as in `.ci/run`, all that they can.

/// `usual` cases, or `thorough` ones. `PROPTEST_CASES` sets the number of drawn cases.
#[allow(clippy::disallowed_methods, reason = "how many cases are tried is the developer's choice")]
pub(crate) fn cases(usual: u32, thorough: u32) -> u32 {
    match std::env::var("PROPTEST_CASES") {
        Ok(cases) => cases.parse().expect("PROPTEST_CASES is a number"),
        Err(_) => of(usual, thorough),
    }
}

/// The same for cases that are not drawn.
#[allow(clippy::disallowed_methods, reason = "how many cases are tried is the developer's choice")]
pub(crate) fn of<T>(usual: T, thorough: T) -> T {
    if std::env::var_os("THOROUGH").is_some() { thorough } else { usual }
}
