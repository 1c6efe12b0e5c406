import { type RecordedRequest, type RecordingServer, recordingServer } from '@agentlens/testing';

export interface FakeSlack extends RecordingServer {
  /** Messages as people see them, by `ts`. */
  readonly messages: ReadonlyMap<string, SlackMessage>;
}

interface SlackMessage {
  readonly channel: string;
  readonly text: string;
  readonly blocks: readonly object[];
  readonly thread?: string;
}

interface FakeSlackOptions {
  readonly token: string;
  readonly channel: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The two methods of Slack's Web API that post and change messages. Its own client is the oracle of `fake-slack.spec`. */
export async function startFakeSlack({ token, channel }: FakeSlackOptions): Promise<FakeSlack> {
  const server = await recordingServer();
  const messages = new Map<string, SlackMessage>();
  let posted = 0;

  function answer(request: RecordedRequest): Fields {
    const method = request.path.replace(/^\//, '');
    const fields = readFields(request);
    if (request.headers.authorization !== `Bearer ${token}`) return { ok: false, error: 'invalid_auth' };
    if (fields.channel !== channel) return { ok: false, error: 'channel_not_found' };
    const text = typeof fields.text === 'string' ? fields.text : '';
    const blocks = readBlocks(fields.blocks);
    if (text === '' && blocks.length === 0) return { ok: false, error: 'no_text' };
    if (method === 'chat.postMessage') {
      posted += 1;
      const ts = `1700000000.${String(posted).padStart(6, '0')}`;
      const thread = typeof fields.thread_ts === 'string' ? { thread: fields.thread_ts } : {};
      messages.set(ts, { channel, text, blocks, ...thread });
      return { ok: true, channel, ts, message: { type: 'message', text, ts } };
    }
    if (method !== 'chat.update') return { ok: false, error: 'unknown_method' };
    const { ts } = fields;
    const before = typeof ts === 'string' ? messages.get(ts) : undefined;
    if (before === undefined) return { ok: false, error: 'message_not_found' };
    messages.set(String(ts), { ...before, text, blocks });
    return { ok: true, channel, ts: String(ts), text };
  }

  server.answer((request, response) => {
    if (!request.path.startsWith('/chat.')) return void response.writeHead(200).end('ok');
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(request)));
  });
  return { ...server, messages };
}

/** Slack takes JSON and forms. In a form, lists are texts of JSON. */
function readFields({ headers, body }: RecordedRequest): Fields {
  if (headers['content-type']?.startsWith('application/json') === true) return JSON.parse(body);
  return Object.fromEntries(new URLSearchParams(body));
}

function readBlocks(given: unknown): readonly object[] {
  const blocks: unknown = typeof given === 'string' ? JSON.parse(given) : given;
  return Array.isArray(blocks) ? blocks : [];
}
