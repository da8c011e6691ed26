/**
 * The telephony provider: holds the calls that the app has dialled, and counts what must never be. A step may run twice
 * when its app is killed, so the same call with the same slot is the same dial, as with any provider that takes an
 * idempotency key.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export class Provider {
  /** The slots with which each call was dialled. */
  readonly dialled = new Map<string, Set<string>>();
  /** Calls by slot that have begun and not ended. */
  readonly inside = new Map<string, string>();
  mostInside = 0;
  repeated = 0;
  onDial: (callId: string, slotId: string) => void = () => undefined;
  readonly #server = http.createServer((request, response) => void this.#take(request, response));
  url = '';

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  hangUp(slotId: string): void {
    this.inside.delete(slotId);
  }

  async #take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let text = '';
    for await (const part of request) text += String(part);
    const { callId, slotId } = JSON.parse(text) as { callId: string; slotId: string };
    const slots = this.dialled.get(callId) ?? new Set<string>();
    this.dialled.set(callId, slots);
    if (slots.has(slotId)) {
      this.repeated += 1;
    } else {
      slots.add(slotId);
      this.inside.set(slotId, callId);
      this.mostInside = Math.max(this.mostInside, this.inside.size);
      this.onDial(callId, slotId);
    }
    response.end('{}');
  }
}
