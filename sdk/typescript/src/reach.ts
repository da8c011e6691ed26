/** What can be said of a server before it is asked, and of a try that brought nothing back. */
import { MaitredError } from './errors.js';

/** The address without a slash at its end. One that no server can have is refused here, and not at the first call. */
export function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // It stands in messages and in logs, so one with a password in it is not repeated.
  if (url?.username || url?.password || text.includes('@')) {
    wrong('the URL has a user name or a password in it; a server is told a token: MAITRED_TOKEN, or `token`');
  }
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return (url.origin + url.pathname).replace(/\/+$/, '');
  wrong(`url: ${JSON.stringify(text)} is no address of a server; allowed: http://HOST:PORT or https://HOST:PORT`);
}

/** What a header can carry. The value may be a token, so it is not repeated. */
export function checkedHeader(name: string, value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  wrong(`${name}: it has a character that no header can carry; allowed: visible ASCII`);
}

function wrong(message: string): never {
  throw new MaitredError('invalid_argument', message);
}

const CONNECTING = new Set(['connect', 'getaddrinfo']);
const BEFORE = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);
const CERTIFICATE = /^(CERT_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_TLS_CERT_)/;

/** Whether a failed `fetch` proves that no byte of the request went out. Where Node does not say, nothing is proved. */
export function wasNeverSent(failed: unknown): boolean {
  const { cause } = failed as { cause?: { code?: unknown; syscall?: unknown; message?: unknown; errors?: unknown } };
  if (typeof cause !== 'object' || cause === null) return false;
  // A name with several addresses: one failure for each.
  if (Array.isArray(cause.errors)) return cause.errors.length > 0 && cause.errors.every((each) => wasNeverSent({ cause: each }));
  const code = String(cause.code);
  const isBlocked = cause.message === 'bad port'; // a port that `fetch` asks for nobody
  return CONNECTING.has(String(cause.syscall)) || BEFORE.has(code) || CERTIFICATE.test(code) || isBlocked;
}

export function told(failed: unknown): string {
  const { cause, message } = failed as { cause?: { message?: unknown; code?: unknown }; message?: unknown };
  return String(cause?.message || cause?.code || message);
}
