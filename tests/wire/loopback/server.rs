//! What is answered: routing, forwarding.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use tokio::net::TcpStream;

use super::calls::Call;
use super::error::{ApiError, Protocol, Reply};
use super::faults::{PAGE, same_page};
use super::{
    Fault, State, cloudwatch, containers, ec2, hub, jobs, managed, organization, owned, pricing,
    savings_plans,
};
use crate::support::http::Unanswered;

pub async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Reply, Unanswered> {
    let (parts, body) = request.into_parts();
    // The client hung up in the middle of its request.
    let body = body.collect().await.map_err(|_| Unanswered)?.to_bytes();
    let call = match Call::recognise(&parts, &body) {
        Ok(call) => call,
        Err((protocol, error)) => return Ok(error.render(protocol)),
    };
    let token = parts.headers.get("x-amz-security-token");
    let token = token.and_then(|token| token.to_str().ok());
    let is_expired = token.is_some_and(organization::is_expired);
    let (fault, latency) = {
        let mut control = state.control();
        *control.calls.entry(call.operation.clone()).or_default() += 1;
        control.expired += usize::from(is_expired);
        let expired = is_expired.then_some(Fault::ExpiredToken);
        (expired.or_else(|| control.faults.take(&call)), control.latency)
    };
    tokio::time::sleep(latency).await;
    match fault {
        None => {}
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::DropConnection) => return Err(Unanswered),
        Some(Fault::Delay(delay)) => tokio::time::sleep(delay).await,
        Some(Fault::SamePage) => {
            let page = same_page(call.protocol, &call.operation);
            return Ok(call.protocol.ok(page));
        }
        Some(Fault::Echo { with_names }) => return Ok(echo(&call, &parts, with_names)),
        Some(Fault::Page(status)) => {
            let page = PAGE.as_bytes().to_vec();
            return Ok(call.protocol.reply(status, page));
        }
        Some(Fault::Answer(body)) => return Ok(call.protocol.ok(body.as_bytes().to_vec())),
        Some(Fault::Endless) => return Ok(endless()),
        Some(Fault::SpoilLaunchOf(id)) => {
            let answer = respond(&state, &call, parts, body).await;
            let answer = answer.unwrap_or_else(|error| error.render(call.protocol));
            return Ok(spoilt(answer, call.protocol, id).await);
        }
        Some(Fault::CutBehind(words)) => {
            let answer = respond(&state, &call, parts, body).await;
            let answer = answer.unwrap_or_else(|error| error.render(call.protocol));
            return Ok(cut(answer, call.protocol, words).await);
        }
        Some(fault) => {
            if let Some(error) = fault.error(call.protocol, &call.operation) {
                return Ok(error.render(call.protocol));
            }
        }
    }
    Ok(respond(&state, &call, parts, body)
        .await
        .unwrap_or_else(|error| error.render(call.protocol)))
}

/// A refusal that repeats the request's own headers.
fn echo(call: &Call, parts: &Parts, with_names: bool) -> Reply {
    let text = |name: &str| {
        let value = parts.headers.get(name).map(|value| value.to_str());
        value.and_then(Result::ok).unwrap_or_default().to_owned()
    };
    let said: Vec<String> = ["x-amz-security-token", "authorization", "x-amz-date"]
        .iter()
        .map(|name| {
            let value = text(name);
            if with_names {
                return format!("{name}: {value}");
            }
            // Signature, credential and token, each as a word of its own.
            value.replace(['=', ','], " ")
        })
        .collect();
    let (status, code) = match call.protocol {
        Protocol::Ec2 => (403, "SignatureDoesNotMatch"),
        _ => (400, "InvalidSignatureException"),
    };
    let message = format!("refused: {}", said.join("\n"));
    ApiError::new(status, code, &message).render(call.protocol)
}

/// An answer that goes on for ever.
fn endless() -> Reply {
    const CHUNK: &[u8] = &[b' '; 1 << 16];
    let frames = futures_util::stream::repeat_with(|| {
        Ok(hyper::body::Frame::data(Bytes::from_static(CHUNK)))
    });
    Response::new(http_body_util::StreamBody::new(frames).boxed())
}

/// An answer in which the launch time of an instance is not a time.
async fn spoilt(answer: Reply, protocol: Protocol, id: &str) -> Reply {
    let body = answer.into_body().collect().await;
    let body = body.expect("a body in memory can be read").to_bytes();
    let text = String::from_utf8_lossy(&body);
    let own = format!("<instanceId>{id}</instanceId>");
    let Some((before, after)) = text.split_once(&own) else { return protocol.ok(body.to_vec()) };
    let (start, rest) = after.split_once("<launchTime>").expect("each has one");
    let (_, end) = rest.split_once("</launchTime>").expect("it ends");
    let text = format!("{before}{own}{start}<launchTime>yesterday</launchTime>{end}");
    protocol.ok(text.into_bytes())
}

/// An answer that ends behind the first of these words.
async fn cut(answer: Reply, protocol: Protocol, words: &str) -> Reply {
    let body = answer.into_body().collect().await;
    let body = body.expect("a body in memory can be read").to_bytes();
    let text = String::from_utf8_lossy(&body);
    let (before, _) = text.split_once(words).expect("the answer has these words");
    protocol.ok(format!("{before}{words}").into_bytes())
}

/// A described endpoint configuration, without models where a test wants it so.
async fn modelless(state: &State, answer: Reply, protocol: Protocol) -> Reply {
    let (parts, body) = answer.into_parts();
    let body = body.collect().await;
    let body = body.expect("a body in memory can be read").to_bytes();
    let stripped = managed::without_models(&state.read(), &body);
    match stripped {
        Some(body) => protocol.ok(body),
        None => Response::from_parts(parts, Full::from(body).boxed()),
    }
}

/// An answer in which every instance was launched at a time, and what hangs on it attached.
async fn backdated(answer: Reply, protocol: Protocol, time: Timestamp) -> Reply {
    let body = answer.into_body().collect().await;
    let body = body.expect("a body in memory can be read").to_bytes();
    let mut text = String::from_utf8_lossy(&body).into_owned();
    for open in ["<launchTime>", "<attachTime>"] {
        let dated: Vec<String> = text
            .split(open)
            .enumerate()
            .map(|(place, part)| match part.split_once('<') {
                Some((_, rest)) if place > 0 => format!("{time}<{rest}"),
                _ => part.to_owned(),
            })
            .collect();
        text = dated.join(open);
    }
    protocol.ok(text.into_bytes())
}

/// Answers from the test's data, or has moto answer.
async fn respond(state: &State, call: &Call, parts: Parts, body: Bytes) -> Result<Reply, ApiError> {
    let operation = call.operation.operation.as_str();
    let region = call.operation.region.as_str();
    let answered = match (call.operation.service.as_str(), operation) {
        ("cloudwatch", _) => cloudwatch::answer(&state.read(), operation, region, &body),
        ("pricing", _) => pricing::answer(&state.read(), operation, region, &body),
        ("savingsplans", _) => savings_plans::answer(&state.read(), operation, region, &body),
        ("organizations", "ListAccounts") => organization::list_accounts(&state.read(), &body),
        ("sagemaker", "ListTrainingJobs" | "DescribeTrainingJob" | "Search") => {
            jobs::answer(&state.read(), operation, region, &body)
        }
        ("ecs" | "batch", _) => containers::answer(&state.read(), operation, region, &body),
        (
            "sagemaker",
            "ListInferenceComponents" | "DescribeInferenceComponent" | "ListTrainingPlans",
        )
        | ("tag", "GetResources") => managed::answer(&state.read(), operation, region, &body),
        ("sagemaker", "DescribeEndpointConfig") => {
            let answer = forward(state, call, parts, body).await?;
            return Ok(modelless(state, answer, call.protocol).await);
        }
        ("cost-optimization-hub", "ListRecommendations") => {
            hub::list_recommendations(&state.read(), region, &body)
        }
        ("sts", "AssumeRole") => organization::assume_role(&state.read(), &body),
        ("ec2", "DescribeSpotPriceHistory") => {
            ec2::spot_price_history(&state.read(), region, &body)
        }
        ("ec2", "DescribeReservedInstances") => {
            let account = organization::account_of(&call.access_key).or(state.account.as_deref());
            owned::reserved_instances(&state.read(), (account, region), &body)
        }
        ("ec2", "DescribeCapacityReservations") => {
            owned::capacity_reservations(&state.read(), region, &body)
        }
        ("ec2", "DescribeInstances") => {
            let expanded = ec2::expand_wildcards(&body, &state.read().launched_types);
            let launched_at = state.read().launched_at;
            let answer = forward(state, call, parts, expanded.map_or(body, Bytes::from)).await?;
            return Ok(match launched_at {
                Some(time) if answer.status().is_success() => {
                    backdated(answer, call.protocol, time).await
                }
                _ => answer,
            });
        }
        ("ec2", "RunInstances") => {
            state.write().launched_types.extend(ec2::launched_type(&body));
            return forward(state, call, parts, body).await;
        }
        _ => return forward(state, call, parts, body).await,
    };
    answered.map(|body| call.protocol.ok(body))
}

/// Passes a request on with its headers, and the answer back. An HTML error
/// page is how moto says that it lacks the operation.
async fn forward(
    state: &State,
    call: &Call,
    mut parts: Parts,
    body: Bytes,
) -> Result<Reply, ApiError> {
    let name = format!("{}:{}", call.operation.service, call.operation.operation);
    let Some(upstream) = &state.upstream else { return Err(ApiError::invalid_action(&name)) };
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    let account = organization::account_of(&call.access_key).or(state.account.as_deref());
    if let Some(account) = account {
        let account = account.parse().expect("an account is digits");
        parts.headers.insert("x-moto-account-id", account);
    }
    let (parts, body) = exchange(upstream, Request::from_parts(parts, Full::from(body)))
        .await
        .map_err(|error| ApiError::new(400, "UpstreamFailed", format!("{name}: {error}")))?;
    let is_page = parts
        .headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
    // An object that is not there is a page without words.
    if is_page && !parts.status.is_success() && call.operation.service != "s3" {
        return Err(ApiError::invalid_action(&name));
    }
    Ok(Response::from_parts(parts, Full::from(body).boxed()))
}

async fn exchange(
    address: &str,
    request: Request<Full<Bytes>>,
) -> Result<(hyper::http::response::Parts, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let (parts, body) = sender.send_request(request).await?.into_parts();
    Ok((parts, body.collect().await?.to_bytes()))
}
