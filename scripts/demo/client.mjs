import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const REFUSED = 'fetch failed';

/** The platform's HTTP API with a key of this machine. */
export class Client {
  #key;

  constructor(address, { key, asTyped }) {
    this.address = address;
    /** How a person may write the key at a shell without seeing it. */
    this.keyAsTyped = asTyped;
    this.#key = key;
  }

  /** @throws with what to do when the platform or its key is not there */
  static async connect() {
    const address = (
      process.env.AGENTLENS_URL ?? `http://127.0.0.1:${process.env.AGENTLENS_HTTP_PORT ?? 3400}`
    ).replace(/\/$/, '');
    const { client, status } = await welcomed(address);
    if (status === 401) {
      throw new Error(
        `The platform at ${address} does not know this API key. Set AGENTLENS_API_KEY to one of its keys.`,
      );
    }
    if (status === 403) throw new Error('The demo makes rules: it needs an API key with the scope "admin".');
    return client;
  }

  async call(method, path, body) {
    const answer = await fetch(`${this.address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  }

  /** The answer's body. @throws with the platform's own words when it refuses */
  async must(method, path, body) {
    const answer = await this.call(method, path, body);
    if (answer.status < 400) return answer.body;
    const { error, hint, details } = answer.body ?? {};
    const where = details?.map((detail) => `${detail.path}: ${detail.message}`).join('; ');
    throw new Error(`${method} ${path} answered ${answer.status}: ${[error, where, hint].filter(Boolean).join('. ')}`);
  }

  /** Calls back for every server-sent event until the signal aborts. Resolves when the stream is open; `ended` when it ends. */
  async stream(path, signal, onEvent) {
    const answer = await fetch(`${this.address}${path}`, { headers: { authorization: `Bearer ${this.#key}` }, signal });
    if (!answer.ok) throw new Error(`GET ${path} answered ${answer.status}`);
    const frames = frameReader(answer.body);
    // The platform says hello at once: from then on nothing is missed.
    await frames.next();
    const ended = (async () => {
      for await (const frame of frames) onEvent(frame);
    })().catch((error) => {
      if (!signal.aborted) throw error;
    });
    return { ended };
  }
}

async function* frameReader(body) {
  let buffered = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    buffered += chunk;
    for (let end = buffered.indexOf('\n\n'); end >= 0; end = buffered.indexOf('\n\n')) {
      const fields = Object.fromEntries(
        buffered
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      buffered = buffered.slice(end + 2);
      if (fields.data !== undefined) yield { event: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

/** Each form of the platform knows its own key only: the first key that is known, or else the first. */
async function welcomed(address) {
  const tried = [];
  for (const key of keysOfThisMachine()) {
    const client = new Client(address, key);
    const { status } = await client.call('GET', '/api/guardrails?limit=1').catch((error) => {
      if (error.message !== REFUSED) throw error;
      throw new Error(`No platform answers at ${address}. Start one in another terminal: npm start`);
    });
    if (status !== 401) return { client, status };
    tried.push({ client, status });
  }
  return tried[0];
}

function keysOfThisMachine() {
  if (process.env.AGENTLENS_API_KEY) return [{ key: process.env.AGENTLENS_API_KEY, asTyped: '$AGENTLENS_API_KEY' }];
  const dataDir = resolve(process.env.AGENTLENS_DATA_DIR ?? join(root, '.agentlens'));
  const files = [join(dataDir, 'api-key'), join(dataDir, 'distributed/api-key')].filter(existsSync);
  if (files.length > 0)
    return files.map((file) => ({ key: readFileSync(file, 'utf8').trim(), asTyped: `$(cat ${file})` }));
  throw new Error(
    `No API key: set AGENTLENS_API_KEY, or start the platform here first (its key is kept in ${dataDir}).`,
  );
}
