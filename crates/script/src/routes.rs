//! Calls of the functions that game code registers for HTTP routes, and totals of the requests to each route.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use muster_api::game::{Failure, Invocation};
use muster_api::routes::{FoundRoute, RouteRequest, RouteResponse};
use muster_wire::code::Code;

use crate::functions::Inner;
use crate::host::line_of;
use crate::machine::Machine;
use crate::machine::call::{CallInput, Callee, ResultType};
use crate::machine::routes::{response, route_argument};
use crate::pool::Pool;
use crate::value::Value;

/// The largest number of routes with totals of their own. Routes of earlier game code count too.
pub const ROUTES_TOLD_APART_MAX: usize = 1_024;

/// The name under which all further routes have their totals together.
const OTHERS: &str = "other";

/// Totals of the requests to routes, by the paths as game code registered them.
#[derive(Debug, Default)]
pub struct RouteTotals(Mutex<BTreeMap<String, RouteTotal>>);

/// Totals of the requests to one route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteTotal {
    /// Requests that ended, with an answer or an error.
    pub requests: u64,
    /// Requests that ended with a status of 400 or above, or an error.
    pub errors: u64,
    /// Bytes of the bodies of requests.
    pub received_bytes: u64,
    /// Bytes of the bodies of answers.
    pub sent_bytes: u64,
    /// Time from requests to answers, in microseconds.
    pub latency_us: u64,
}

impl RouteTotals {
    fn add(&self, pattern: &str, one: RouteTotal) {
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = totals.contains_key(pattern) || totals.len() < ROUTES_TOLD_APART_MAX;
        let total = totals.entry(if is_known { pattern } else { OTHERS }.to_owned()).or_default();
        total.requests += one.requests;
        total.errors += one.errors;
        total.received_bytes += one.received_bytes;
        total.sent_bytes += one.sent_bytes;
        total.latency_us += one.latency_us;
    }

    /// The totals of all routes, by their paths.
    pub fn all(&self) -> Vec<(String, RouteTotal)> {
        let totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        totals.iter().map(|(pattern, total)| (pattern.clone(), *total)).collect()
    }
}

impl<M: Machine> Inner<M> {
    /// Calls the function of a route. Failures are logged here, because clients are not told the reasons. `Unavailable`
    /// is not logged, because a server that is busy or stopping answers it to many requests.
    pub(crate) async fn serve(
        &self,
        pool: Rc<Pool<M>>,
        found: FoundRoute,
        request: RouteRequest,
        invocation: Invocation,
    ) -> Result<RouteResponse, Failure> {
        let FoundRoute { index, pattern, parameters, .. } = found;
        let (began, method, received) = (self.host.clock.now(), request.method.clone(), request.body.len());
        let argument = route_argument(request, parameters, &invocation);
        let input = CallInput { invocation, argument };
        let answered = pool.run(Callee::Route(index), input, ResultType::Value).await;
        let answered = answered.and_then(|answer| response(answer.map(|value| decoded(&value)).transpose()?));
        if let Err(failure) = &answered
            && failure.code != Code::Unavailable
            && failure.trace.is_none()
        {
            let code = failure.code.number();
            tracing::warn!(
                route = &*pattern,
                method,
                code,
                told = line_of(&failure.message),
                "a route of game code failed"
            );
        }
        let is_error = answered.as_ref().map_or(true, |answer| answer.status >= 400);
        let total = RouteTotal {
            requests: 1,
            errors: is_error.into(),
            received_bytes: received as u64,
            sent_bytes: answered.as_ref().map_or(0, |answer| answer.body.len()) as u64,
            latency_us: u64::try_from(self.host.clock.now().0.saturating_sub(began.0)).unwrap_or(0),
        };
        self.metrics.routes.add(&pattern, total);
        if answered.is_err() {
            self.metrics.routes_failed.fetch_add(1, Ordering::Relaxed);
        }
        answered
    }
}

fn decoded(value: &[u8]) -> Result<Value, Failure> {
    Value::decode(value).map_err(|error| Failure::new(Code::Internal, error.to_string()))
}
