// Read by every Node that a check starts: writes down which code it loaded from the user's checkout, and which assertions
// of Node were replaced in it.
//
// The folder and the lines are those of drumline_outside.py; `patched NAME` is one more. What was loaded is asked of the debugger of the process when
// it ends: that knows modules of every kind, also those of runners that load them themselves. The rule: it changes
// nothing about the run. It has to be readable by every Node from 12 on.
"use strict";

const fs = require("fs");
const path = require("path");

const FOLDER = "DRUMLINE_OUTSIDE";

function listScripts() {
  const inspector = require("inspector");
  const url = require("url");
  const session = new inspector.Session();
  const found = new Set();
  session.connect();
  session.on("Debugger.scriptParsed", (message) => {
    const name = message.params.url.replace(/[?#].*$/, "");
    try {
      if (name.startsWith("file://")) found.add(url.fileURLToPath(name));
      else if (path.isAbsolute(name)) found.add(name);
    } catch (error) {
      // not the name of a file
    }
  });
  session.post("Debugger.enable");
  session.disconnect();
  return Array.from(found);
}

function listAssertions() {
  const assert = require("assert");
  const found = {};
  for (const name of Object.keys(assert)) found["assert." + name] = assert[name];
  for (const name of Object.keys(assert.strict)) found["assert.strict." + name] = assert.strict[name];
  return found;
}

function tell(folder, checkout, known) {
  const inside = listScripts().map(resolve).filter((file) => file.startsWith(checkout + path.sep));
  const now = listAssertions();
  const replaced = Object.keys(known).filter((name) => now[name] !== known[name]);
  const named = replaced.sort().map((name) => "patched " + name + "\n");
  const lines = named.concat(inside.sort().map((file) => "loaded " + file + "\n"));
  if (lines.length) fs.appendFileSync(path.join(folder, process.pid + ".code"), lines.join(""), { mode: 0o600 });
}

function resolve(file) {
  try {
    return fs.realpathSync(file);
  } catch (error) {
    return file;
  }
}

if (process.env[FOLDER]) {
  try {
    const folder = process.env[FOLDER];
    const checkout = fs.readFileSync(path.join(folder, "checkout"), "utf8");
    const known = listAssertions();
    process.on("exit", () => {
      try {
        tell(folder, checkout, known);
      } catch (error) {
        // what nobody can tell is not known
      }
    });
  } catch (error) {
    // a check runs the same without us
  }
}
