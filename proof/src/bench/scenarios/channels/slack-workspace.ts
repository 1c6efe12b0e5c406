import { createHmac } from 'node:crypto';
import { type RecordedRequest, type RecordingServer, recordingServer } from '@agentlens/testing';
import { monotonicMs } from '../../../harness/time.ts';

interface Button {
  readonly action_id: string;
  readonly value: string;
}

interface Message {
  readonly approve: Button | undefined;
  /** Texts of its changes, with the time of each. */
  readonly changes: { readonly text: string; readonly atMs: number }[];
}

const WORKSPACE = 'T0BENCH';
const CHANNEL = 'C0BENCH';
const USER = 'U0BENCH';
const SIGNING_SECRET = 'secret-of-the-bench';

/** A workspace of Slack: it takes messages and changes of them, and its one person presses buttons. */
export class SlackWorkspace {
  /** By `ts`, in the order in which they were posted. */
  readonly messages = new Map<string, Message>();
  /** What only the person who clicked sees. */
  readonly replies: string[] = [];
  private readonly server: RecordingServer;

  private constructor(server: RecordingServer) {
    this.server = server;
    server.answer((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.take(request)));
    });
  }

  static async open(): Promise<SlackWorkspace> {
    return new SlackWorkspace(await recordingServer());
  }

  get config(): object {
    return {
      ...{ kind: 'slack_app', botToken: 'xoxb-bench', signingSecret: SIGNING_SECRET },
      ...{ workspace: WORKSPACE, channel: CHANNEL, apiUrl: this.server.url },
    };
  }

  /** The signed request that a press of the button sends. */
  press(button: Button): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
    const payload = {
      ...{ type: 'block_actions', user: { id: USER, team_id: WORKSPACE }, team: { id: WORKSPACE } },
      ...{ response_url: `${this.server.url}/reply`, actions: [button] },
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const digest = createHmac('sha256', SIGNING_SECRET).update(`v0:${timestamp}:${body}`).digest('hex');
    return {
      body,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': `v0=${digest}`,
      },
    };
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private take({ path, body }: RecordedRequest): object {
    const fields = JSON.parse(body) as { text: string; ts?: string; blocks?: { elements?: Button[] }[] };
    if (path === '/reply') {
      this.replies.push(fields.text);
      return { ok: true };
    }
    if (path === '/chat.postMessage') {
      const ts = `17.${this.messages.size + 1}`;
      const buttons = (fields.blocks ?? []).flatMap(({ elements = [] }) => elements);
      this.messages.set(ts, {
        approve: buttons.find(({ action_id }) => action_id === 'agentlens_approve'),
        changes: [],
      });
      return { ok: true, ts };
    }
    const message = this.messages.get(fields.ts ?? '');
    if (path !== '/chat.update' || message === undefined) return { ok: false, error: 'message_not_found' };
    message.changes.push({ text: fields.text, atMs: monotonicMs() });
    return { ok: true, ts: fields.ts };
  }
}
