// The JavaScript that a browser loads must stay small: at most 60 kB, compressed.
import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const MOST = 60_000;
const folder = new URL("../../crates/server/studio-dist/", import.meta.url);
const scripts = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length, 0);
console.log(`${scripts.join(", ")}: ${bytes} bytes compressed, of at most ${MOST}`);
process.exit(bytes <= MOST ? 0 : 1);
