import type { AnswerOf, DefineCommand } from '../context.ts';
import { usageError } from '../errors.ts';
import { toneOf } from '../output/style.ts';
import { type Cell, type Column, instant } from '../output/table.ts';
import { documentOf, instantFrom } from '../parse.ts';
import { PROGRAM } from '../program-name.ts';

type Channel = AnswerOf<'getChannel'>;

const healthOf = ({ enabled, health }: Channel): string => (enabled ? health.state : 'off');

const CHANNEL_COLUMNS: readonly Column<Channel>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'kind', value: ({ kind }) => kind },
  {
    title: 'health',
    value: healthOf,
    tone: (text) => (text === 'failing' ? 'bad' : text === 'ok' ? 'good' : undefined),
  },
  { title: 'accepted', value: ({ health }) => instant(health.acceptedAt) },
  { title: 'fallback', value: ({ fallback }) => fallback },
  { title: 'target', value: ({ target }) => target },
];

function channelMembers(channel: Channel): [string, Cell][] {
  return [
    ['Channel', channel.id],
    ['Kind', channel.kind],
    ['Target', channel.target],
    ['Health', healthOf(channel)],
    ['Last accepted', instant(channel.health.acceptedAt)],
    ['Last error', channel.health.error],
    ['Fallback', channel.fallback],
  ];
}

export const listChannels: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const { channels } = await client.listChannels();
    context.output.printTable(channels, CHANNEL_COLUMNS, 'No channels.');
  });
};

export const showChannel: DefineCommand = (command, context) => {
  command.argument('<id>', 'the channel').action(async (id) => {
    const client = await context.connect();
    const channel = await client.getChannel({ params: { id } });
    context.output.printDetails(channel, channelMembers(channel));
  });
};

export const setChannel: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the channel')
    .argument('<file>', 'its document as YAML or JSON; "-" for stdin')
    .action(async (id, file) => {
      const body = await documentOf(file, context.host);
      const client = await context.connect();
      // The platform checks the document, and names the field that is wrong.
      const channel = await client.setChannel({ params: { id }, body: body as object });
      context.output.printDetails(channel, channelMembers(channel));
      context.output.note(`To test it: ${PROGRAM} channels test ${id}`);
    });
};

export const testChannel: DefineCommand = (command, context) => {
  command.argument('<id>', 'the channel').action(async (id) => {
    const client = await context.connect();
    const answer = await client.testChannel({ params: { id } });
    context.output.print(answer, () =>
      answer.deliveries
        .map(({ status, detail, receipt }) => `${status}: ${detail ?? ''} ${receipt ?? ''}`.trim())
        .join('\n'),
    );
  });
};

export const deleteChannel: DefineCommand = (command, context) => {
  command.argument('<id>', 'the channel').action(async (id) => {
    const client = await context.connect();
    await context.confirmByName(`Delete the channel ${id}?`, id);
    const answer = await client.deleteChannel({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};

/** Connects the account that pressed a button in a chat with the key or person of the caller. */
export const linkChat: DefineCommand = (command, context) => {
  command.argument('<token>', 'the token that the chat showed').action(async (token) => {
    const client = await context.connect();
    const answer = await client.linkChat({ body: { token } });
    context.output.print(answer, () => `Linked ${answer.user} of ${answer.workspace}. Press the button again.`);
  });
};

type Routes = AnswerOf<'getRoutes'>;
type RouteRow = NonNullable<Routes['document']>['routes'][number];

const ROUTE_COLUMNS: readonly Column<RouteRow>[] = [
  { title: 'route', value: ({ id }) => id },
  { title: 'under', value: ({ under }) => under },
  { title: 'match', value: ({ match }) => match.join(' ') },
  { title: 'channels', value: ({ channels }) => (channels?.length === 0 ? 'none, on purpose' : channels?.join(', ')) },
  { title: 'group by', value: ({ groupBy }) => groupBy?.join(', ') },
  { title: 'wait', value: ({ groupWait }) => groupWait },
  { title: 'repeat', value: ({ repeat }) => (repeat === null ? 'never' : repeat) },
];

export const showRoutes: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const { document, problems } = await client.getRoutes();
    for (const { path, message } of problems) context.output.note(`${path} cannot be read: ${message}`);
    const empty =
      problems.length === 0
        ? 'No routes. Alerts go to no channel.'
        : 'The routes cannot be read. Alerts go to the default channels until you apply routes again.';
    context.output.printTable(document?.routes ?? [], ROUTE_COLUMNS, empty);
  });
};

export const applyRoutes: DefineCommand = (command, context) => {
  command.argument('<file>', 'the routes as YAML or JSON; "-" for stdin').action(async (file) => {
    const document = await documentOf(file, context.host);
    const client = await context.connect();
    const saved = await client.setRoutes({ body: document as { routes: [] } });
    context.output.print(saved, () => `Saved the routes as version ${saved.version}`);
  });
};

type Explained = AnswerOf<'explainRoutes'>['channels'][number];

const EXPLAINED_COLUMNS: readonly Column<Explained>[] = [
  { title: 'channel', value: ({ channel }) => channel },
  {
    title: 'notified',
    value: ({ notified }) => (notified ? 'yes' : 'no'),
    tone: (text) => (text === 'yes' ? 'good' : undefined),
  },
  { title: 'path', value: ({ path }) => path?.join(' > ') },
  { title: 'because', value: ({ because }) => because },
];

/** Reads `severity=critical agent=billing-1`. */
function labelsFrom(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      if (at < 1) throw usageError(`"${word}" is no label; write for example severity=critical`);
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}

export const explainRoutes: DefineCommand = (command, context) => {
  command.argument('<labels...>', 'labels of an alert, such as severity=critical').action(async (words) => {
    const client = await context.connect();
    const { channels } = await client.explainRoutes({ body: { labels: labelsFrom(words) } });
    context.output.printTable(channels, EXPLAINED_COLUMNS, 'No channels.');
  });
};

type ListedSilence = AnswerOf<'listSilences'>['silences'][number];

const SILENCE_COLUMNS: readonly Column<ListedSilence>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: ({ state }) => state },
  { title: 'matchers', value: ({ matchers }) => matchers.join(' ') },
  { title: 'until', value: ({ endsAt }) => instant(endsAt) },
  { title: 'by', value: ({ by }) => by },
  { title: 'comment', value: ({ comment }) => comment },
  { title: 'problem', value: ({ problem }) => problem },
];

export const listSilences: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const { silences } = await client.listSilences();
    context.output.printTable(silences, SILENCE_COLUMNS, 'No silences.');
  });
};

export const createSilence: DefineCommand = (command, context) => {
  const { nowMs } = context.host;
  const fromNow = instantFrom(nowMs);
  command
    .argument('<matchers...>', 'matchers such as agent=billing-1 or severity=~info|warn')
    // Read again below: its length counts from the beginning.
    .requiredOption('--for <time>', 'how long, such as 2h, or until when', (text) => fromNow(text) && text)
    .option('--from <time>', 'for a maintenance window: when it begins, such as 12h or an instant', fromNow)
    .requiredOption('-m, --message <text>', 'why')
    .action(async (matchers, { for: until, from: startsAt, message: comment }) => {
      const endsAt = instantFrom(() => (startsAt === undefined ? nowMs() : Date.parse(startsAt)))(until);
      const client = await context.connect();
      const silence = await client.createSilence({ body: { matchers, startsAt, endsAt, comment } });
      const from = startsAt === undefined ? '' : ` from ${silence.startsAt}`;
      context.output.print(
        silence,
        () => `Silenced${from} until ${silence.endsAt}. To end it: ${PROGRAM} silences end ${silence.id}`,
      );
    });
};

export const endSilence: DefineCommand = (command, context) => {
  command.argument('<id>', 'the silence').action(async (id) => {
    const client = await context.connect();
    const silence = await client.endSilence({ params: { id } });
    context.output.print(silence, () => `Ended ${id}`);
  });
};

type NoticeRow = AnswerOf<'getAlertNotices'>['notices'][number];

const NOTICE_COLUMNS: readonly Column<NoticeRow>[] = [
  { title: 'at', value: ({ at }) => instant(at) },
  { title: 'channel', value: ({ channel }) => channel },
  { title: 'reason', value: ({ reason }) => reason },
  { title: 'delivery', value: ({ delivery }) => delivery?.status, tone: toneOf },
  { title: 'accepted', value: ({ delivery }) => instant(delivery?.acceptedAt) },
  { title: 'receipt or error', value: ({ delivery }) => delivery?.receipt ?? delivery?.error },
];

/** Says who was notified of an alert or approval, and why other channels were not. */
export const alertNotices: DefineCommand = (command, context) => {
  command.argument('<id>', 'the alert or approval').action(async (id) => {
    const client = await context.connect();
    const answer = await client.getAlertNotices({ params: { id } });
    context.output.printTable(answer.notices, NOTICE_COLUMNS, 'No channel was notified.');
    for (const { channel, notified, because } of answer.channels)
      if (!notified) context.output.note(`${channel}: ${because}`);
  });
};
