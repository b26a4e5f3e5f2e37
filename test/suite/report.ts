/** Reads the JUnit report that Bun's test runner writes at the end of a run. */

import { DOMParser, type Element } from "@xmldom/xmldom";

/** A test that failed, or a worker that crashed in a file. */
interface Failure {
  readonly file: string;
  readonly test: string;
  /** The first lines of the error. */
  readonly message: string;
}

/** What a report says about a run. */
export interface RunReport {
  /** The files whose tests ran; a file that throws when imported is missing. */
  readonly files: readonly string[];
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** Seconds of each file. */
  readonly seconds: Readonly<Record<string, number>>;
}

/** How many lines of an error a summary shows. */
const MESSAGE_LINES = 6;

/** Parses a JUnit report of Bun. Throws if it is not XML. */
export function readReport(xml: string): RunReport {
  const document = new DOMParser().parseFromString(xml, "text/xml");
  const seconds: Record<string, number> = {};
  const failures: Failure[] = [];
  let passed = 0;
  for (const suite of elementsOf(document, "testsuite")) {
    const file = suite.getAttribute("file") ?? "";
    // A `describe` is a suite within its file's suite.
    seconds[file] ??= Number(suite.getAttribute("time"));
  }
  for (const test of elementsOf(document, "testcase")) {
    const [failure] = [...elementsOf(test, "failure"), ...elementsOf(test, "error")];
    if (!failure) {
      passed += elementsOf(test, "skipped").length > 0 ? 0 : 1;
      continue;
    }
    const message = (failure.getAttribute("message") ?? "").trim().split("\n");
    failures.push({
      file: test.getAttribute("file") ?? "",
      test: test.getAttribute("name") ?? "",
      message: message.slice(0, MESSAGE_LINES).join("\n"),
    });
  }
  return { files: Object.keys(seconds), passed, failures, seconds };
}

const elementsOf = (
  node: { getElementsByTagName(name: string): Iterable<Element> },
  name: string,
) => [...node.getElementsByTagName(name)];
