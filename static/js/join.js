// Shows on the join page how the league reaches the agents that have registered from the reader's machine.

import { morph, writeTimes } from "./morph.js";
import { poll } from "./poll.js";

const INTERVAL_MS = 5000;

function part() { return document.getElementById("arrived"); }

function take(answer, next) {
  if (!answer.ok || next?.id !== "arrived") return;
  writeTimes(next, Date.now());
  morph(part(), next);
}

function wait() {
  writeTimes(part(), Date.now());
  return INTERVAL_MS;
}

poll(() => "?part=1", take, wait);
