//! libsinew with one function more, which fails on purpose: for trying what a host sees when Sinew has a defect.
//! Not part of the library that is shipped.

use sinew::result::sinew_result;
use sinew::session::{change, sinew_session};

/// Panics while it holds the session.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_test_panic(session: *mut sinew_session) -> sinew_result {
    change(session, |_| panic!("on purpose"))
}
