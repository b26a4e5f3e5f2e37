/** App Attest, checked by Apple's rules: genuine attestations from Apple, and attestations of a test authority. */

import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { decode, encode } from "cborg";
import development from "node-app-attest/test/fixtures/attestation-development.json";
import production from "node-app-attest/test/fixtures/attestation-production.json";
import { createAttestationCheck } from "../../src/auth/attestation.ts";
import { APPLE_APP_ATTEST_ROOT } from "../../src/auth/load-attestation.ts";
import { APP_ID, createAuthority, type Variation } from "../support/attest.ts";

/** The app of the attestations in the fixtures, and a time at which their certificates are valid. */
const FIXTURE_APP = "V8H6LQ9448.io.uebelacker.AppAttestExample";
const THEN = Date.parse("2024-06-01T00:00:00Z") / 1000;

/** The fixtures hold the challenge as base64 of its text. */
const attemptOf = ({ challenge, keyId, attestation }: typeof production) => ({
  challenge: Buffer.from(challenge, "base64").toString(),
  key_id: keyId,
  object: attestation,
});
const genuine = attemptOf(production);
const apple = createAttestationCheck({ app_id: FIXTURE_APP, root: APPLE_APP_ATTEST_ROOT });

const now = THEN;
const authority = await createAuthority(now);
const check = createAttestationCheck({ app_id: APP_ID, root: authority.root });
const CHALLENGE = "c".repeat(43);
const whyNot = async (vary: Variation) => check(await authority.attest(CHALLENGE, vary), now);

test("Apple's root certificate is the published one", () => {
  const { fingerprint256, subject } = new X509Certificate(APPLE_APP_ATTEST_ROOT);
  expect(subject).toContain("CN=Apple App Attestation Root CA");
  expect(fingerprint256).toBe(
    "1C:B9:82:3B:A2:8B:A6:AD:2D:33:A0:06:94:1D:E2:AE:4F:51:3E:F1:D4:E8:31:B9:F7:E0:FA:7B:62:42:C9:32",
  );
});

test("a genuine attestation of a production build is accepted, and one of a development build is refused [§4.2.1]", () => {
  expect(apple(genuine, THEN)).toBeNull();
  expect(apple(attemptOf(development), THEN)).toBe("no production build");
});

test("a genuine attestation is valid only for its challenge, key, app and time [§4.2.1]", () => {
  const { challenge, key_id } = attemptOf(development);
  expect(apple({ ...genuine, challenge }, THEN)).toBe("the nonce is another one");
  expect(apple({ ...genuine, key_id }, THEN)).toBe("the key is another one");
  for (const day of ["2024-01-01", "2025-01-01"]) {
    const root = "the certificates do not lead to the root";
    expect(apple(genuine, Date.parse(day) / 1000)).toBe(root);
  }
  const other = createAttestationCheck({ app_id: APP_ID, root: APPLE_APP_ATTEST_ROOT });
  expect(other(genuine, THEN)).toBe("the app is another one");
  expect(check(genuine, THEN)).toBe("the certificates do not lead to the root");
});

test("an attestation of the configured authority is accepted, with anything after its COSE key [§4.2.1]", async () => {
  expect(await whyNot({})).toBeNull();
  const extensions = encode({ "apple-extension": new Uint8Array(40), more: [1, { a: null }] });
  expect(await whyNot({ extra: extensions })).toBeNull();
  expect(await whyNot({ extra: Buffer.alloc(300, 0xff) })).toBeNull();
});

test("each fault by itself is refused for its own reason [§4.2.1]", async () => {
  const root = "the certificates do not lead to the root";
  const unreadable = "the object cannot be read";
  const stranger = await createAuthority(now);
  const foreign = await stranger.attest(CHALLENGE);
  const cases: [string, Variation][] = [
    ["the nonce is another one", { attested_challenge: "d".repeat(43) }],
    ["the nonce is another one", { without_nonce: true }],
    ["the key is another one", { key_id: Buffer.alloc(32, 1) }],
    ["the key is another one", { key_id: Buffer.alloc(0) }],
    ["the app is another one", { app_id: "A1B2C3D4E5.com.example.other" }],
    ["the key was used before", { counter: 1 }],
    ["the key was used before", { counter: 0x80000000 }],
    ["no production build", { aaguid: "appattestdevelop" }],
    ["no production build", { aaguid: "appattest\u0001" }],
    ["the credential is another one", { credential_id: Buffer.alloc(32, 1) }],
    ["the credential is another one", { credential_id: Buffer.alloc(0) }],
    [root, { valid_for: -1 }],
    [root, { issuer: "Somebody" }],
    [root, { x5c: ([leaf]) => [leaf, leaf] }],
    [root, { x5c: ([leaf, intermediate]) => [intermediate, leaf] }],
    [unreadable, { fmt: "packed" }],
    [unreadable, { x5c: ([leaf]) => [leaf] }],
    [unreadable, { x5c: (x5c) => [...x5c, ...x5c] }],
    [unreadable, { x5c: () => [] }],
    [unreadable, { x5c: () => ["leaf", 5] }],
    [unreadable, { x5c: ([leaf]) => [leaf, new Uint8Array(500)] }],
  ];
  for (const [reason, vary] of cases) {
    expect([vary, await whyNot(vary)]).toEqual([vary, reason]);
  }
  expect(check(foreign, now)).toBe(root);
  // The names are equal, so only the signature tells them apart.
  const strangers = decode(Buffer.from(foreign.object, "base64")).attStmt.x5c;
  expect(await whyNot({ x5c: ([leaf]) => [leaf, strangers[1]] })).toBe(root);
  expect(await whyNot({ x5c: ([, intermediate]) => [strangers[0], intermediate] })).toBe(root);
});

test("only an authority can issue an attestation, and the root must be valid at the time [§4.2.1]", async () => {
  const weak = await createAuthority(now, { intermediate_is_ca: false });
  const by_weak = createAttestationCheck({ app_id: APP_ID, root: weak.root });
  const root = "the certificates do not lead to the root";
  expect(by_weak(await weak.attest(CHALLENGE), now)).toBe(root);
  const late = await authority.attest(CHALLENGE, { valid_for: 1000 * 86_400_000 });
  expect(check(late, now + 49 * 86_400)).toBeNull();
  expect(check(late, now + 51 * 86_400)).toBe(root);
});

test("an attestation that is cut off or changed anywhere is refused [§4.2.1]", async () => {
  const attempt = await authority.attest(CHALLENGE);
  const bytes = Buffer.from(attempt.object, "base64");
  const receipt = bytes.lastIndexOf("receipt");
  const taken: string[] = [];
  for (let i = 0; i < bytes.length; i++) {
    const cut = bytes.subarray(0, i).toString("base64");
    if (check({ ...attempt, object: cut }, now) === null) taken.push(`cut at ${i}`);
    // The receipt is for Apple and is not read.
    if (i >= receipt && i < receipt + 7) continue;
    for (const bit of [1, 0x80]) {
      const changed = Buffer.from(bytes);
      changed[i]! ^= bit;
      const object = changed.toString("base64");
      if (check({ ...attempt, object }, now) === null) taken.push(`changed at ${i}`);
    }
  }
  expect(bytes.length).toBeGreaterThan(900);
  expect(taken).toEqual([]);
  for (const length of [1, 100, Buffer.from(genuine.object, "base64").length - 1]) {
    const object = Buffer.from(genuine.object, "base64").subarray(0, length).toString("base64");
    expect(apple({ ...genuine, object }, THEN)).not.toBeNull();
  }
});

test("garbage is refused, whichever parser it is meant for", async () => {
  const attempt = await authority.attest(CHALLENGE);
  const objects = [
    "",
    "!",
    "AAAA",
    // Deep nesting; a length with nothing after it; endless values; a map with a name twice.
    Buffer.alloc(24_000, 0x81),
    Buffer.alloc(24_000, 0xd8),
    Buffer.from("9bffffffffffffffff", "hex"),
    Buffer.from("5b7fffffffffffffff", "hex"),
    Buffer.from("bf", "hex"),
    encode(null),
    encode([]),
    encode({ fmt: "apple-appattest" }),
    encode({ fmt: "apple-appattest", attStmt: null, authData: null }),
    encode({ fmt: "apple-appattest", attStmt: { x5c: {} }, authData: new Uint8Array() }),
    Buffer.from("a263666d7460 63666d7460".replaceAll(" ", ""), "hex"),
    Buffer.concat([Buffer.from(attempt.object, "base64"), Buffer.from([0])]),
  ];
  for (const object of objects) {
    const text = typeof object === "string" ? object : Buffer.from(object).toString("base64");
    expect(check({ ...attempt, object: text }, now)).toBe("the object cannot be read");
  }
});

test("an attestation root that is not a certificate is refused at the start", () => {
  for (const root of ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]) {
    expect(() => createAttestationCheck({ app_id: APP_ID, root })).toThrow();
  }
});
