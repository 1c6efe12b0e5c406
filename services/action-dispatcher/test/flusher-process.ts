import { openDatabase } from '@agentlens/database';
import { createMailConnector } from '@agentlens/egress';
import type { KyselyPlugin } from 'kysely';
import { ChannelKinds } from '../src/channels/channel-kinds.ts';
import { NoticeFlusher } from '../src/notices/flusher.ts';

/** Reports that a flush is about to queue notices, so that the spec can kill this process before the commit. */
const reporting: KyselyPlugin = {
  transformQuery({ node }) {
    if (JSON.stringify(node).includes('insert into notices')) process.send?.('queuing');
    return node;
  },
  transformResult: ({ result }) => Promise.resolve(result),
};

const { db } = openDatabase({ url: process.env.FLUSHER_DATABASE ?? '', role: 'action-dispatcher' });
const kinds = new ChannelKinds(createMailConnector({ allow: [] }));
const onUnreadable = (tenantId: string) => {
  throw new Error(`the routes of ${tenantId} cannot be read`);
};
const flusher = new NoticeFlusher({ db: db.withPlugin(reporting), now: Date.now, kinds, onUnreadable });
process.send?.('ready');

async function flush(): Promise<void> {
  const { groups } = await flusher.flush();
  setTimeout(() => void flush(), groups === 0 ? 50 : 0);
}

void flush();
