use napi::bindgen_prelude::{Object, ToNapiValue};
use napi::{Env, Error, JsDeferred};

/// A promise that any thread can settle, once.
pub(crate) struct Answer<T: ToNapiValue + 'static>(JsDeferred<T, Resolver<T>>);

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<T>>;

impl<T: ToNapiValue + Send + 'static> Answer<T> {
    /// The promise, and the way to settle it.
    pub(crate) fn new(env: &Env) -> napi::Result<(Answer<T>, Object<'_>)> {
        let (deferred, promise) = env.create_deferred()?;
        Ok((Answer(deferred), promise))
    }

    /// Fulfils the promise, or rejects it where something went wrong that should not.
    pub(crate) fn give(self, result: Result<T, String>) {
        match result {
            Ok(value) => self.0.resolve(Box::new(move |_| Ok(value))),
            Err(message) => self.0.reject(Error::from_reason(message)),
        }
    }
}
