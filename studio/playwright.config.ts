import { defineConfig } from "@playwright/test";

// Stories against the real server. MAITRED_BIN is the binary, CHROMIUM the browser.
export default defineConfig({
  testDir: "stories",
  testMatch: "*.story.ts",
  outputDir: "node_modules/.stories",
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  // Whole programs on a machine that may be busy: once more, and said to be flaky, which is to be looked into.
  retries: 1,
  forbidOnly: true,
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    locale: "en-GB",
    timezoneId: "Europe/Madrid",
    viewport: { width: 1440, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    },
  },
});
