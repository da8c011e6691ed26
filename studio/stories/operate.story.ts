// What an operator does: edit with a preview, reset, pause, undo; what one who may only look sees of it.
import { expect, row, studio, test } from "./stage";

test.describe("with every permission", () => {
  test.use({ expected: [/400|412|ERR_FAILED/] });

  test.beforeEach(async ({ server }) => {
    await server.declare("voice", 2, "10m");
    await server.acquire("voice", "v1", { run: "r1", label: "call 1" });
    await server.acquire("voice", "v2", { run: "r2", label: "call 2" });
    for (const slot of ["v3", "v4", "v5"]) await server.acquire("voice", slot, { run: `r${slot}`, label: `call ${slot}` });
  });

  test("a change is told before it is saved, and a reset goes back", async ({ page, server }) => {
    await page.goto(studio(server, "/limits/voice"));
    await expect(page.getByText("Waiting 3, in order")).toBeVisible();
    await page.keyboard.press("e");
    const dialog = page.getByRole("dialog", { name: "Edit voice" });
    const capacity = dialog.getByLabel("Capacity", { exact: true });
    await expect(capacity).toBeFocused();
    await capacity.fill("0");
    await expect(dialog.getByRole("status")).toContainText("1 to 100000");
    await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
    await capacity.fill("4");
    await expect(dialog.getByRole("status")).toContainText("2 of 3 waiting slots start now.");
    await dialog.getByLabel("Max hold").fill("2h");
    await expect(dialog.getByRole("status")).toContainText("the 2 that hold now keep their expiry");
    await dialog.getByLabel("Reason").fill("more lines");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(page.getByText("Waiting 1, in order")).toBeVisible();
    await expect(page.locator(".numbers")).toContainText("override by studio");
    await page.keyboard.press("e");
    await expect(capacity).toHaveValue("4");
    await dialog.getByRole("button", { name: "Back to what is declared" }).first().click();
    await expect(dialog.getByRole("status")).toContainText("The 4 slots that hold now stay.");
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(page.locator(".numbers")).toContainText("draining");
    expect(await server.call("GET", "/v1/limits/voice")).toMatchObject({ capacity: 2, max_hold_ms: 7_200_000 });
  });

  test("two who edit at once learn of each other", async ({ page, server }) => {
    await page.goto(studio(server, "/limits/voice"));
    await page.getByRole("button", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Capacity", { exact: true }).fill("5");
    await server.call("PUT", "/v1/limits/voice/capacity", { capacity: 3 }, { "Maitred-By": "ana" });
    await expect(dialog.getByRole("alert")).toContainText("capacity from 2 to 3");
    await expect(dialog.getByRole("button", { name: "Save" })).toBeDisabled();
    await dialog.getByRole("button", { name: "Take the new values" }).click();
    await expect(dialog.getByLabel("Capacity", { exact: true })).toHaveValue("3");
  });

  test("a change on settings that somebody else has changed is refused by the server", async ({ page, server }) => {
    await page.goto(studio(server, "/limits/voice"));
    await page.getByRole("button", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Capacity", { exact: true }).fill("5");
    await expect(dialog.getByRole("status")).toContainText("start now");
    // Nothing comes to the page any more, and so it cannot know: only the server does.
    await page.route(/\/v1\/(events|limits\/voice\/slots)/, (route) => route.abort());
    await server.call("PUT", "/v1/limits/voice/capacity", { capacity: 3 }, { "Maitred-By": "ana" });
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog.getByRole("alert")).toContainText("`voice` was changed meanwhile: capacity 3, max hold 10m");
    expect(await server.call("GET", "/v1/limits/voice")).toMatchObject({ capacity: 3 });
  });

  test("a selection is released for one reason, and each slot says what came of it", async ({ page, server }) => {
    await page.goto(studio(server, "/limits/voice"));
    await page.getByLabel("Select all").check();
    await page.getByRole("button", { name: "Release 2 slots…" }).click();
    const dialog = page.getByRole("dialog", { name: "Release 2 slots of voice?" });
    await expect(dialog.getByRole("button", { name: "Keep" })).toBeFocused();
    const release = dialog.getByRole("button", { name: "Release 2 slots" });
    await expect(release).toBeDisabled();
    await dialog.getByLabel("Reason").fill("the provider dropped them");
    await dialog.getByLabel("type the limit's name").fill("voice");
    await server.call("POST", "/v1/slots/v1/release");
    await release.click();
    await expect(dialog.getByRole("list", { name: "Slots" })).toContainText("call 1 was released already");
    await expect(dialog.getByRole("list", { name: "Slots" })).toContainText("call 2 released");
    await expect(page.getByText("Released 1 of 2 slots.")).toBeVisible();
    await dialog.getByRole("button", { name: "Close" }).click();
    await expect(page.getByText("0 busy, 2 reserved")).toBeVisible();
    await server.settled();
    const { acts } = await server.call<{ acts: object[] }>("GET", "/v1/audit?act=released");
    expect(acts).toMatchObject([{ target: "voice", before: "v2", by: "studio", reason: "the provider dropped them" }]);
    await expect(page.getByRole("list", { name: "What was done in this time" })).toContainText("slot released by hand: v2 by studio");
  });

  test("pause says who and why, and resume lifts it", async ({ page, server }) => {
    await page.goto(studio(server, "/limits/voice"));
    await page.getByRole("button", { name: "Pause…" }).click();
    await page.getByLabel("Reason").fill("the provider is down");
    await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
    await expect(page.locator(".banner")).toContainText("by studio: the provider is down");
    await server.call("POST", "/v1/slots/v1/release");
    await expect(page.getByText("1 busy, 0 reserved")).toBeVisible();
    await page.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
    await expect(page.getByText("1 busy, 1 reserved")).toBeVisible();
    await expect(page.locator(".banner")).toBeHidden();
  });

  test("the audit has it all, and an override can be undone", async ({ page, server }) => {
    await server.call("PUT", "/v1/limits/voice/capacity", { capacity: 9 }, { "Maitred-By": "ana", "Maitred-Reason": "busy day" });
    await server.settled();
    await page.goto(studio(server, "/audit?limit=voice"));
    const act = row(page, "busy day");
    await expect(act).toContainText("as declared → 9");
    await expect(act).toContainText("ana");
    await act.getByRole("button", { name: "Undo…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click();
    await expect(row(page, "9 → as declared")).toContainText("studio");
    expect(await server.call("GET", "/v1/limits/voice")).toMatchObject({ capacity: 2 });
  });

  test("filters of audit and runs are the server's: what is on no page is found", async ({ page, server }) => {
    await server.call("PUT", "/v1/limits/voice/capacity", { capacity: 9 }, { "Maitred-By": "ana", "Maitred-Reason": "first of all" });
    for (let at = 0; at < 120; at++) await server.call(at % 2 ? "DELETE" : "PUT", "/v1/limits/voice/pause", undefined, { "Maitred-By": "ben" });
    await server.settled();
    await page.goto(studio(server, "/audit"));
    await expect(page.getByText("100 acts")).toBeVisible();
    await expect(row(page, "first of all")).toHaveCount(0);
    await page.getByLabel("Act", { exact: true }).selectOption("capacity");
    await expect(row(page, "first of all")).toBeVisible();
    await page.getByLabel("Act", { exact: true }).selectOption("");
    await page.getByLabel("By whom").fill("ANA");
    await expect(row(page, "first of all")).toBeVisible();
    await page.getByLabel("When").selectOption("1h");
    await expect(row(page, "first of all")).toBeVisible();
    await server.declare("deep", 1, "10m");
    const items = Array.from({ length: 450 }, (_, at) => ({ op: "acquire", slot: `d-${at}`, limit: "deep", run: `deep-${at}`, label: at === 440 ? "needle" : "hay", timeout: "1h" }));
    await server.call("POST", "/v1/batch", { items });
    await page.goto(studio(server, "/runs"));
    await expect(page.getByText("200 runs")).toBeVisible();
    await page.getByLabel("Filter by run").fill("NEEDLE");
    await expect(row(page, "deep-440")).toBeVisible();
    await expect(page.locator("tr[data-row]")).toHaveCount(1);
    await page.getByLabel("Filter by run").fill("");
    await page.getByLabel("Show only").selectOption("holding");
    await page.getByLabel("Of this limit").fill("voice");
    await page.keyboard.press("Enter");
    await expect(page.locator("tr[data-row]")).toHaveCount(5); // there is room for all of them by now
  });

  test("a run shows its steps, and all it holds is released at once", async ({ page, server }) => {
    await server.declare("other", 1, "10m");
    await server.acquire("other", "o1", { run: "r1" });
    await server.acquire("other", "o2", { run: "r1" });
    await page.goto(studio(server, "/runs"));
    await row(page, "r1").getByRole("link", { name: "r1", exact: true }).click();
    await expect(page.getByText("Esperando hueco · other")).toBeVisible();
    await page.getByRole("button", { name: "Release all 2…" }).click();
    await page.getByRole("button", { name: "Release 2 slots" }).click();
    await expect(page.getByText("Released 2 of 2 slots.")).toBeVisible();
    await expect(page.locator(".steps").getByText("reserved")).toBeVisible();
  });

  test("a counter is previewed and reset", async ({ page, server }) => {
    const specs = [{ key: "user=4711", limit: 3, windowSeconds: 600 }];
    for (let hit = 0; hit < 3; hit++) await server.call("POST", "/v1/admit", { task: "describe", specs });
    await page.goto(studio(server, "/rates"));
    await expect(page.getByText("user…")).toBeVisible();
    await expect(page.getByText("user=4711")).toBeHidden();
    await page.getByRole("button", { name: "Show whole keys" }).click();
    await page.getByRole("link", { name: "user=4711" }).click();
    await page.getByLabel("Limit", { exact: true }).fill("3");
    await page.getByLabel("Window, seconds").fill("600");
    await page.getByRole("button", { name: "Preview" }).click();
    await expect(page.getByText("It would be refused.")).toBeVisible();
    await page.getByRole("button", { name: "Reset…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reset", exact: true }).click();
    await expect(page.getByText("Nothing is counted against this key")).toBeVisible();
  });
});

test.describe("with tokens", () => {
  const token = (letter: string) => letter.repeat(40);
  test.use({ options: { tokens: `boss ${token("b")}\n` }, expected: [/401/] });

  test("it asks for one, keeps it in the tab, and shows what may not be done", async ({ page, server }) => {
    const admin = { Authorization: `Bearer ${token("b")}` };
    await server.call("PUT", "/v1/limits/voice", { capacity: 1, max_hold: "10m" }, admin);
    await server.call("POST", "/v1/slots", { slot: "v1", limit: "voice", confirm: "auto" }, admin);
    const reader = await server.makeToken("ana", "read");
    await page.goto(studio(server, "/limits/voice"));
    const dialog = page.getByRole("dialog", { name: "This server wants a token" });
    await dialog.getByLabel("Token").fill("wrong");
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await expect(dialog.getByRole("alert")).toContainText("Not taken");
    await dialog.getByLabel("Token").fill(reader);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    const release = row(page, "v1").getByRole("button", { name: /Release.*needs the operate permission/ });
    await expect(release).toBeDisabled();
    await expect(page.getByRole("button", { name: /Edit.*needs the operate permission/ })).toBeDisabled();
    await page.reload();
    await expect(page.getByText("1 busy, 0 reserved")).toBeVisible();
    expect(await page.evaluate(() => Object.values(localStorage).join())).not.toContain(reader);
    server.revokeToken("ana");
    await expect(page.locator(".dot-state")).toHaveText("Signed out", { timeout: 15_000 });
    await expect(page.locator("main")).toHaveClass(/stale/);
  });
});
