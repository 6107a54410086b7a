// Read by every Node that a check starts: writes down where code of the project ends a script of tests, or what
// `node -e` is given, or does not let its exceptions through.
//
// The folder and the lines are those of drumline_ending.py. The rule: it changes nothing about the run. It has to be
// readable by every Node from 12 on.
"use strict";

const fs = require("fs");
const path = require("path");
const url = require("url");

const FOLDER = "DRUMLINE_ENDING";
const GIVEN = "<string>";
const JUDGES = /\b(?:assert|throw|exit)\b|[!=]==?/;

function findProgram() {
  const text = process._eval;
  if (typeof text === "string") return JUDGES.test(text) ? GIVEN : "";
  try {
    return process.argv[1] ? fs.realpathSync(require.resolve(path.resolve(process.argv[1]))) : "";
  } catch (error) {
    return "";
  }
}

function isOwn(root, file) {
  return file.startsWith(root) && !file.split(path.sep).includes("node_modules");
}

// The file of the code that called one of our functions; empty if it is one of Node, or of nobody's.
function findCaller(ours) {
  const limit = Error.stackTraceLimit;
  const prepare = Error.prepareStackTrace;
  const held = {};
  Error.stackTraceLimit = 1;
  Error.prepareStackTrace = (_, sites) => (sites.length ? sites[0].getFileName() || "" : "");
  Error.captureStackTrace(held, ours);
  const name = String(held.stack);
  Error.prepareStackTrace = prepare;
  Error.stackTraceLimit = limit;
  try {
    return fs.realpathSync(name.startsWith("file:") ? url.fileURLToPath(name.replace(/[?#].*$/, "")) : name);
  } catch (error) {
    return "";
  }
}

function watch(folder) {
  const root = fs.realpathSync(process.cwd()) + path.sep;
  const program = findProgram();
  if (program !== GIVEN && !isOwn(root, program)) return;
  delete process.env[FOLDER];
  const cut = (file) => (file === GIVEN || !file ? file : path.relative(root, file));
  const write = (file) => {
    const line = JSON.stringify(["cut", cut(program), cut(file)]) + "\n";
    fs.appendFileSync(path.join(folder, process.pid + ".cut"), line, { mode: 0o600 });
  };
  for (const name of ["exit", "reallyExit"]) {
    const original = process[name];
    process[name] = function ending() {
      try {
        const file = findCaller(ending);
        if (file !== program && isOwn(root, file)) write(file);
      } catch (error) {
        // what nobody can tell is not known
      }
      return original.apply(process, arguments);
    };
  }
  process.once("uncaughtExceptionMonitor", () => {
    // The last to be asked: what was there before may have set another exit code by then.
    process.on("exit", (code) => {
      if (process.exitCode === 0 || (!code && !process.exitCode)) write("");
    });
  });
}

if (process.env[FOLDER] && require("worker_threads").isMainThread) {
  try {
    watch(process.env[FOLDER]);
  } catch (error) {
    // a check runs the same without us
  }
}
