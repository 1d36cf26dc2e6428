//! The answer in OpenAI's form: the chunk writer of a stream, the collected completion, the error body.
