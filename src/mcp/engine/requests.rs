//! Answers `initialize`, `tools/list` and `tools/call` from the pool.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
        ContentBlock, CustomRequest, CustomResult, ErrorCode, Implementation, ListPromptsRequestMethod, ListPromptsResult,
        ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    transport::IntoTransport,
};
use serde_json::{Map, Value};

use super::{Caller, Shared};
use crate::{
    config::in_both,
    lock::Hold,
    mcp::{
        catalogue::{Catalogue, Offered},
        pool::{BUILT_IN, Call, PATIENCE},
        registry::Permission,
        response::{INVALID_PARAMS, McpResponse, RpcError, ServiceInfo, ToolResult},
    },
};

/// What one session can ask for, and the services of its last results.
pub(super) struct Requests {
    shared: Arc<Shared>,
    context: Mutex<VecDeque<ServiceInfo>>,
}

/// How many results a session remembers, to know which server a bare name means.
const REMEMBERED: usize = 16;

impl Requests {
    pub(super) fn new(shared: Arc<Shared>) -> Requests {
        Requests { shared, context: Mutex::default() }
    }

    /// Serves one client until it leaves.
    pub(super) async fn over<E: std::error::Error + Send + Sync + 'static, A>(
        self,
        transport: impl IntoTransport<RoleServer, E, A>,
    ) {
        match self.serve(transport).await {
            // Why it ended does not matter: the client is gone.
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::debug!(%error, "an MCP session was not begun"),
        }
    }

    async fn offered(&self, asked: &RequestContext<RoleServer>) -> Catalogue {
        let request = asked.extensions.get::<http::request::Parts>();
        let own = request.and_then(|request| request.extensions.get::<Caller>()?.servers.clone());
        let ours = [BUILT_IN.to_owned()];
        let servers = in_both((!self.shared.options.gateway).then_some(&ours[..]), own.as_deref());
        self.shared.pool.tools(servers.as_deref(), PATIENCE).await
    }

    async fn call(&self, name: &str, arguments: Map<String, Value>, asked: &RequestContext<RoleServer>) -> McpResponse {
        let headers = self.trusted_headers(asked);
        let offered = self.offered(asked).await;
        let context: Vec<ServiceInfo> = self.context.hold().iter().cloned().collect();
        // The built-in tools are offered under their own names.
        let built_in = offered.tools.iter().find(|tool| tool.is_built_in() && tool.service.tool == name);
        let Some(tool) = built_in.or_else(|| offered.resolve(name, &context)) else {
            if context.is_empty() {
                tracing::warn!(name, "no such tool, and no result that could say whose it is");
            }
            let names: Vec<&str> = offered.tools.iter().map(shown_name).collect();
            let message = format!("there is no tool `{name}`; there are: {}", names.join(", "));
            return McpResponse { outcome: Err(RpcError::new(INVALID_PARAMS, message)) };
        };
        let arguments = match tool.arguments(&Value::Object(arguments).to_string(), &self.shared.schemas) {
            Ok(arguments) => arguments,
            Err(why) => return failure(format!("{name}: {why}")).from_service(&tool.service),
        };
        // The client asks its user before it calls; that is the consent.
        let call = Call { consent: tool.permission == Permission::Ask, headers, ..Call::default() };
        let response = self.shared.pool.call(&tool.service, arguments, &call).await;
        let mut context = self.context.hold();
        context.retain(|service| *service != tool.service);
        context.push_front(tool.service.clone());
        context.truncate(REMEMBERED);
        response
    }

    /// The headers of the request that policies may read; a client over standard input has none.
    fn trusted_headers(&self, context: &RequestContext<RoleServer>) -> Vec<(String, String)> {
        let Some(parts) = context.extensions.get::<http::request::Parts>() else { return Vec::new() };
        let value = |name: &String| Some((name.clone(), parts.headers.get(name)?.to_str().ok()?.to_owned()));
        self.shared.options.trusted_headers.iter().filter_map(value).collect()
    }

    fn to_result(&self, response: McpResponse) -> Result<CallToolResult, ErrorData> {
        let as_text = self.shared.options.errors_as_text && response.is_error();
        match response.outcome {
            Err(error) if as_text => Ok(CallToolResult::success(vec![ContentBlock::text(format!("ERROR: {}", error.message))])),
            Ok(_) if as_text => Ok(CallToolResult::success(vec![ContentBlock::text(format!("ERROR: {}", response.to_text()))])),
            Err(error) => Err(ErrorData::new(ErrorCode(error.code.try_into().unwrap_or(-32603)), error.message, None)),
            Ok(result) => {
                let items = result.content.into_iter();
                let mut content: Vec<ContentBlock> = items.filter_map(|item| serde_json::from_value(item).ok()).collect();
                if content.is_empty() {
                    // Older clients read the content only, and some take an empty one for a failure.
                    content.push(ContentBlock::text(result.structured.as_ref().map(Value::to_string).unwrap_or_default()));
                }
                let mut out = if result.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
                out.structured_content = result.structured;
                Ok(out)
            }
        }
    }
}

impl ServerHandler for Requests {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("toolglot", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        asked: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = self.offered(&asked).await;
        let described = |mut tool: Offered| {
            tool.described.name = shown_name(&tool).to_owned().into();
            tool.described
        };
        Ok(ListToolsResult::with_all_items(offered.tools.into_iter().map(described).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let response = tokio::select! {
            response = self.call(&request.name, request.arguments.unwrap_or_default(), &context) => response,
            () = context.ct.cancelled() => failure("cancelled".into()),
        };
        self.to_result(response).map(CallToolResponse::Complete)
    }

    /// The SDK takes a request that it cannot read for one of an unknown method.
    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            "tools/call" => ErrorData::invalid_params("`name` must be a string, `arguments` an object", None),
            "tools/list" => ErrorData::invalid_params("`cursor` must be a string", None),
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        })
    }

    // The SDK answers these with empty lists; a client would take that for a capability.

    async fn complete(&self, _: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }
}

fn shown_name(tool: &Offered) -> &str {
    if tool.is_built_in() { &tool.service.tool } else { &tool.wire_name }
}

/// A call that did not run, as a result, so that the model reads why.
fn failure(message: String) -> McpResponse {
    McpResponse::result(ToolResult { is_error: true, ..ToolResult::text(message) })
}
