import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JetStreamApiError, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { atLeast, equal } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { plainNats, tracedNats } from '../power-cut/traced-nats.ts';

const STREAM = 'POWER';
const SUBJECT = 'power.cut';
const BYTES = 2_000;
const AT_ONCE = 8;
const TIMES = 3;
const NO_SUCH_STREAM = 10_059;

const powerCut: Fault = {
  id: 'F-21',
  title: 'a power cut: data that NATS had not synced is lost',
  async run(lab) {
    let acknowledged = 0;
    let lost = 0;
    for (let time = 1; time <= TIMES; time++) {
      const cut = await cutPower(lab, 'always');
      acknowledged += cut.acknowledged;
      lost += cut.lost;
    }
    const { lost: lostByDefault } = await cutPower(lab, '"2m"');
    lab.measure('acknowledged', acknowledged, 'messages');
    lab.check(
      atLeast('messages acknowledged', TIMES, acknowledged),
      equal('acknowledged messages lost with sync_interval: always', 0, lost),
      // Otherwise the test could not detect a loss.
      atLeast('acknowledged messages lost with the default of two minutes', 1, lostByDefault),
    );
  },
};

/**
 * Publishes until the power is cut. Returns which messages were acknowledged, and which of them are missing afterwards.
 */
async function cutPower(lab: Lab, sync: string): Promise<{ readonly acknowledged: number; readonly lost: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlens-power-'));
  try {
    const server = await tracedNats(folder, sync);
    const acknowledged: number[] = [];
    const connection = await connect({ servers: server.url, reconnect: false });
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: STREAM, subjects: [SUBJECT] });
    server.writtenOut();
    const publishing = Array.from({ length: AT_ONCE }, async () => {
      const body = new Uint8Array(BYTES);
      for (;;) {
        const ack = await jetstream(connection)
          .publish(SUBJECT, body)
          .catch(() => undefined);
        if (ack === undefined) return;
        acknowledged.push(ack.seq);
      }
    });
    await lab.sleep(lab.between(1_000, 3_000));
    await server.powerCut();
    await Promise.all(publishing);
    await connection.close();
    const kept = await lastKept(folder);
    const lost = acknowledged.filter((sequence) => sequence > kept).length;
    lab.note(`power cut with sync_interval ${sync}: ${acknowledged.length} acknowledged, ${lost} of them lost`);
    return { acknowledged: acknowledged.length, lost };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Reads the last message. The stream has no gaps: everything up to it is there, or the server would report otherwise.
 * The whole stream may be missing.
 */
async function lastKept(folder: string): Promise<number> {
  const server = await plainNats(folder);
  const connection = await connect({ servers: server.url });
  try {
    const { state } = await (await jetstreamManager(connection)).streams.info(STREAM);
    return state.messages === state.last_seq ? state.last_seq : 0;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === NO_SUCH_STREAM) return 0;
    throw error;
  } finally {
    await connection.close();
    await server.kill();
  }
}

export const POWER_CUT = [powerCut];
