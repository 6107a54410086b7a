// Read by every Node that a check starts: lets node:test, jest and vitest write down which tests ran and how they ended.
//
// The lines are those of drumline_reporter.py: ["begin", RUNNER], ["test", ID, OUTCOME], ["file", PATH, OUTCOME] for a
// file that could not be read or holds no tests, ["end"]. The rule: it changes nothing about the run; what it cannot do
// it leaves undone. It has to be readable by every Node from 12 on.
"use strict";

const fs = require("fs");
const path = require("path");

const FOLDER = "DRUMLINE_REPORT";
const ENDING = "DRUMLINE_ENDING";
const SHARED = Symbol.for("drumline.report");
const MOST_BYTES = 1000000;

function nameReport(folder) {
  return path.join(folder, process.pid + "-" + Date.now() + ".jsonl");
}

// The report of the first runner in this process; what it starts itself does not report.
function begin(runner) {
  const folder = process.env[FOLDER];
  if (!folder) return null;
  delete process.env[FOLDER];
  delete process.env[ENDING];
  const fd = fs.openSync(nameReport(folder), "ax", 0o600);
  const write = function () {
    fs.writeSync(fd, JSON.stringify(Array.prototype.slice.call(arguments)) + "\n");
  };
  write("begin", runner);
  return write;
}

// --- node:test: started again with one reporter more -------------------------------------------------------------

function countOption(args, name) {
  return args.filter((arg) => arg === name || arg.startsWith(name + "=")).length;
}

function usesNodeTest(file) {
  if (!file || file.split(path.sep).includes("node_modules")) return false;
  try {
    if (fs.statSync(file).size > MOST_BYTES) return false;
    return /["'`]node:test["'`]/.test(fs.readFileSync(file, "utf8"));
  } catch (error) {
    return false;
  }
}

// The options that keep the reporters of the user and add ours; null where that cannot be done.
function listReporters(args, report) {
  const reporters = countOption(args, "--test-reporter");
  const destinations = countOption(args, "--test-reporter-destination");
  const major = Number(process.versions.node.split(".")[0]);
  const shown = process.stdout.isTTY || major >= 23 ? "spec" : "tap";
  const ours = [
    "--test-reporter=" + path.join(__dirname, "node_test_reporter.mjs"),
    "--test-reporter-destination=" + report,
  ];
  if (reporters === destinations) {
    return reporters ? ours : ["--test-reporter=" + shown, "--test-reporter-destination=stdout"].concat(ours);
  }
  return reporters === 1 && destinations === 0 ? ["--test-reporter-destination=stdout"].concat(ours) : null;
}

function restartNodeTest(folder) {
  const args = process.execArgv;
  const tests = args.includes("--test") || usesNodeTest(process.argv[1]);
  const known = process.allowedNodeEnvironmentFlags.has("--test-reporter-destination");
  const configured = (process.env.NODE_OPTIONS || "").includes("--test-reporter");
  const watching = args.some((arg) => arg.startsWith("--watch"));
  if (!tests || !known || configured || watching || process.env.NODE_TEST_CONTEXT) return;
  const added = listReporters(args, nameReport(folder));
  if (added === null) return;
  const env = Object.assign({}, process.env);
  delete env[FOLDER];
  delete env[ENDING];
  const all = args.concat(added, process.argv.slice(1));
  const ended = require("child_process").spawnSync(process.execPath, all, { stdio: "inherit", env });
  if (ended.error) return;
  if (ended.signal) process.kill(process.pid, ended.signal);
  process.exit(ended.status === null ? 1 : ended.status);
}

// --- jest: its results, when all is over -------------------------------------------------------------------------

const JEST = { passed: "passed", failed: "failed" };

function writeJest(write, results) {
  for (const file of results.testResults) {
    const name = path.relative(process.cwd(), file.testFilePath);
    if (!file.testResults.length) write("file", name, file.testExecError || file.failureMessage ? "failed" : "passed");
    for (const test of file.testResults) {
      write("test", [name].concat(test.ancestorTitles, test.title).join(" > "), JEST[test.status] || "skipped");
    }
  }
  write("end");
}

function wrapJest(core) {
  const runCLI = function (argv) {
    const write = argv && (argv.showConfig || argv.clearCache || argv.init) ? null : begin("jest");
    const ended = core.runCLI.apply(core, arguments);
    return write === null
      ? ended
      : Promise.resolve(ended).then((found) => {
          if (found && found.results && found.results.testResults) writeJest(write, found.results);
          return found;
        });
  };
  return Object.create(core, { runCLI: { value: runCLI, enumerable: true } });
}

function hookJest() {
  const Module = require("module");
  const load = Module._load;
  const wrapped = new Map();
  Module._load = function (request) {
    const found = load.apply(this, arguments);
    if (request !== "@jest/core" || !found || typeof found.runCLI !== "function") return found;
    if (!wrapped.has(found)) wrapped.set(found, wrapJest(found));
    return wrapped.get(found);
  };
}

// --- vitest: a reporter beside those of the user -----------------------------------------------------------------

const CONFIGS = /^(?:vite|vitest)\.(?:config|workspace|projects)\./;
const OTHERS = ["list", "bench", "init", "typecheck", "merge-reports"];

function namesReporters(args) {
  const folder = process.cwd();
  const named = args.filter((arg, at) => /^(?:-c|--config)$/.test(args[at - 1] || "") || /^--config=/.test(arg));
  const files = fs.readdirSync(folder).filter((name) => CONFIGS.test(name));
  return files.concat(named.map((arg) => arg.replace(/^--config=/, ""))).some((name) => {
    try {
      return fs.readFileSync(path.resolve(folder, name), "utf8").includes("reporters");
    } catch (error) {
      return true;
    }
  });
}

function joinVitest() {
  const main = process.argv[1] ? fs.realpathSync(process.argv[1]) : "";
  const args = process.argv.slice(2);
  if (!/[\\/]vitest[\\/]vitest\.mjs$/.test(main) || OTHERS.includes(args[0])) return;
  if (args.some((arg) => /^(?:-h|--help|-v|--version|-r|--root|--root=.*)$/.test(arg))) return;
  const chosen = args.some((arg) => /^--reporters?(?:=|$)/.test(arg));
  if (!chosen && namesReporters(args)) return; // a reporter on the command line would take their place
  const ours = (chosen ? [] : ["--reporter=default"]).concat("--reporter=" + path.join(__dirname, "vitest_reporter.mjs"));
  const at = process.argv.indexOf("--");
  process.argv.splice.apply(process.argv, [at < 0 ? process.argv.length : at, 0].concat(ours));
  globalThis[SHARED] = begin;
}

require("./node_outside.cjs");
require("./node_ending.cjs");

if (process.env[FOLDER] && require("worker_threads").isMainThread) {
  for (const reach of [hookJest, joinVitest, () => restartNodeTest(process.env[FOLDER])]) {
    try {
      reach();
    } catch (error) {
      // a report is never worth more than the check itself
    }
  }
}
