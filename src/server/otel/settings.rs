//! Reads where spans go from the variables of OpenTelemetry's specification
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use std::{fmt, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::{config::Environment, redact};

/// A collector.
pub(super) struct Collector {
    pub(super) url: String,
    /// The headers of every request to it.
    pub(super) headers: HeaderMap,
    /// The resource attributes, as names and values.
    pub(super) resource: Vec<(String, String)>,
    /// How long it may take to answer.
    pub(super) patience: Duration,
}

const SERVICE: &str = "service.name";
const USUAL_MILLISECONDS: u64 = 10_000;

impl Collector {
    /// The collector of this environment, if it names one. An error says which variable is wrong.
    pub(super) fn of(environment: &Environment) -> Result<Option<Collector>, String> {
        let is = |name: &str, value: &str| environment.get(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
        // The variable of traces goes before the one of all signals.
        let either = |end: &str| {
            let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{end}"), format!("OTEL_EXPORTER_OTLP_{end}")];
            names.into_iter().find_map(|name| Some((environment.get(&name)?.to_owned(), name)))
        };
        let exporters = environment.get("OTEL_TRACES_EXPORTER").unwrap_or("otlp");
        if is("OTEL_SDK_DISABLED", "true") || !exporters.split(',').any(|exporter| exporter.trim() == "otlp") {
            return Ok(None);
        }
        let Some((given, name)) = either("ENDPOINT") else { return Ok(None) };
        let mut url: Url = given.parse().map_err(|error| format!("{name} is not a URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(format!("{name} must be an http or https URL"));
        }
        if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
            url.set_path(&format!("{}/v1/traces", url.path().trim_end_matches('/')));
        }
        if let Some((protocol, name)) = either("PROTOCOL").filter(|(protocol, _)| protocol.eq_ignore_ascii_case("grpc")) {
            return Err(format!(
                "{name} is {protocol}; toolglot sends OTLP over HTTP: set it to http/json, and the endpoint to the collector's HTTP port (usually 4318)"
            ));
        }
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        if let Some((list, name)) = either("HEADERS") {
            for (key, value) in pairs(&list) {
                let wrong = || format!("{name} has a header that HTTP does not allow: `{}`", redact::line(&key));
                let (key, mut value) = match (HeaderName::from_bytes(key.as_bytes()), HeaderValue::from_str(&value)) {
                    (Ok(key), Ok(value)) => (key, value),
                    _ => return Err(wrong()),
                };
                value.set_sensitive(true);
                headers.insert(key, value);
            }
        }
        let milliseconds = match either("TIMEOUT") {
            Some((given, name)) => {
                given.parse::<u64>().map_err(|_| format!("{name} is `{given}`, and must be a number of milliseconds"))?
            }
            None => USUAL_MILLISECONDS,
        };
        let mut resource = pairs(environment.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        if let Some(name) = environment.get("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != SERVICE);
            resource.push((SERVICE.into(), name.into()));
        }
        for (key, value) in [(SERVICE, "toolglot"), ("service.version", env!("CARGO_PKG_VERSION"))] {
            if !resource.iter().any(|(given, _)| given == key) {
                resource.push((key.into(), value.into()));
            }
        }
        let patience = Duration::from_millis(milliseconds);
        Ok(Some(Collector { url: url.into(), headers, resource, patience }))
    }

    /// Its URL for people.
    pub(super) fn shown(&self) -> String {
        redact::line(&self.url)
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collector({})", self.shown())
    }
}

/// `key=value,key=value`, values percent-encoded, as in W3C Baggage.
fn pairs(list: &str) -> Vec<(String, String)> {
    let pairs = list.split(',').filter_map(|pair| pair.split_once('='));
    let decoded = |value: &str| percent_decode_str(value.trim()).decode_utf8_lossy().into_owned();
    pairs.map(|(key, value)| (key.trim().to_owned(), decoded(value))).filter(|(key, _)| !key.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(variables: [(&str, &str); N]) -> Result<Option<Collector>, String> {
        Collector::of(&Environment::from(variables))
    }

    fn url<const N: usize>(variables: [(&str, &str); N]) -> Option<String> {
        of(variables).unwrap().map(|collector| collector.url)
    }

    #[test]
    fn the_endpoint_is_named_by_the_environment_or_there_is_none() {
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        assert_eq!(url([]), None);
        assert_eq!(url([(ALL, "http://c:4318")]).unwrap(), "http://c:4318/v1/traces");
        assert_eq!(url([(ALL, "https://c/otlp/")]).unwrap(), "https://c/otlp/v1/traces");
        assert_eq!(url([(ALL, "http://c:4318"), (TRACES, "http://d/x")]).unwrap(), "http://d/x");
        assert_eq!(url([(TRACES, "http://d")]).unwrap(), "http://d/");
        assert_eq!(url([(ALL, "http://c"), ("OTEL_SDK_DISABLED", "TRUE")]), None);
        assert_eq!(url([(ALL, "http://c"), ("OTEL_TRACES_EXPORTER", "none")]), None);
        assert!(url([(ALL, "http://c"), ("OTEL_TRACES_EXPORTER", "console, otlp")]).is_some());
        assert!(url([(ALL, "http://c"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]).is_some());
        for (variables, named) in [
            ([(ALL, "c:4318"), ("", "")], ALL),
            ([(ALL, "nonsense"), ("", "")], ALL),
            ([(ALL, "http://c"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "4318"),
            ([(ALL, "http://c"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")], "milliseconds"),
            ([(ALL, "http://c"), ("OTEL_EXPORTER_OTLP_HEADERS", "a b=1")], "`a b`"),
        ] {
            assert!(of(variables).unwrap_err().contains(named), "{variables:?}");
        }
    }

    #[test]
    fn headers_and_names_are_decoded() {
        let collector = of([
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:pass@c"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20eDp5, x-team = a%2Cb ,,novalue"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=t%C3%A9st,broken=100%"),
            ("OTEL_SERVICE_NAME", "edge"),
        ]);
        let collector = collector.unwrap().unwrap();
        assert_eq!(collector.headers["authorization"], "Basic eDp5");
        assert_eq!(collector.headers["x-team"], "a,b");
        let attribute = |name: &str| collector.resource.iter().find(|(key, _)| key == name).unwrap().1.as_str();
        assert_eq!((attribute("service.name"), attribute("deployment.environment.name")), ("edge", "tést"));
        assert_eq!(attribute("broken"), "100%");
        let shown = format!("{collector:?}{:?}", collector.headers);
        assert!(!shown.contains("pass") && !shown.contains("eDp5"), "{shown}");
    }
}
