import { STREAMS } from '@agentlens/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

/** The sequence of the newest message in the stream of events. */
export async function newestEvent(natsUrl: string): Promise<number> {
  const connection = await connect({ servers: natsUrl.split(',') });
  try {
    const manager = await jetstreamManager(connection);
    return (await manager.streams.info(STREAMS.AGENT_EVENTS.name)).state.last_seq;
  } finally {
    await connection.close();
  }
}
