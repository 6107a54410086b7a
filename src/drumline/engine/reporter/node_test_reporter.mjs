// A reporter of node:test that writes which tests ran and how they ended, as node_reporter.cjs says.

import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";

const line = (...words) => JSON.stringify(words) + "\n";

function judge(event) {
  const { skip, todo } = event.data;
  if (skip !== undefined && skip !== false) return "skipped";
  if (todo !== undefined && todo !== false) return "skipped";
  return event.type === "test:pass" ? "passed" : "failed";
}

// Whether a file that passed without a test has some: then its process ended before they ran.
function isCutOff(file) {
  try {
    return /["'`]node:test["'`]/.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}

export default async function* report(source) {
  const above = [];
  let complete = true;
  yield line("begin", "node:test");
  for await (const event of source) {
    const { name, nesting, file } = event.data ?? {};
    if (event.type === "test:start") above[nesting] = name;
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const place = file ? relative(process.cwd(), file) : "";
    if (nesting === 0 && file && resolve(name) === resolve(file)) {
      yield line("file", place, judge(event));
      if (judge(event) === "passed" && isCutOff(file)) complete = false;
      continue;
    }
    yield line("test", [place, ...above.slice(0, nesting), name].filter(Boolean).join(" > "), judge(event));
  }
  if (complete) yield line("end");
}
