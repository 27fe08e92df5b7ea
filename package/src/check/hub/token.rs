//! Expiry of a token, from its own claims. Nothing is verified: the API server does that. Edge, if the token is in a file.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use kube::config::Kubeconfig;
use serde::Deserialize;

/// Expiry of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenExpiry {
    /// There is no token.
    None,
    /// The token has no readable expiry.
    Unreadable,
    /// Time of expiry.
    At(Timestamp),
}

/// The expiry of the token in a context of a kubeconfig.
pub fn token_expiry(kubeconfig: &Kubeconfig, context: Option<&str>) -> TokenExpiry {
    let named = kubeconfig.contexts.iter().find(|named| Some(named.name.as_str()) == context);
    let user = named.and_then(|named| named.context.as_ref()?.user.as_deref());
    let named = kubeconfig.auth_infos.iter().find(|named| Some(named.name.as_str()) == user);
    let Some(user) = named.and_then(|named| named.auth_info.as_ref()) else { return TokenExpiry::None };
    // Serialized, because the client's secret type hides its content otherwise.
    let inline = serde_json::to_value(user).ok().and_then(|user| Some(user["token"].as_str()?.to_owned()));
    let read = || std::fs::read_to_string(user.token_file.as_ref()?).ok();
    inline.or_else(read).map_or(TokenExpiry::None, |token| jwt_expiry(token.trim()))
}

/// The expiry of a JSON Web Token.
pub fn jwt_expiry(token: &str) -> TokenExpiry {
    #[derive(Deserialize)]
    struct Claims {
        exp: i64,
    }
    let payload = token.split('.').nth(1).and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    let claims = payload.and_then(|payload| serde_json::from_slice::<Claims>(&payload).ok());
    claims
        .and_then(|claims| Timestamp::from_second(claims.exp).ok())
        .map_or(TokenExpiry::Unreadable, TokenExpiry::At)
}
