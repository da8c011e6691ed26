import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

type Handler = (request: Request) => Promise<Response>;

/** A Web-standard handler as a listener of `node:http`. What it throws is answered 500 and logged. */
export function nodeListener(handler: Handler): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    try {
      await send(await handler(webRequest(incoming)), outgoing);
    } catch (error) {
      console.error(error);
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end();
    }
  };
}

function webRequest(incoming: IncomingMessage): Request {
  const { method = 'GET', headers, url = '/' } = incoming;
  const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody ? (Readable.toWeb(incoming) as globalThis.ReadableStream) : null;
  return new Request(`http://${headers.host ?? 'localhost'}${url}`, { method, headers: pairs, body, duplex: 'half' } as RequestInit);
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void outgoing.end();
  const body = Readable.fromWeb(response.body as ReadableStream);
  await new Promise<void>((resolve, reject) => body.pipe(outgoing).on('finish', resolve).on('close', resolve).on('error', reject));
}
