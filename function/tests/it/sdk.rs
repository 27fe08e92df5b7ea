//! The built program on one side, Crossplane's SDK for Python on the other.

pub mod certs;
pub mod descriptors;
pub mod hostile;
pub mod python;
pub mod server;
pub mod transport;

use function_model::decode_base64;
use prost::Message as _;
use serde_json::Value;
use testplatform_composites::sdk::proto::RunFunctionRequest;

/// Bytes in what the client answers.
pub fn bytes(value: &Value) -> Vec<u8> {
    decode_base64(value.as_str().unwrap_or_else(|| panic!("no bytes: {value}")))
}

/// The request as the client sent it.
pub fn sent(result: &Value) -> RunFunctionRequest {
    RunFunctionRequest::decode(&bytes(&result["request"])[..]).unwrap()
}
