/** Addresses of a libSQL server (db/store/hrana.ts). */

import { expect, test } from "bun:test";
import { endpointOf } from "../../db/store/hrana.ts";

test.each([
  ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
  ["http://db.example/", "http://db.example"],
  ["https://db.example/ns", "https://db.example/ns"],
  ["libsql://db.example", "https://db.example"],
  ["libsql://db.example:8080?tls=0", "http://db.example:8080"],
  ["libsql://db.example:8080?tls=1", "https://db.example:8080"],
  ["ws://db.example:8080", "http://db.example:8080"],
  ["wss://db.example", "https://db.example"],
  ["http://db.example?tls=0", "http://db.example"],
])("%s is spoken to at %s", (url, base) => {
  expect(endpointOf(url, "token")).toEqual({ base, auth_token: "token" });
});

test.each(["http://db.example?tls=1", "wss://db.example?tls=0", "libsql://db.example?tls=0"])(
  "the address %s contradicts itself and is refused",
  (url) => {
    expect(() => endpointOf(url, undefined)).toThrow(TypeError);
  },
);
