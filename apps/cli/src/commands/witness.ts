import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import {
  type Cosigner,
  openCosigner,
  readVerifierKey,
  UnreadableInput,
  Witness,
  type WitnessState,
  WrongSignature,
} from '@agentlens/log-verify';
import { InvalidArgumentError } from 'commander';
import type { DefineCommand } from '../context.ts';
import { CommandError, usageError } from '../errors.ts';
import { plainText } from '../output/table.ts';
import { readJsonFile, readTextFile, refuseOpenFile, replaceFile } from '../settings/profiles.ts';

/** A proof of 63 hashes and a checkpoint with 64 signatures, of which the largest have 3,300 characters. */
const MAX_BODY_BYTES = 256 * 1_024;
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 100;
const ADDRESS = /^(?:(.+):)?(\d{1,5})$/;
const CHECKPOINT = /^\/([0-9a-f]{64})\/checkpoint$/;

export const runWitness: DefineCommand = (command, context) => {
  command
    .requiredOption('--key <file>', 'secret key of the witness; made if the file does not exist')
    .requiredOption('--log <key>', 'key of a log that it cosigns; may be repeated', collect, [] as string[])
    .option('--name <name>', 'name of a new key: an address without https://, such as witness.example.com/w1')
    .option('--state <file>', 'what was cosigned; default: the file of the key and .state')
    .option('--new-state', 'begin without a state, although the key exists')
    .option('--listen <address>', 'host and port', listenAddress, { host: '127.0.0.1', port: 3490 })
    .action(async ({ key, log, name, state, newState, listen }) => {
      const { host, output } = context;
      const keyFile = resolve(host.folder, key);
      const stateFile = resolve(host.folder, state ?? `${key}.state`);
      const logs = log.map((text) => unlessUnreadable('--log', () => readVerifierKey(text)));
      const cosigner = openKey(keyFile, name, (isNew) => prepareState(stateFile, isNew || newState === true));
      const witness = unlessUnreadable(stateFile, () => {
        const stored = readState(stateFile);
        const store = (next: WitnessState) => replaceFile(stateFile, `${JSON.stringify(next, null, 2)}\n`);
        return new Witness({ cosigner, logs, state: stored, store, nowMs: host.nowMs });
      });
      const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
        void answer(witness, request, response, (text) => output.note(text));
      });
      server.maxConnections = MAX_CONNECTIONS;
      await new Promise<void>((done, failed) => {
        server.once('error', failed).listen(listen.port, listen.host, done);
      });
      const { address, port } = server.address() as AddressInfo;
      const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
      output.printItem({ url, key: cosigner.verifierKey }, () => `${cosigner.verifierKey}\nlistening on ${url}`);
      await untilAborted(host.signal);
      server.close();
      server.closeAllConnections();
    });
};

const collect = (text: string, all: string[]): string[] => [...all, text];

function listenAddress(text: string): { host: string; port: number } {
  const [, host = '127.0.0.1', port] = ADDRESS.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) throw new InvalidArgumentError('must be <host>:<port>');
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

function unlessUnreadable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableInput || error instanceof WrongSignature)
      throw new CommandError(`${what}: ${error.message}`);
    throw error;
  }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener('abort', () => done(), { once: true });
  });

/** Opens the key, or makes one. `prepare` runs before a new key is stored: a key without a state is refused later. */
function openKey(file: string, name: string | undefined, prepare: (isNew: boolean) => void): Cosigner {
  const stored = readTextFile(file);
  if (stored === undefined) {
    if (name === undefined) throw usageError(`There is no key in ${file}`, 'Name a new one with --name.');
    const secret = randomBytes(32);
    const cosigner = unlessUnreadable('--name', () => openCosigner(name, secret));
    prepare(true);
    replaceFile(file, `${name} ${secret.toString('base64')}\n`);
    return cosigner;
  }
  refuseOpenFile(file, 'key');
  const [, storedName = '', secret = ''] = /^(\S+) (\S+)\s*$/.exec(stored) ?? [];
  if (storedName === '') throw new CommandError(`${file} is not the key of a witness`);
  if (name !== undefined && name !== storedName)
    throw usageError(`The key in ${file} has the name ${plainText(storedName)}`, 'Leave --name out.');
  prepare(false);
  return unlessUnreadable(file, () => openCosigner(storedName, Buffer.from(secret, 'base64')));
}

/** Without its state a witness would cosign an older log, so it never starts with an empty one by itself. */
function prepareState(file: string, mayBeNew: boolean): void {
  if (existsSync(file)) return;
  if (!mayBeNew)
    throw new CommandError(`There is no state in ${file}: the witness does not know what it cosigned`, {
      hint: 'Restore the file. With --new-state it starts with an empty one, and accepts any log once.',
    });
  replaceFile(file, '{}\n');
}

/** @throws CommandError if the file is not a state */
function readState(file: string): WitnessState {
  const stored = readJsonFile(file);
  const isState =
    typeof stored === 'object' &&
    stored !== null &&
    !Array.isArray(stored) &&
    Object.values(stored).every((note) => typeof note === 'string');
  if (!isState) throw new CommandError(`${file} is not the state of a witness`);
  return stored as WitnessState;
}

type Note = (text: string) => void;

async function answer(witness: Witness, request: IncomingMessage, response: ServerResponse, note: Note): Promise<void> {
  const send = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
    void response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body);
  try {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const [, originHash] = CHECKPOINT.exec(path) ?? [];
    if (originHash !== undefined && request.method === 'GET') {
      const checkpoint = witness.checkpoint(originHash);
      return send(checkpoint === undefined ? 404 : 200, checkpoint ?? 'checkpoint not found\n');
    }
    if (path !== '/add-checkpoint') return send(404, 'page not found\n');
    if (request.method !== 'POST') return send(405, 'use POST\n', { allow: 'POST' });
    const body = await readBody(request);
    if (body === 'too large') {
      request.resume();
      return send(413, `the request has more than ${MAX_BODY_BYTES} bytes\n`, { connection: 'close' });
    }
    if (body === 'not UTF-8') return send(400, 'the request is not UTF-8\n');
    const given = witness.addCheckpoint(body.text);
    if (given.misbehaviour !== undefined)
      note(`A log contradicts what was cosigned (${given.body.trimEnd()}): ${JSON.stringify(given.misbehaviour)}`);
    send(given.status, given.body, { 'content-type': given.type });
  } catch (error) {
    note(`Nothing was cosigned: ${plainText(error instanceof Error ? error.message : String(error))}`);
    if (!response.headersSent) send(500, 'the witness failed; nothing was cosigned\n');
    else response.destroy();
  }
}

async function readBody(request: IncomingMessage): Promise<{ readonly text: string } | 'too large' | 'not UTF-8'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Without this, the end of the loop would destroy the connection before the answer.
  const read: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of read) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return 'too large';
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  return isUtf8(whole) ? { text: whole.toString('utf8') } : 'not UTF-8';
}
