/** Accepted and refused values of each body field and query parameter, as JSON or query text. */

import { MARK } from "./wire.ts";

interface Row {
  readonly bad: readonly string[];
  /** Valid bodies are built with the first one. */
  readonly good: readonly string[];
  /** Fields that must be present beside this one. */
  readonly beside?: Readonly<Record<string, unknown>>;
  /** Fields that must be absent. */
  readonly without?: readonly string[];
}

const json = (...values: unknown[]) => values.map((value) => JSON.stringify(value));

/** Values that are not text, and must never be coerced to it. */
const NO_TEXT = json(0, 1.5, true, false, [], [MARK], {}, { a: MARK });
/** NUL, and halves of a surrogate pair: alone, in the wrong order, at an end. */
const NOT_STORABLE = [
  String.raw`"\u0000"`,
  String.raw`"${MARK}\u0000"`,
  String.raw`"\ud800"`,
  String.raw`"${MARK}\udc00 "`,
  String.raw`"\udc00\ud800"`,
];

/** A text of 1 (or 0) to `max` code points; `spaces`: of at least one, which may be white space. */
function text(max: number, { blank = false, spaces = false, null_too = false } = {}): Row {
  const too_long = [MARK + "x".repeat(max + 1 - MARK.length), "😀".repeat(max + 1)];
  const nothing = ["", " ", "\t\n \u3000\u00a0\u2028", "\u200b\u2060\u3164\u202e\u0001\u{e0041}"];
  const empty = spaces ? [""] : nothing;
  return {
    bad: [
      ...NO_TEXT,
      ...NOT_STORABLE,
      ...json(...too_long, ...(blank ? [] : empty), ...(null_too ? [] : [null])),
    ],
    good: json(
      " x\t",
      "x".repeat(max),
      "😀".repeat(max),
      "\u0001é\u0301𐀀",
      ...(blank ? nothing : []),
      ...(spaces ? [" ", "\t\u3000\u00a0"] : []),
      ...(null_too ? [null] : []),
    ),
  };
}

function integer(min: number, max: number, { null_too = false } = {}): Row {
  return {
    bad: [
      ...json(min - 1, max + 1, min + 0.5, String(min), MARK, "", true, [], [min], {}),
      ...["1e400", "-1e400", "1e300", "9007199254740993"],
      ...(null_too ? [] : ["null"]),
    ],
    good: [...json(min, max), `${max}.0`, ...(null_too ? ["null"] : [])],
  };
}

function oneOf(...values: string[]): Row {
  const [first = ""] = values;
  const other = [MARK, "", first.toUpperCase(), `${first} `, `${first},${first}`, "constructor"];
  return {
    bad: json(...other, ...values.map((value) => [value]), 0, true, null, {}),
    good: json(...values),
  };
}

const BOOLEAN: Row = {
  bad: json("no", "true", "false", "", 0, 1, null, [], [true], {}),
  good: json(true, false),
};

/** An even number of hexadecimal digits, 2 to 512. */
const NO_HEX = [
  ...NO_TEXT,
  ...NOT_STORABLE,
  ...json("", "a", "abc", "0g", " ab", "0xab", "ab ", MARK, "a".repeat(514), "٠٠"),
];
// Upper case is stored lowercase, which another test checks.
const HEX = json("00", "ab09ff", "a".repeat(512));
const HEX_OR_NULL: Row = { bad: NO_HEX, good: [...HEX, "null"] };

/** By field name, or by procedure and name where two fields share it; from §5 and §10.1. */
export const FIELDS: Readonly<Record<string, Row>> = {
  title: text(200),
  description: text(10_000, { blank: true }),
  status: oneOf("todo", "in_progress", "done", "cancelled"),
  priority: oneOf("low", "medium", "high", "urgent"),
  notify: BOOLEAN,
  progress: integer(0, 100, { null_too: true }),
  status_note: withBad(
    text(200, { null_too: true, spaces: true }),
    "a\nb",
    "a\r\nb",
    "\n",
    "a\u2028b",
  ),
  expect_update_within: integer(300, 86_400, { null_too: true }),
  label: text(80),
  // A value that names no code is `404`, which the pairing test checks.
  code: { ...text(64), good: [] },
  // The same for a client's request and for a request that waits for its approval.
  request: { ...text(8_000), good: [] },
  secret: { ...text(64), good: [] },
  prompt: text(2_000),
  // `choice` requires options beside it.
  kind: { ...oneOf("confirm", "text"), bad: [...oneOf("confirm").bad, ...json("choices")] },
  options: {
    bad: [
      ...json([], ["a"], ["a", "b", "c", "d", "e"], "a,b", MARK, 5, true, {}, { 0: "a", 1: "b" }),
      ...json(["a", 1], ["a", null], ["a", ["b"]], ["a", ""], ["a", " \t"]),
      ...json(["a", "a"], ["a", " a"], ["a", "b", "c", "b"], ["a", "😀".repeat(81)]),
      ...NOT_STORABLE.map((label) => `["a",${label}]`),
    ],
    good: json(["a", "b"], ["a", "A", "b", "😀".repeat(80)]),
    beside: { kind: "choice" },
  },
  context: text(20_000),
  "questions.ask url": {
    bad: [
      ...[...NO_TEXT, ...NOT_STORABLE, "null"],
      ...json(
        "",
        "x",
        MARK,
        "//example.com",
        "https://",
        "https:example.com",
        "ftp://example.com/",
      ),
      ...json("javascript:alert(1)", "data:text/html,x", " https://example.com", "https://a b.com"),
      ...json("https://example.com/a b", "https://example.com/\n", "https://u@example.com/"),
      ...json("https://u:p@example.com/", `https://example.com/${"x".repeat(2_000)}`),
    ],
    good: json(
      "https://example.com/pr/7",
      "http://10.0.0.5:8080/x?y#z",
      "HTTPS://bücher.example/ü",
    ),
  },
  // False means absent, and is not stored.
  allow_other: { ...BOOLEAN, good: json(true, false) },
  fallback: { ...text(4_000), beside: { allow_other: true } },
  draft: { ...text(4_000), beside: { kind: "text" } },
  note: { ...text(1_000), beside: { answer: "Yes" } },
  expires_in: integer(60, 86_400),
  // The question of the test world lasts an hour: every time is brought forward to its end.
  minutes: integer(1, 1_440),
  request_id: text(100, { spaces: true }),
  answer: text(4_000),
  event: oneOf("shown", "opened"),
  platform: oneOf("ios", "ipados", "watchos"),
  model: text(100, { spaces: true }),
  os_version: text(100, { spaces: true }),
  app_version: text(100, { spaces: true }),
  apns_environment: oneOf("production", "sandbox"),
  apns_token: HEX_OR_NULL,
  push_to_start_token: HEX_OR_NULL,
  widget_push_token: HEX_OR_NULL,
  push_token: { bad: [...NO_HEX, "null"], good: HEX },
  settings: {
    bad: [
      ...json(null, [], [true], MARK, 1, true, {}, { live_activities: true, extra: MARK }),
      ...json(...["true", 1, 0, null, [], {}].map((value) => ({ live_activities: value }))),
      ...json(...["true", 1, 0, null, [], {}].map((value) => ({ nudges: value }))),
      `{"__proto__":{"live_activities":true}}`,
      `{"live_activities":true,"__proto__":1}`,
    ],
    good: json(
      { live_activities: false },
      { live_activities: true },
      { nudges: false },
      { live_activities: true, nudges: true },
    ),
  },
  type: oneOf("webhook", "ntfy"),
  "channels.check type": oneOf("web_push"),
  // A URL that cannot be called is the outcome of the check.
  "channels.check url": {
    bad: [...NO_TEXT, ...NOT_STORABLE, "null", ...json("", "x", "//example.com", MARK)],
    good: json("http://127.0.0.1:9/hook", "ftp://example.com/", "https://10.0.0.1/"),
    beside: { type: "webhook" },
  },
  "channels.createLink type": oneOf("telegram"),
  "channels.createLink token": {
    bad: [...NO_TEXT, "null", ...json("", "1:2", MARK, "7".repeat(201), "701:é", " 1:2")],
    // No bot is known there.
    good: [],
  },
  url: {
    bad: [
      ...[...NO_TEXT, ...NOT_STORABLE, "null"],
      ...json("", "x", "//example.com", MARK, "ftp://example.com/", "http://8.8.8.8/"),
      ...json("https://user@8.8.8.8/", "https://8.8.8.8/#x", "https://10.0.0.1/", "https://[::1]/"),
      ...json(`https://8.8.8.8/${"x".repeat(2_000)}`),
    ],
    good: json("http://127.0.0.1:9/hook"),
  },
  sends: {
    bad: json(
      [],
      ["questions", "questions"],
      ["tasks", MARK],
      [1],
      [null],
      "tasks",
      MARK,
      {},
      null,
    ),
    good: json(["tasks"], ["questions"], ["tasks", "questions"]),
  },
  min_priority: oneOf("low", "medium", "high", "urgent"),
  quiet_hours: {
    bad: json(
      ...[MARK, 1, true, [], {}],
      ...["22:0", "24:00", "7:00", "22:60", " 22:00", "٢٢:٠٠", 22, null].map((from) => ({
        ...{ from, to: "07:00", time_zone: "UTC" },
      })),
      { from: "22:00", to: "22:00", time_zone: "UTC" },
      { from: "22:00", to: "07:00" },
      { from: "22:00", to: "07:00", time_zone: "UTC", extra: MARK },
      ...["", MARK, "+01:00", "Europe/Nowhere", "Europe/Berlin ", "x".repeat(65), 1, null].map(
        (time_zone) => ({ from: "22:00", to: "07:00", time_zone }),
      ),
    ),
    good: json(null, { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" }),
  },
  buttons: {
    beside: { type: "ntfy" },
    bad: json(0, "true", null, [], {}),
    good: json(true, false),
  },
  replies: {
    beside: { type: "ntfy", url: "http://127.0.0.1:9" },
    bad: json(0, "true", null, [], {}),
    good: json(true, false),
  },
  subscription: {
    beside: { type: "web_push" },
    without: ["url"],
    bad: json(
      ...[0, true, null, [], {}, MARK],
      { endpoint: MARK },
      { endpoint: 1, keys: { p256dh: "", auth: "" } },
      { endpoint: MARK, keys: { p256dh: 1, auth: "" } },
      { endpoint: MARK, keys: { p256dh: "", auth: "x".repeat(101) } },
      { endpoint: MARK, keys: { p256dh: "", auth: "", extra: MARK } },
      { endpoint: MARK, keys: { p256dh: "", auth: "" }, extra: MARK },
      { endpoint: `${MARK}\0`, keys: { p256dh: "", auth: "" } },
    ),
    // The feature is off there.
    good: [],
  },
  channel_id: { bad: [...NO_TEXT, ...NOT_STORABLE, "null"], good: [] },
  // Resource ids: another test checks ids that do not exist.
  task_id: { bad: [...NO_TEXT, ...NOT_STORABLE], good: ["null"] },
  key_id: { bad: [...NO_TEXT, ...NOT_STORABLE, "null"], good: [] },
  text: text(4_000),
  device_id: { bad: [...NO_TEXT, ...NOT_STORABLE, "null"], good: [] },
  token: {
    bad: [
      ...NO_TEXT,
      ...NOT_STORABLE,
      ...json(null, "", "mca_", MARK, `mck_${"x".repeat(43)}`, `MCA_${"x".repeat(43)}`),
      ...json(...[42, 44, 200].map((length) => `mca_${"x".repeat(length)}`)),
      ...json(...["=", "+", "/", " ", "\n", "é", "\0"].map((c) => `mca_${"x".repeat(42)}${c}`)),
      ...json(` mca_${"x".repeat(43)}`, `mca_${"x".repeat(43)}\n`),
    ],
    // It would end the token that the other tests use.
    good: [],
  },
  // Ignored while the server requires none, but still a string.
  start_code: { bad: [...NO_TEXT, "null"], good: json("x", "") },
  attestation: { bad: [...NO_TEXT, "null"], good: json("x", "") },
};

function withBad(row: Row, ...more: string[]): Row {
  return { ...row, bad: [...row.bad, ...json(...more)] };
}

/** Query texts, before percent-encoding. */
function integerText(min: number, max: number): Row {
  return {
    bad: [
      ...["", " ", ` ${min}`, `${min} `, "1e2", "0x10", "0b1", "+5", "5.0", "5.5", "-1", "1,2"],
      ...["1_0", "٥", "５", "NaN", "null", "true", "Infinity", "%", "%00", "\0", MARK],
      ...["99999999999999999999", String(min - 1), String(max + 1)],
    ],
    good: [String(min), String(max)],
  };
}

function listText(first: string, ...more: string[]): Row {
  return {
    bad: [
      ...["", " ", MARK, first.toUpperCase(), ` ${first}`, `${first},`, `,${first}`, ","],
      ...[`${first},,${first}`, `${first}, ${first}`, `${first};${first}`, `["${first}"]`],
      ...[`${first},${MARK}`, `${first}\0`, "constructor", "%00"],
    ],
    good: [first, [first, ...more].join(), [...more, first].join()],
  };
}

const questionWait = { ...integerText(0, 50), good: ["0"] };

const CURSOR: Row = {
  bad: ["", " ", "x", "0", "\0", "😀", MARK, "AAAA", "null", "x".repeat(4_000)],
  good: [],
};

const FLAG: Row = {
  bad: ["", " ", "True", "FALSE", "1", "0", "yes", "null", "true,false", " true", "\0", MARK],
  good: ["true", "false"],
};

/** Parameters that accept several values, and so may be repeated. */
export const LISTS: readonly string[] = ["status", "priority"];

/** By procedure and parameter, from §5. */
export const PARAMETERS: Readonly<Record<string, Row>> = {
  "tasks.list status": listText("todo", "in_progress", "done", "cancelled"),
  "tasks.list priority": listText("low", "medium", "high", "urgent"),
  "tasks.list limit": integerText(1, 500),
  "tasks.list cursor": CURSOR,
  "tasks.history limit": integerText(1, 100),
  "tasks.history cursor": CURSOR,
  "questions.list cursor": CURSOR,
  "keys.activity limit": integerText(1, 100),
  "keys.activity cursor": CURSOR,
  // A value that names nothing of the caller's is `404`, which the credentials test checks.
  "tasks.list key_id": { bad: ["\0", `${MARK}\0`], good: [] },
  "questions.list status": listText("pending", "answered", "expired", "cancelled"),
  "questions.list limit": integerText(1, 100),
  "questions.list key_id": { bad: ["\0", `${MARK}\0`], good: [] },
  "questions.list task_id": { bad: ["\0", `${MARK}\0`], good: [] },
  // Any other value of an agent is refused too, which another test checks.
  "questions.list search": {
    bad: ["", " ", "\0", "\u200b", "x".repeat(201), "😀".repeat(201)],
    good: [],
  },
  "questions.ask wait": questionWait,
  "questions.get wait": questionWait,
  "inbox.read wait": questionWait,
  "inbox.read limit": integerText(1, 100),
  "inbox.read peek": FLAG,
  // An id that is not in the inbox changes nothing.
  "inbox.read ack": { bad: ["\0", `${MARK}\0`], good: ["", "x", MARK] },
  "sessions.delete last": FLAG,
  "oauth.awaitApproval wait": integerText(0, 50),
  "inbox.ofKey limit": integerText(1, 100),
  "inbox.ofKey cursor": CURSOR,
};
