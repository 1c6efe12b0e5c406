import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { seededRandom } from '../../harness/seeded-random.ts';

// Loaded into a service under test by `node --import` only: the services have no hook that production could enable.
// Watches what the process sends and receives on its sockets and kills it right after a step.

interface CrashPoint {
  readonly name: string;
  /** Bytes that identify this step. */
  readonly sign: string;
  /** `received`: the message was received. `sent`: it was sent. `answered`: it was sent and its response received. */
  readonly when: 'received' | 'sent' | 'answered';
}

type Method = (this: Socket, ...call: unknown[]) => boolean;

const POINTS: readonly CrashPoint[] = [
  { name: 'fetched', sign: 'agent.events.', when: 'received' },
  { name: 'script ran', sign: 'evalsha', when: 'answered' },
  { name: 'trigger published', sign: 'PUB guardrail.triggered.', when: 'answered' },
  { name: 'acknowledged', sign: '+ACK', when: 'sent' },
  { name: 'stored', sign: 'record-new-events', when: 'answered' },
  // Redelivered messages are stored in a transaction of several statements.
  { name: 'committed', sign: 'commit\0', when: 'answered' },
];

const {
  PROOF_CRASH_WHILE: whileExists,
  PROOF_CRASH_LOG: log,
  PROOF_CRASH_STEPS: steps,
  PROOF_CRASH_SEED: seed,
  PROOF_CRASH_SHARE: share,
} = process.env;

if (whileExists !== undefined && log !== undefined && steps !== undefined) {
  watchSockets(whileExists, log, steps, Number(seed), Number(share));
}

/** Logs kills to `logFile`, and all steps, with or without a kill, to `stepsFile`. */
function watchSockets(
  switchFile: string,
  logFile: string,
  stepsFile: string,
  seedOfAll: number,
  probability: number,
): void {
  const random = seededRandom(seedOfAll + crashesSoFar(logFile));
  const awaited = new WeakMap<Socket, CrashPoint>();
  const taken = new Set<CrashPoint>();
  const write = Reflect.get(Socket.prototype, 'write') as Method;
  const push = Reflect.get(Readable.prototype, 'push') as Method;

  function drawn(point: CrashPoint): boolean {
    if (!taken.has(point)) appendFileSync(stepsFile, `${point.name}\n`);
    taken.add(point);
    return random() < probability;
  }

  function crash({ name }: CrashPoint): void {
    if (!existsSync(switchFile)) return;
    appendFileSync(logFile, `${name}\n`);
    process.kill(process.pid, 'SIGKILL');
  }

  Socket.prototype.write = function (this: Socket, ...call: unknown[]): boolean {
    const done = Reflect.apply(write, this, call);
    const point = pointIn(call[0], (one) => one.when !== 'received');
    if (point === undefined || !drawn(point)) return done;
    if (point.when === 'answered') awaited.set(this, point);
    else setImmediate(() => crash(point));
    return done;
  } as Socket['write'];

  Socket.prototype.push = function (this: Socket, ...call: unknown[]): boolean {
    const answered = awaited.get(this);
    if (answered !== undefined) {
      awaited.delete(this);
      crash(answered);
    }
    const point = pointIn(call[0], (one) => one.when === 'received');
    if (point !== undefined && drawn(point)) crash(point);
    return Reflect.apply(push, this, call);
  } as Socket['push'];
}

function pointIn(chunk: unknown, among: (point: CrashPoint) => boolean): CrashPoint | undefined {
  if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return undefined;
  const bytes = typeof chunk === 'string' ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return POINTS.find((point) => among(point) && bytes.includes(point.sign));
}

function crashesSoFar(logFile: string): number {
  return existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n').length : 0;
}
