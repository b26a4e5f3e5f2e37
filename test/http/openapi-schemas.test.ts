/** What the OpenAPI document says about each route, and what generated clients need from it. */

import { expect, test } from "bun:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";
import { Ajv2020 } from "ajv/dist/2020.js";
import { appRouter } from "../../routers/index.ts";
import { createDocument } from "../../src/http/openapi/document.ts";
import { EVENTS } from "../../src/model/event.ts";
import { OPERATIONS } from "../support/operations.ts";

const base_url = "https://relay.test";
const document: any = createDocument({ router: appRouter, version: "1.0.0", base_url });
const { schemas } = document.components;
const operations: any[] = Object.values<object>(document.paths).flatMap((path) =>
  Object.values(path),
);

/** Every object of the document except its examples, with its place. */
function* nodesOf(node: any, place: readonly string[] = []): Generator<[string[], any]> {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) yield [[...place], node];
  for (const [name, child] of Object.entries(node)) {
    if (name !== "example") yield* nodesOf(child, [...place, name]);
  }
}

const nodes = [...nodesOf(document)];
const isComponent = (place: readonly string[]) =>
  place.length === 3 && place[0] === "components" && place[1] === "schemas";
const where = (found: typeof nodes) => found.map(([place]) => place.join("."));

/** Names of the components that a node refers to, directly or not. */
function reach(node: unknown, found = new Set<string>()): Set<string> {
  for (const [, { $ref }] of nodesOf(node)) {
    const name = $ref?.replace("#/components/schemas/", "");
    if (!(name in schemas) || found.has(name)) continue;
    found.add(name);
    reach(schemas[name], found);
  }
  return found;
}

const requests = operations.map(({ requestBody }) => requestBody);
const answers = operations.map(({ responses }) => responses);

test("Spectral finds no fault in the OpenAPI document", async () => {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [oas], rules: { "oas3-parameter-description": "warn" } } as never);
  expect(await spectral.run(structuredClone(document))).toEqual([]);
}, 300_000);

test("Redocly finds no fault in the OpenAPI document", async () => {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const source = JSON.stringify(document);
  const found = await lintFromString({ source, absoluteRef: "openapi.json", config });
  const faults = found.map(({ ruleId, message }) => `${ruleId}: ${message}`);
  // No channel has the id `links`, and each two paths have different methods.
  const links =
    /`\/v1\/channels\/links\/{link_id}` and `\/v1\/channels\/{channel_id}\/(test|reached)`/;
  expect(faults.filter((fault) => !links.test(fault))).toEqual([]);
}, 300_000);

test("every number in the OpenAPI document has a format that holds its values", () => {
  const numbers = nodes.filter(([, { type }]) => [type].flat().includes("number"));
  const integers = nodes.filter(([, { type }]) => [type].flat().includes("integer"));
  expect(where(numbers.filter(([, { format }]) => format !== "double"))).toEqual([]);
  // Every number is a timestamp, so every field that is a number is named `at`, `…_at`, `…_by` or `…_since`.
  const names = new Set(numbers.map(([place]) => place.at(-1)!));
  expect([...names].filter((name) => !/(^|_)(at|by|since)$/.test(name))).toEqual([]);
  expect(numbers.length).toBeGreaterThan(15);
  const format_of = new Map<string, string>();
  for (const [place, { format, minimum = 0, maximum = 0 }] of integers) {
    const name = place.at(-1) === "schema" ? document_at(place.slice(0, -1)).name : place.at(-1);
    format_of.set(name ?? place.at(-2), format);
    expect([minimum, maximum].filter((bound) => Math.abs(bound) >= 2 ** 31)).toEqual([]);
  }
  // Integers that nothing limits to 32 bits.
  const wide = ["unread", "unreceived", "duration_ms", "missed", "count", "bytes", "max_bytes"];
  expect(Object.fromEntries(format_of)).toEqual(
    Object.fromEntries([...format_of.keys()].map((n) => [n, wide.includes(n) ? "int64" : "int32"])),
  );
  expect([...format_of.keys()]).toEqual(
    expect.arrayContaining([...wide, "progress", "limit", "wait", "expires_in", "in_progress"]),
  );
});

const document_at = (place: readonly string[]) =>
  place.reduce((node: any, step) => node[step], document);

test("every object and every list of values is a component, and each list occurs once", () => {
  const objects = nodes.filter(([place, { type, properties }]) => {
    return type === "object" && properties && !isComponent(place);
  });
  expect(where(objects)).toEqual([]);
  // The name of an event is a member of its own component.
  const lists = nodes.filter(([, node]) => Array.isArray(node.enum) && node.enum.length > 1);
  expect(where(lists.filter(([place]) => !isComponent(place)))).toEqual([]);
  const values = lists.map(([, node]) => [...node.enum].sort().join());
  expect(new Set(values).size).toBe(values.length);
  expect(nodes.filter(([, node]) => "const" in node)).toEqual([]);
  // Every union is a component, except `or null`.
  const unions = nodes.filter(([place, { anyOf, oneOf }]) => {
    const options: any[] = anyOf ?? oneOf ?? [];
    const is_nullable = options.length === 2 && options[1].type === "null" && options[0].$ref;
    return (
      options.length > 0 && !is_nullable && !place.join().startsWith("components,schemas,Stream")
    );
  });
  expect(where(unions)).toEqual([]);
  const names = Object.keys(schemas);
  expect(names.filter((name) => !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([]);
  expect(names.filter((name) => !reach([answers, requests, document.paths]).has(name))).toEqual([]);
});

/**
 * Types of each language that a program has without an import, and a schema could be named like:
 * Swift with its concurrency and Foundation, Kotlin, Java, C# with the usual namespaces, TypeScript.
 */
const TAKEN: Readonly<Record<string, string>> = {
  swift:
    "Task TaskGroup TaskLocal TaskPriority TaskExecutor Actor Clock Duration Instant Executor Job Error Result Error Identifiable Character Set Array Dictionary Data Date URL UUID Locale Calendar Notification Operation Process Progress Stream Thread Timer Host Port Bundle Scanner Measurement Unit Dimension Decimal Predicate",
  kotlin:
    "Any Unit Nothing Pair Triple Result Lazy Annotation Comparable Throwable Error Exception",
  java: "Object Class Record Module Package Process Thread Runtime System Void Number Character Error Exception Iterable Override",
  csharp:
    "Task TaskStatus TaskFactory TaskScheduler Action Activator Attribute Buffer Console Environment Event EventArgs Exception Guid Index Lazy Object Progress Random Range Timer Type Version Thread Monitor Stream Path File Directory Enumerable List Dictionary Queue Stack Assembly",
  typescript:
    "Animation Attr Blob Cache Client Comment Document Element Event EventSource File Headers History Lock Message Node Notification Option Plugin Range Request Response Selection Storage Text Touch Worker Error Map Set Date Record Partial Pick Promise Symbol Proxy",
  python: "Exception Warning Any Optional Union Literal",
  go: "Client Request Response Error",
};

test("no schema has the name of a type that is built into a language", () => {
  const taken = new Set(Object.values(TAKEN).flatMap((names) => names.split(" ")));
  expect(
    ["Task", "TaskPriority", "TaskStatus", "Event"].filter((name) => !taken.has(name)),
  ).toEqual([]);
  expect(Object.keys(schemas).filter((name) => taken.has(name))).toEqual([]);
});

/** Words that a property or parameter may not be called, since a generator would have to rename it. */
const RESERVED: Readonly<Record<string, string>> = {
  go: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch var",
  java: "abstract assert boolean byte char class double enum extends final finally float implements instanceof int long native new private protected public short static strictfp super synchronized this throw throws transient try void volatile while",
  kotlin: "as fun in is null object typealias typeof val when",
  swift:
    "associatedtype deinit extension fileprivate init inout internal let open operator precedencegroup protocol rethrows subscript guard repeat where catch throw nil Any Self",
  typescript: "arguments await delete eval export function implements let with yield debugger",
  python:
    "and async def del elif from except global lambda nonlocal not or pass raise True False None print",
  csharp:
    "base bool checked decimal delegate event explicit extern fixed foreach implicit lock namespace object out override params readonly ref sbyte sealed sizeof stackalloc string uint ulong unchecked unsafe ushort using virtual",
  rust: "crate self type dyn extern fn impl loop match mod move mut pub ref trait unsafe use async await",
  ruby: "alias begin BEGIN defined? END end ensure module next redo rescue retry then undef unless until",
  php: "array callable clone declare die echo elseif empty enddeclare endfor endforeach endif endswitch endwhile exit include insteadof isset list require unset use xor",
  dart: "covariant deferred dynamic factory get hide library mixin on part set show sync",
  // Members of the models that generators make.
  members:
    "to_dict to_json to_str to_map from_dict from_json additional_properties hash_code marshal_json unmarshal_json model_config model_fields model_dump copy json dict schema validate construct",
};

/** Names of the first version, which generators rename: the tables of `docs/clients.md` have such clients. */
const KEPT_NAMES = ["event", "from", "self", "type"];

const pascal = (name: string) =>
  name.replace(/(^|[^a-zA-Z0-9]+)(.)/g, (_, __, char) => char.toUpperCase());

/** Names among these that a generator uses for two things, or cannot use as they are. */
function collisions(names: readonly string[], reserved: ReadonlySet<string>): string[] {
  const made = new Map<string, string>();
  for (const name of names) {
    for (const form of ["Get", "Has", "Set", "Unset", "Is", "With", "Clear", "Add"]) {
      for (const end of ["", "Ok", "Nil"]) made.set(`${form}${pascal(name)}${end}`, name);
    }
  }
  const forms = names.map(pascal);
  return names.filter(
    (name, i) => made.has(pascal(name)) || forms.indexOf(pascal(name)) !== i || reserved.has(name),
  );
}

test("no property or parameter collides with names that generators make", () => {
  const reserved = new Set(Object.values(RESERVED).flatMap((words) => words.split(" ")));
  expect(collisions(["context", "has_context"], reserved)).toEqual(["has_context"]);
  expect(collisions(["kind", "unset_kind", "class"], reserved)).toEqual(["unset_kind", "class"]);
  expect(collisions(["created_at", "createdAt"], reserved)).toEqual(["createdAt"]);
  const sets = nodes
    .filter(([place, { properties }]) => properties && !place.includes("properties"))
    .map(([place, { properties }]) => ({ place, names: Object.keys(properties) }));
  expect(sets.length).toBeGreaterThan(80);
  const parameters = operations.map(({ operationId, parameters: given = [], requestBody }) => {
    const body = requestBody?.content["application/json"].schema.$ref?.split("/").at(-1);
    const fields = Object.keys(schemas[body]?.properties ?? {});
    return { place: [operationId], names: [...given.map(({ name }: any) => name), ...fields] };
  });
  const found = [...sets, ...parameters].flatMap(({ place, names }) =>
    collisions(names, reserved)
      .filter((name) => !KEPT_NAMES.includes(name))
      .map((name) => `${place.join(".")}: ${name}`),
  );
  expect(found).toEqual([]);
});

test("operation ids are a verb and a noun, all different, and different from every schema", () => {
  const ids = operations.map(({ operationId }) => operationId as string);
  const verbs =
    /^(approve|await|check|claim|confirm|create|deny|revoke|get|list|update|delete|replace|register|remove|ask|answer|cancel|read|send|stream)[A-Z][A-Za-z]+$/;
  expect(ids.filter((id) => !verbs.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(operations.length);
  // What generators make of an operation: its parameters, body and response.
  // The same for schemas in Go: a constructor and a nullable type for each.
  const of_schemas = Object.keys(schemas).flatMap((name) => [`New${name}`, `Nullable${name}`]);
  expect(of_schemas.filter((name) => name in schemas)).toEqual([]);
  const made = ids.flatMap((id) => {
    const name = id[0]!.toUpperCase() + id.slice(1);
    const ends = ["Request", "Response", "Params", "Body", "Data", "Error", "Errors", "Headers"];
    return ["", ...ends].map((end) => name + end);
  });
  expect(made.filter((name) => name in schemas)).toEqual([]);
});

test("the constants of all lists of values have different names", () => {
  const names = Object.values<any>(schemas).flatMap(
    ({ enum: values, "x-enum-varnames": given }) => given ?? values ?? [],
  );
  expect(new Set(names).size).toBe(names.length);
  expect(schemas.QuestionStatus["x-enum-varnames"]).toEqual([
    ...["PENDING", "ANSWERED", "EXPIRED", "QUESTION_STATUS_CANCELLED"],
  ]);
  expect(schemas.QuestionKind).not.toHaveProperty("x-enum-varnames");
});

test("operations and tags have descriptions, and the document names contact and licence", () => {
  const bare = operations.filter(({ summary, description }) => !summary || !description);
  expect(bare.map(({ operationId }) => operationId)).toEqual([]);
  expect(document.tags.filter((tag: any) => !tag.description)).toEqual([]);
  const { contact, license, description } = document.info;
  expect(contact).toEqual({ name: "Relay", url: `${base_url}/docs` });
  expect([license.identifier, typeof description]).toEqual(["MIT", "string"]);
});

test("response schemas allow unknown fields, and request schemas refuse them [§1.3.9]", () => {
  const kinds = (roots: unknown) =>
    [...reach(roots)]
      .filter((name) => schemas[name].type === "object")
      .map((name) => [name, schemas[name].additionalProperties]);
  const open = kinds(answers);
  const closed = kinds(requests);
  expect(open.filter(([, more]) => more !== true)).toEqual([]);
  expect(closed.filter(([, more]) => more !== false)).toEqual([]);
  expect([open.length > 30, closed.length > 12]).toEqual([true, true]);
});

test("every event is a component, and the stream is their union by name [§7.1.2]", () => {
  const { content } = document.paths["/v1/events"].get.responses[200];
  expect(Object.keys(content)).toEqual(["text/event-stream"]);
  const { oneOf, discriminator } = schemas.StreamEvent;
  const refs = oneOf.map(({ $ref }: any) => $ref);
  expect(Object.keys(discriminator.mapping)).toEqual(Object.keys(EVENTS));
  expect(Object.values(discriminator.mapping)).toEqual(refs);
  expect(discriminator.propertyName).toBe("event");
  const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false });
  ajv.addSchema(document, "doc");
  const fits = (name: string, value: unknown) =>
    ajv.compile({ $ref: `doc#/components/schemas/${name}` })(value);
  const task = document.paths["/v1/tasks"].post.responses[201].content["application/json"].example;
  expect(fits("StreamEvent", { event: "task.updated", data: { task } })).toBe(true);
  expect(fits("StreamEvent", { event: "key.updated", data: { task } })).toBe(false);
  expect(fits("StreamEvent", { event: "task.gone", data: { task } })).toBe(false);
  expect(fits("StreamEventData", { task })).toBe(true);
});

for (const [
  name,
  { success, existing, access, body, query = [], accepts_idempotency_key, errors = [] },
] of Object.entries(OPERATIONS)) {
  test(`the OpenAPI document has status, credential, body, parameters and errors of ${name} [§9.1.3]`, () => {
    const [method, path] = name.split(" ") as [string, string];
    const operation = document.paths[path][method.toLowerCase()];
    const statuses = Object.keys(operation.responses).map(Number);
    expect(statuses.filter((status) => status < 400)).toEqual(
      existing === undefined ? [success] : [existing, success],
    );

    const schemes = operation.security.map((one: object) => Object.keys(one).join());
    expect(schemes).toEqual(
      access === "none" ? [] : access === "any" ? ["account", "key"] : [access],
    );
    for (const scheme of schemes) {
      const { type, scheme: kind } = document.components.securitySchemes[scheme];
      expect([type, kind]).toEqual(["http", "bearer"]);
    }

    expect(operation.requestBody?.required).toBe(body && body === "required");
    if (body) expect(Object.keys(operation.requestBody.content)).toEqual(["application/json"]);

    const parameters: any[] = operation.parameters ?? [];
    const named = (place: string) => parameters.filter((p) => p.in === place).map((p) => p.name);
    expect(named("query").sort()).toEqual([...query].sort());
    const agents = access === "key" || access === "any";
    expect(named("header")).toEqual([
      ...(accepts_idempotency_key ? ["Idempotency-Key"] : []),
      ...(agents ? ["X-Agent-Host"] : []),
    ]);
    expect(named("path")).toEqual([...name.matchAll(/\{(\w+)\}/g)].map(([, one]) => one));
    for (const parameter of parameters) {
      expect(parameter.required ?? false).toBe(parameter.in === "path");
      const list = ["status", "priority"].includes(parameter.name);
      expect(parameter.schema.type === "array").toBe(list);
      if (list) expect([parameter.style, parameter.explode]).toEqual(["form", true]);
    }

    const expected = [429, 500, 503, ...errors];
    if (access !== "none") expected.push(401);
    if (access === "account" || access === "key") expected.push(403);
    if (body) expected.push(400, 413, 415);
    if (body || query.length > 0) expected.push(422);
    expect(statuses).toEqual(expect.arrayContaining(expected));
    for (const status of statuses.filter((one) => one >= 400)) {
      const { content, headers, description } = operation.responses[status];
      expect(content).toEqual({
        "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
      });
      expect(description).toMatch(/^`[a-z_]+`: /);
      const waits = status === 429 || status === 503;
      expect(headers?.["Retry-After"] !== undefined).toBe(waits);
    }
    for (const status of statuses) {
      const { headers = {} } = operation.responses[status];
      const told = ["RateLimit", "RateLimit-Policy"].filter((header) => header in headers);
      expect([status, told.length]).toEqual([status, status < 500 ? 2 : 0]);
    }
  });
}
