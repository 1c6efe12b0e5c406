import { Agent, request } from 'node:https';

const TIMEOUT_MS = 30_000;

/** The Kubernetes API, as far as the suite needs it. A refused request throws what the server said. */
export function createApi({ host, port, token, readCa }) {
  let agent;
  async function send(method, path, { body, type = 'application/json', raw = false } = {}) {
    agent ??= new Agent({ keepAlive: true, ca: readCa() });
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    // Node sends the body of a DELETE without its length unless told.
    if (text !== undefined) Object.assign(headers, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
    const answer = await new Promise((resolve, reject) => {
      const sent = request(
        { host, port, path, method, headers, agent, signal: AbortSignal.timeout(TIMEOUT_MS) },
        (incoming) => {
          const parts = [];
          incoming.on('data', (part) => parts.push(part));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const warnings = [incoming.headers.warning ?? []].flat();
            resolve({ status: incoming.statusCode, text: Buffer.concat(parts).toString(), warnings });
          });
        },
      );
      sent.on('error', reject);
      sent.end(text);
    });
    if (raw) return answer;
    const parsed = answer.text === '' ? undefined : JSON.parse(answer.text);
    if (answer.status >= 400) {
      throw Object.assign(new Error(`${method} ${path}: ${answer.status} ${parsed?.message}`), {
        status: answer.status,
      });
    }
    return parsed;
  }
  return {
    send,
    get: (path, options) => send('GET', path, options),
    list: async (path) => (await send('GET', path)).items,
    create: (path, body) => send('POST', path, { body }),
    patch: (path, body) => send('PATCH', path, { body, type: 'application/merge-patch+json' }),
    remove: (path, body) => send('DELETE', path, { body }),
    /** Server-side apply that changes nothing. Returns the server's warnings. */
    tryApply: async (path, body) => {
      const query = '?dryRun=All&fieldManager=check&force=true&fieldValidation=Strict';
      const answer = await send('PATCH', `${path}${query}`, { body, type: 'application/apply-patch+yaml', raw: true });
      if (answer.status >= 400) throw new Error(JSON.parse(answer.text).message);
      return answer.warnings;
    },
    exists: async (path) => {
      const { status } = await send('GET', path, { raw: true });
      return status === 200;
    },
  };
}
