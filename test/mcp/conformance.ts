/** Checks of the official conformance suite that cannot pass for Relay, each with its reason. */

const TOOL = "calls a tool of the suite's own example server";
const INPUT = "calls a tool or prompt of the example server that asks the client's user for input";
const PROMPT = "gets a prompt of the suite's own example server";
const RESOURCE = "reads a resource of the suite's own example server";
const SUBSCRIBE =
  "optional capability, not announced: changes come by waiting, not by subscription";
const COMPLETION = "optional capability, not announced: no argument of Relay's has completions";
const LOGGING = "optional capability, not announced: Relay sends clients no log";
const HEADER = "needs a tool that mirrors arguments in headers; none of Relay's does";
const EXTENSION = "an extension for long-running calls that Relay does not announce";

/** Scenario -> why, and the checks that fail. Any other failure is new, and so is a listed check that passes. */
export const NOT_APPLICABLE: Readonly<
  Record<string, { readonly reason: string; readonly checks: readonly string[] }>
> = {
  "completion-complete": { reason: COMPLETION, checks: ["completion-complete"] },
  "elicitation-sep1034-defaults": { reason: INPUT, checks: ["elicitation-sep1034-general"] },
  "elicitation-sep1330-enums": { reason: INPUT, checks: ["elicitation-sep1330-general"] },
  "http-custom-header-server-validation": {
    reason: HEADER,
    checks: [
      "sep-2243-server-decode-base64",
      "sep-2243-server-no-xmcp-tool",
      "sep-2243-server-reject-invalid-param-chars",
      "sep-2243-server-reject-param-mismatch",
      "sep-2243-server-validate-param-match",
    ],
  },
  "input-required-result-basic-elicitation": {
    reason: INPUT,
    checks: ["sep-2322-elicitation-incomplete"],
  },
  "input-required-result-basic-list-roots": {
    reason: INPUT,
    checks: ["sep-2322-list-roots-incomplete"],
  },
  "input-required-result-basic-sampling": {
    reason: INPUT,
    checks: ["sep-2322-sampling-incomplete"],
  },
  "input-required-result-capability-check": {
    reason: INPUT,
    checks: ["sep-2322-respect-client-capabilities"],
  },
  "input-required-result-multi-round": { reason: INPUT, checks: ["sep-2322-multi-round-r1"] },
  "input-required-result-multiple-input-requests": {
    reason: INPUT,
    checks: ["sep-2322-multiple-inputs-incomplete"],
  },
  "input-required-result-non-tool-request": {
    reason: INPUT,
    checks: ["sep-2322-non-tool-incomplete"],
  },
  "input-required-result-request-state": {
    reason: INPUT,
    checks: ["sep-2322-request-state-incomplete"],
  },
  "input-required-result-result-type": { reason: INPUT, checks: ["sep-2322-result-type-included"] },
  "input-required-result-tampered-state": {
    reason: INPUT,
    checks: ["sep-2322-reject-tampered-state"],
  },
  "json-schema-2020-12": { reason: TOOL, checks: ["json-schema-2020-12-tool-found"] },
  "logging-set-level": { reason: LOGGING, checks: ["logging-set-level"] },
  "prompts-get-embedded-resource": { reason: PROMPT, checks: ["prompts-get-embedded-resource"] },
  "prompts-get-simple": { reason: PROMPT, checks: ["prompts-get-simple"] },
  "prompts-get-with-args": { reason: PROMPT, checks: ["prompts-get-with-args"] },
  "prompts-get-with-image": { reason: PROMPT, checks: ["prompts-get-with-image"] },
  "resources-read-binary": { reason: RESOURCE, checks: ["resources-read-binary"] },
  "resources-read-text": { reason: RESOURCE, checks: ["resources-read-text"] },
  "resources-subscribe": { reason: SUBSCRIBE, checks: ["resources-subscribe"] },
  "resources-templates-read": { reason: RESOURCE, checks: ["resources-templates-read"] },
  "resources-unsubscribe": { reason: SUBSCRIBE, checks: ["resources-unsubscribe"] },
  "server-stateless": {
    reason: TOOL,
    checks: [
      "sep-2575-http-server-no-independent-requests-on-stream",
      "sep-2575-missing-capability-http-400",
      "sep-2575-server-no-log-without-loglevel",
      "sep-2575-server-rejects-undeclared-capability",
    ],
  },
  "tasks-capability-negotiation": {
    reason: EXTENSION,
    checks: [
      "sep-2663-server-rejects-undeclared-client",
      "sep-2663-tasks-methods-non-declaring",
      "tasks-extension-advertised",
      "tasks-per-request-meta-opt-in",
    ],
  },
  "tasks-dispatch-and-envelope": {
    reason: EXTENSION,
    checks: [
      "sep-2663-durable-create-strong-consistency",
      "sep-2663-legacy-task-param-ignored",
      "sep-2663-tasks-get-invalid-task-id-32602",
      "tasks-immediate-result-shortcut",
      "tasks-result-type-complete-on-non-task-responses",
      "tasks-server-directed-creation-no-hint",
    ],
  },
  "tasks-lifecycle": {
    reason: EXTENSION,
    checks: [
      "sep-2663-cancel-ack-empty-result",
      "sep-2663-result-type-task-on-create",
      "sep-2663-tasks-get-status-completed",
      "sep-2663-tasks-get-status-failed",
      "sep-2663-tasks-get-status-working",
      "sep-2663-tool-error-uses-completed-status",
      "tasks-cancel-terminal-idempotent-ack",
      "tasks-sync-tool-call",
    ],
  },
  "tasks-mrtr-composition": {
    reason: EXTENSION,
    checks: ["sep-2663-mrtr-synchronous-before-task-creation"],
  },
  "tasks-mrtr-input": {
    reason: EXTENSION,
    checks: [
      "sep-2663-tasks-get-status-input-required",
      "tasks-mrtr-partial-fulfillment",
      "tasks-mrtr-tasks-update-resumes",
    ],
  },
  "tasks-request-headers": {
    reason: EXTENSION,
    checks: [
      "sep-2663-routing-headers-accepted-on-tasks-get",
      "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get",
      "tasks-headers-tolerate-mcp-method-on-tools-call",
    ],
  },
  "tasks-request-state-removal": {
    reason: EXTENSION,
    checks: ["tasks-request-state-removal-setup"],
  },
  "tasks-required-task-error": {
    reason: EXTENSION,
    checks: ["sep-2663-server-returns-missing-capability-when-required"],
  },
  "tasks-wire-fields": {
    reason: EXTENSION,
    checks: [
      "tasks-no-early-ttl-expiry",
      "tasks-no-related-task-meta-on-inlined-result",
      "tasks-wire-field-renames",
    ],
  },
  "tools-call-audio": { reason: TOOL, checks: ["tools-call-audio"] },
  "tools-call-elicitation": { reason: TOOL, checks: ["tools-call-elicitation"] },
  "tools-call-embedded-resource": { reason: TOOL, checks: ["tools-call-embedded-resource"] },
  "tools-call-error": { reason: TOOL, checks: ["tools-call-error"] },
  "tools-call-image": { reason: TOOL, checks: ["tools-call-image"] },
  "tools-call-mixed-content": { reason: TOOL, checks: ["tools-call-mixed-content"] },
  "tools-call-sampling": { reason: TOOL, checks: ["tools-call-sampling"] },
  "tools-call-simple-text": { reason: TOOL, checks: ["tools-call-simple-text"] },
  "tools-call-with-logging": { reason: TOOL, checks: ["tools-call-with-logging"] },
  "tools-call-with-progress": { reason: TOOL, checks: ["tools-call-with-progress"] },
};
