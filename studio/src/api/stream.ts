// The event stream, read with fetch: EventSource can't carry a token.
import { Trouble, send } from "./client";

export interface Message {
  event: string;
  id?: string;
  data: string;
}

/** Tells every message until the stream ends, or `signal` ends it. Throws if it cannot be opened. */
export async function listen(
  query: Record<string, string | number | undefined>,
  told: (message: Message) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send("GET", "/v1/events", { query, signal });
  if (!response.ok || !response.body) {
    throw new Trouble(response.status, `the stream was answered ${response.status}`, "stream");
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) told(message(block));
  }
}

function message(block: string): Message {
  const read: Message = { event: "", data: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    const [name, value] = [line.slice(0, at), line.slice(at + 2)];
    if (name === "event") read.event = value;
    if (name === "data") read.data += value;
    if (name === "id") read.id = value;
  }
  return read;
}
