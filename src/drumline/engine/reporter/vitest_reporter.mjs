// A reporter of vitest that writes which tests ran and how they ended, as node_reporter.cjs says.

const OUTCOMES = { pass: "passed", passed: "passed", fail: "failed", failed: "failed" };

function* listTests(task, above) {
  const names = [...above, task.name];
  if (task.type !== "suite" && !task.tasks) yield [names.join(" > "), OUTCOMES[task.result?.state] ?? "skipped"];
  for (const inner of task.tasks ?? []) yield* listTests(inner, names);
}

export default class Reporter {
  #write = null;

  onInit() {
    this.#write = globalThis[Symbol.for("drumline.report")]?.("vitest") ?? null;
  }

  // Up to vitest 3.
  onFinished(files = []) {
    this.#tell(files);
  }

  // From vitest 3 on; `task` is what older versions hand out.
  onTestRunEnd(modules) {
    this.#tell(modules.map((module) => module.task));
  }

  #tell(files) {
    const write = this.#write;
    this.#write = null;
    if (write === null) return;
    for (const file of files) {
      const tests = [...listTests(file, [])].filter(() => file.tasks.length > 0);
      if (!tests.length) write("file", file.name, OUTCOMES[file.result?.state] ?? "skipped");
      for (const [name, outcome] of tests) write("test", name, outcome);
    }
    write("end");
  }
}
