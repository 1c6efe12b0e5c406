import { PassThrough, Readable } from 'node:stream';
import { startNats, type TestServer } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, createInbox, type NatsConnection } from '@nats-io/transport-node';
import { StreamFileReader, StreamFileWriter } from './stream-file.ts';
import { listStreams, loadStream, openSnapshot } from './stream-snapshots.ts';

const MESSAGES = 500;
const READ = 120;

describe('snapshots of streams', () => {
  let [from, to]: TestServer[] = [];
  let connections: NatsConnection[] = [];

  beforeEach(async () => {
    [from, to] = await Promise.all([startNats(), startNats()]);
    connections = await Promise.all([from, to].map((server) => connect({ servers: server?.url ?? '' })));
  });
  afterEach(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await Promise.all([from?.stop(), to?.stop()]);
  });

  async function api(connection: NatsConnection | undefined, path: string, body: object) {
    const answer = await connection?.request(`$JS.API.${path}`, JSON.stringify(body));
    return answer?.json<{
      error?: object;
      state: { messages: number };
      num_pending: number;
      ack_floor: { stream_seq: number };
    }>();
  }

  async function save(connection: NatsConnection): Promise<Buffer> {
    const out = new PassThrough({ highWaterMark: 2 ** 26 });
    const writer = new StreamFileWriter(out);
    for (const name of await listStreams(connection)) {
      const { head, parts } = await openSnapshot(connection, name);
      await writer.writeHead(head);
      for await (const part of parts) await writer.writePart(part);
      await writer.end();
    }
    await writer.end();
    out.end();
    return Buffer.concat(await out.toArray());
  }

  it('restore messages and how far consumers have read, on another server that has the streams already', async () => {
    const [source, target] = connections;
    if (source === undefined || target === undefined) throw new Error('not connected');
    const streams = [
      { name: 'EVENTS', subjects: ['events.>'] },
      { name: 'CONTROL', subjects: ['control.>'], max_msgs_per_subject: 1 },
    ];
    for (const connection of connections) {
      for (const config of streams) await api(connection, `STREAM.CREATE.${config.name}`, config);
    }
    for (let index = 0; index < MESSAGES; index += 1) {
      await source.request(`events.${index % 7}`, `event ${index} ${'x'.repeat(1_000)}`);
    }
    await source.request('control.rules', 'the newest');
    const consumer = { stream_name: 'EVENTS', config: { durable_name: 'tracking', ack_policy: 'explicit' } };
    await api(source, 'CONSUMER.DURABLE.CREATE.EVENTS.tracking', consumer);
    const inbox = createInbox();
    const delivered = source.subscribe(inbox, { max: READ });
    const next = JSON.stringify({ batch: READ, no_wait: true });
    source.publish('$JS.API.CONSUMER.MSG.NEXT.EVENTS.tracking', next, { reply: inbox });
    for await (const message of delivered) await source.request(message.reply ?? '', '+ACK');

    const reader = new StreamFileReader(Readable.from([await save(source)]));
    for (let head = await reader.readHead(); head !== null; head = await reader.readHead()) {
      await loadStream(target, head, reader.readParts());
    }

    expect(await listStreams(target)).toEqual(['CONTROL', 'EVENTS']);
    expect((await api(target, 'STREAM.INFO.EVENTS', {}))?.state.messages).toBe(MESSAGES);
    expect((await api(target, 'STREAM.INFO.CONTROL', {}))?.state.messages).toBe(1);
    const restored = await api(target, 'CONSUMER.INFO.EVENTS.tracking', {});
    expect(restored).toMatchObject({ num_pending: MESSAGES - READ, ack_floor: { stream_seq: READ } });
  });

  it('says that a cut file is not complete', async () => {
    const [source] = connections;
    if (source === undefined) throw new Error('not connected');
    await api(source, 'STREAM.CREATE.EVENTS', { name: 'EVENTS', subjects: ['events.>'] });
    const whole = await save(source);
    const reader = new StreamFileReader(Readable.from([whole.subarray(0, whole.length - 8)]));

    await reader.readHead();
    const reading = async () => {
      for await (const part of reader.readParts()) expect(part.length).toBeGreaterThan(0);
    };
    await expect(reading()).rejects.toThrow('the backup is not complete');
  });

  it('names the stream that the server does not have', async () => {
    const [source] = connections;
    if (source === undefined) throw new Error('not connected');
    await expect(openSnapshot(source, 'NONE')).rejects.toThrow(
      'NATS refused to STREAM.SNAPSHOT.NONE: stream not found',
    );
  });
});
