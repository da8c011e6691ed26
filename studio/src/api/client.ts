// Asks the server. Every call carries the namespace that is looked at and, where one is wanted, the token that the user
// gave; it is kept for this tab only.
import { agent } from "../core/router";
import { Store } from "../core/store";
import type { Problem, Whoami } from "./types";

const TOKEN = "maitred.token";

export const token = new Store<string>(sessionStorage.getItem(TOKEN) ?? "");

token.watch(() => {
  if (token.get()) sessionStorage.setItem(TOKEN, token.get());
  else sessionStorage.removeItem(TOKEN);
});

/** What the server takes us for; none while that is not known. */
export const me = new Store<Whoami | undefined>(undefined);

/** Why a call was not done. `status` 0: there was no answer. */
export class Trouble extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly reason = "unreachable",
    readonly requestId?: string,
  ) {
    super(message);
  }
}

interface Asked {
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** Why, for the record. */
  why?: string;
  /** The tag that the limit must still have. */
  tag?: string;
  /** The same id has one effect, however often it is sent. */
  id?: string;
  signal?: AbortSignal;
}

export const get = <T>(path: string, query?: Asked["query"], signal?: AbortSignal): Promise<T> =>
  call<T>("GET", path, { query, ...(signal && { signal }) });

export async function call<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const response = await send(method, path, asked);
  const text = await response.text();
  if (!response.ok) throw problem(response, text);
  return JSON.parse(text) as T;
}

export async function send(method: string, path: string, asked: Asked): Promise<Response> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked.query ?? {})) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  const init: RequestInit = { method, headers: headers(asked), cache: "no-store" };
  if (asked.body !== undefined) init.body = JSON.stringify(asked.body);
  if (asked.signal) init.signal = asked.signal;
  try {
    return await fetch(path + (text && `?${text}`), init);
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new Trouble(0, "the server cannot be reached");
  }
}

function headers(asked: Asked): Record<string, string> {
  const all: Record<string, string> = {};
  if (agent() !== "default") all["Maitred-Agent"] = agent();
  if (token.get()) all["Authorization"] = `Bearer ${token.get()}`;
  if (asked.body !== undefined) all["Content-Type"] = "application/json";
  if (asked.id) all["Idempotency-Key"] = asked.id;
  if (asked.id) all["Maitred-By"] = "studio";
  if (asked.tag) all["If-Match"] = `"${asked.tag}"`;
  if (asked.why) all["Maitred-Reason"] = asBytes(asked.why);
  return all;
}

/** A header carries bytes; the server reads them as UTF-8. */
function asBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

function problem(response: Response, text: string): Trouble {
  const id = response.headers.get("X-Request-Id") ?? undefined;
  try {
    const { message, reason, request_id } = JSON.parse(text) as Problem;
    return new Trouble(response.status, message, reason, request_id ?? id);
  } catch {
    return new Trouble(response.status, `the server answered ${response.status}`, "internal", id);
  }
}

/** A new id with the time in it (UUID version 7). */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const now = Date.now();
  for (let at = 0; at < 6; at++) bytes[at] = Math.floor(now / 2 ** (8 * (5 - at))) & 0xff;
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
