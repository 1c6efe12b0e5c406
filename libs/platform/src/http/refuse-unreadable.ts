import type { Socket } from 'node:net';
import { ProblemException } from './problem-exception.ts';

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/** What Node's HTTP parser gives up on before there is a request: answered as a Problem too, then hung up on. */
export function refuseUnreadable({ code }: { readonly code?: string }, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOf(code);
  const status = problem.getStatus();
  const body = JSON.stringify({ ...(problem.getResponse() as object), requestId: crypto.randomUUID() });
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function problemOf(code: string | undefined): ProblemException {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const hint = 'Headers, and the address with its parameters, may have 16 kB together.';
    return new ProblemException(431, 'The headers or the address are too long', { hint });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ProblemException(408, 'The request did not arrive in time', { hint: 'Send it again, and at once.' });
  }
  return new ProblemException(400, 'This is not HTTP as it can be read', { hint: 'Check what sends it.' });
}
