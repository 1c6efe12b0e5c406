// Makes the Secret of the release, or adds the entries that it lacks. Changes no entry that is there.
import { randomBytes, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';

const { NAMESPACE, SECRET, RELEASE, ADOPT, LABELS, ENTRIES, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } =
  process.env;
const ACCOUNT = process.env.ACCOUNT_FOLDER ?? '/var/run/secrets/kubernetes.io/serviceaccount';
const TIMEOUT_MS = 15_000;
const ATTEMPTS = 5;
const PASSWORD_CHARS = 40;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secrets = `/api/v1/namespaces/${NAMESPACE}/secrets`;

function call(method, path, body, type = 'application/json') {
  const host = KUBERNETES_SERVICE_HOST.replaceAll(/[[\]]/g, '');
  const options = {
    host,
    port: KUBERNETES_SERVICE_PORT,
    path,
    method,
    ca: readFileSync(`${ACCOUNT}/ca.crt`),
    headers: { authorization: `Bearer ${readFileSync(`${ACCOUNT}/token`, 'utf8').trim()}`, 'content-type': type },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  };
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode, body: JSON.parse(Buffer.concat(parts).toString()) }));
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });
}

function makeEntry(name) {
  if (name === 'secret_key') return randomBytes(32).toString('base64');
  // The letter: NATS reads a value that begins with a digit as a number.
  return `p${Array.from({ length: PASSWORD_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')}`;
}

// With these annotations an earlier chart, in which the Secret was an object of the release, can take it over again.
const metadata = {
  name: SECRET,
  labels: JSON.parse(LABELS),
  annotations: {
    'helm.sh/resource-policy': 'keep',
    'meta.helm.sh/release-name': RELEASE,
    'meta.helm.sh/release-namespace': NAMESPACE,
  },
};
const entries = ENTRIES.split(',');
const dataOf = (names) =>
  Object.fromEntries(names.map((name) => [name, Buffer.from(makeEntry(name)).toString('base64')]));

/** One attempt. Returns what it did, or undefined if another client was faster. */
async function ensureSecret() {
  const { status, body } = await call('GET', `${secrets}/${SECRET}`);
  if (status === 404) {
    const made = await call('POST', secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      type: 'Opaque',
      data: dataOf(entries),
    });
    if (made.status === 409) return undefined;
    return expectSuccess(made, `made the Secret ${SECRET}`);
  }
  expectSuccess({ status, body }, 'read');
  const owner = body.metadata.annotations?.['meta.helm.sh/release-name'];
  if (owner !== undefined && owner !== RELEASE && ADOPT !== 'true') {
    throw new Error(
      `The Secret ${SECRET} belongs to the release ${owner}. To go on with its passwords and data, set secrets.adopt=true; ` +
        'to start with an empty database, delete the Secret and the volume claims of that release',
    );
  }
  const missing = entries.filter((name) => body.data?.[name] === undefined);
  const { resourceVersion } = body.metadata;
  const patch = { metadata: { ...metadata, resourceVersion }, data: dataOf(missing) };
  const patched = await call('PATCH', `${secrets}/${SECRET}`, patch, 'application/merge-patch+json');
  if (patched.status === 409) return undefined;
  return expectSuccess(
    patched,
    missing.length === 0 ? `the Secret ${SECRET} is complete` : `added ${missing.join(', ')}`,
  );
}

function expectSuccess({ status, body }, done) {
  if (status >= 200 && status < 300) return done;
  throw new Error(`The API server answered ${status}: ${body.message}`);
}

let done;
for (let attempt = 0; attempt < ATTEMPTS && done === undefined; attempt += 1) done = await ensureSecret();
if (done === undefined) throw new Error(`The Secret ${SECRET} was changed ${ATTEMPTS} times meanwhile`);
console.log(done);
