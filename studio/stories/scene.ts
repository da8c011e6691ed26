// An hour and more of a small installation, told to a server whose clock is moved by hand: a limit that leaks, one that is
// paused, one that is full, and a few that are well.
import type { Server } from "./server";

const MINUTE = 60_000;

export const LIMITS = `
[limits."voice-calls"]
capacity = 20
max_hold = "12m"
[limits."partner-api"]
capacity = 5
max_hold = "45m"
[limits."crm-export"]
capacity = 2
max_hold = "1h"
[limits."gpu.batch"]
capacity = 3
max_hold = "2h"
[limits."gpu.interactive"]
capacity = 8
max_hold = "15m"
[limits."email"]
capacity = 50
max_hold = "2m"
[limits."reports.nightly"]
capacity = 4
max_hold = "3h"
`;

/** Numbers that are the same in every run. */
function chance(seed: number): () => number {
  return () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
}

interface Work {
  limit: string;
  slot: string;
  endsAt: number;
}

/** Holders come and go; every `leakEvery`th of the calls never releases. */
export async function evening(server: Server, minutes = 75): Promise<void> {
  const random = chance(7);
  const start = Date.now() - minutes * MINUTE;
  await server.call("POST", "/v1/clock", { advance_to: start });
  const work: Work[] = [];
  let number = 0;
  const begin = async (limit: string, minute: number, holdMinutes: number, label: string) => {
    const slot = `${limit}-${++number}`;
    const run = `run-${1_000 + number}`;
    const answer = await server.acquire(limit, slot, { run, label, workflow: limit, timeout: "6h" });
    work.push({ limit, slot, endsAt: minute + holdMinutes });
    return answer;
  };
  for (let minute = 0; minute < minutes; minute++) {
    for (const done of work.filter(({ endsAt }) => endsAt <= minute)) {
      work.splice(work.indexOf(done), 1);
      await server.call("POST", `/v1/slots/${done.slot}/release`);
    }
    for (let at = 0; at < 4; at++) {
      const leaks = random() < 0.12;
      await begin("voice-calls", minute, leaks ? 9_999 : 2 + random() * 3, `call +34 600 ${100 + number}`);
    }
    if (minute % 2 === 0) await begin("gpu.batch", minute, 7, `train ${number}`);
    await begin("email", minute, 1, `mail ${number}`);
    if (minute % 3 === 0) await begin("gpu.interactive", minute, 5 + random() * 5, `notebook ${number}`);
    if (minute === minutes - 20) {
      for (let at = 0; at < 5; at++) await begin("partner-api", minute, 9_999, `invoice ${2_040 + at}`);
      await server.endRun(`run-${1_000 + number}`);
      for (let at = 0; at < 4; at++) await begin("partner-api", minute, 9_999, `invoice ${2_050 + at}`);
    }
    if (minute === minutes - 30) {
      await operate(server, "PUT", "/v1/limits/crm-export/pause", {}, "ana", "CRM maintenance until 22:00");
      for (let at = 0; at < 3; at++) await begin("crm-export", minute, 9_999, `export ${at}`);
    }
    if (minute === minutes - 12) await operate(server, "PUT", "/v1/limits/gpu.interactive/capacity", { capacity: 12 }, "ops-luis", "demo this afternoon");
    if (minute === minutes - 8) {
      const lost = work.findLast(({ limit, endsAt }) => limit === "voice-calls" && endsAt > minutes)!;
      await operate(server, "POST", `/v1/slots/${lost.slot}/release`, {}, "ana", "its call ended long ago");
    }
    await confirmAll(server);
    await server.moveClock(MINUTE);
  }
  await server.call("POST", "/v1/slots", { slot: "reserved-1", limit: "gpu.interactive", run: "run-9001", label: "notebook of Maya" });
  for (let hit = 0; hit < 7; hit++) {
    const specs = [{ key: "user=4711|month=11", limit: 20, windowSeconds: 86_400 }];
    await server.call("POST", "/v1/admit", { task: "describe-image", specs });
  }
  await server.settled();
}

/** Whoever was given a place while it waited takes it up. */
async function confirmAll(server: Server): Promise<void> {
  for (const limit of ["voice-calls", "gpu.batch", "gpu.interactive"]) {
    const { holders } = await server.call<{ holders: { slot: string; state: string }[] }>("GET", `/v1/limits/${limit}/slots`);
    for (const { slot, state } of holders) if (state === "reserved") await server.confirm(slot);
  }
}

function operate(server: Server, method: string, path: string, body: unknown, by: string, reason: string) {
  return server.call(method, path, Object.keys(body as object).length ? body : undefined, { "Maitred-By": by, "Maitred-Reason": reason });
}
