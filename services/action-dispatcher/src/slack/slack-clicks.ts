import { type ChangeAuthor, type ChannelConfigOf, MINUTE_MS, type VoterRef } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import { type ApiKeysTable, type ChatLinksTable, recordChanges, type Tables } from '@agentlens/database';
import type { EgressClient } from '@agentlens/egress';
import { BackgroundWork } from '@agentlens/messaging';
import type { SecretBox } from '@agentlens/platform';
import { type Kysely, type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { isOpen } from '../alerts/alerts.repository.ts';
import { type CommandAnswer, refusal } from '../answer.ts';
import type { AlertDecisions } from '../approvals/alert-decisions.ts';
import { type ChannelKinds, openConfig } from '../channels/channel-kinds.ts';
import { parseConfig, readChannel } from '../channels/channels.repository.ts';
import { APPROVE, DENY, TEST } from '../channels/kinds/slack-app.ts';
import { slackText } from '../channels/kinds/slack-webhook.ts';
import { outcomeText } from '../channels/notice.ts';
import { type Click, isFromSlack, readPayload, readValue, type SignedRequest } from './slack-requests.ts';

type SlackConfig = ChannelConfigOf<'slack_app'>;
/** All null: the account is not linked. */
type Clicker = Nullable<Pick<Selectable<ChatLinksTable>, 'person_id' | 'key_id' | 'name'>> &
  Nullable<Pick<Selectable<ApiKeysTable>, 'scopes' | 'revoked_at' | 'expires_at'>> & {
    readonly shown: boolean;
    /** The answer to the message was lost: another one stands for the approval, and only that one is changed. */
    readonly is_stray: boolean;
  };
type Nullable<T> = { readonly [K in keyof T]: T[K] | null };
const UNKNOWN: Clicker = {
  ...{ person_id: null, key_id: null, name: null, scopes: null, revoked_at: null, expires_at: null },
  ...{ shown: false, is_stray: false },
};

interface ClickAnswer {
  readonly text: string;
  /** In place of the message that was clicked, for everybody; otherwise only the person who clicked sees it. */
  readonly replaces?: boolean;
}

/** Of a chat. */
interface Account {
  readonly workspace: string;
  readonly user: string;
}

interface ClickDependencies {
  readonly db: Kysely<Tables>;
  readonly secrets: SecretBox;
  readonly kinds: ChannelKinds;
  readonly decisions: Pick<AlertDecisions, 'decide'>;
  readonly egress: Pick<EgressClient, 'send'>;
  readonly now: () => number;
  readonly publicUrl: string | undefined;
  readonly onError: (error: unknown) => void;
}

interface ChannelClick extends SignedRequest {
  readonly tenantId: string;
  readonly channelId: string;
}

const Link = z.object({ tenantId: z.string(), workspace: z.string(), user: z.string(), untilMs: z.number() });
/** A link to connect an account works for this long. */
const LINK_MS = 10 * MINUTE_MS;
const LINK_CONTEXT = ['chat_links', 'slack'];
/** Slack waits three seconds for everything. */
const REPLY_TIMEOUT_MS = 1_500;

/**
 * Clicks in Slack. Membership of a channel grants nothing: a click is the vote of the person who linked the account. The
 * message itself changes only when the alert does, so that every way of deciding shows the same.
 */
export class SlackClicks {
  readonly #replies = new BackgroundWork();

  constructor(private readonly dependencies: ClickDependencies) {}

  /** Refused requests get no detail: they are not of Slack. */
  async take(click: ChannelClick): Promise<CommandAnswer<{ taken: boolean }>> {
    const { db, kinds, secrets, now } = this.dependencies;
    const { tenantId, channelId } = click;
    const row = await readChannel(db, tenantId, channelId);
    if (row?.kind !== 'slack_app') return UNSIGNED;
    const config = parseConfig(openConfig(secrets, kinds.find('slack_app'), { tenantId, channelId }, row.config));
    if (config.kind !== 'slack_app' || !isFromSlack(click, config.signingSecret, now())) return UNSIGNED;
    const payload = readPayload(click.body);
    if (payload === undefined) return { ok: true, value: { taken: false } };
    let answer: ClickAnswer | undefined;
    try {
      answer = await this.#answer(click, config, payload);
    } catch (error) {
      // Slack may have stopped to wait, and then shows nothing of it.
      this.#replies.add(this.#reply(config, payload, { text: NOT_TAKEN }));
      throw error;
    }
    if (answer !== undefined) this.#replies.add(this.#reply(config, payload, answer));
    return { ok: true, value: { taken: true } };
  }

  /** Connects the account of a chat with the caller, who has followed the link from the chat. */
  link({
    tenantId,
    token,
    author,
  }: {
    readonly tenantId: string;
    readonly token: string;
    readonly author: ChangeAuthor;
  }): Promise<CommandAnswer<{ workspace: string; user: string }>> {
    const { db, now } = this.dependencies;
    const link = this.#openLink(token);
    if (link === undefined || link.tenantId !== tenantId || link.untilMs < now())
      return Promise.resolve(
        refusal(422, 'This link has expired', 'Press the button in Slack again, and follow the new link.'),
      );
    const { workspace, user } = link;
    const at = new Date(now()).toISOString();
    const name = author.person ?? author.keyName;
    const values = { person_id: author.personId ?? null, key_id: author.keyId, name, linked_at: at };
    return db.transaction().execute(async (tx) => {
      await tx
        .insertInto('chat_links')
        .values({ tenant_id: tenantId, workspace, chat_user: user, ...values })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'workspace', 'chat_user']).doUpdateSet(values))
        .execute();
      await recordChanges(tx, [
        { tenantId, at, kind: 'chat_link.set', targetId: `${workspace}/${user}`, author, after: { name } },
      ]);
      return { ok: true, value: { workspace, user } };
    });
  }

  /** Undefined if there is nothing to say. */
  async #answer(given: ChannelClick, config: SlackConfig, click: Click): Promise<ClickAnswer | undefined> {
    const action = click.actions.find(({ action_id }) => [APPROVE, DENY, TEST].includes(action_id));
    if (action === undefined) return undefined;
    const answer = await this.#judge(given, config, click, action);
    return typeof answer === 'string' ? { text: answer } : answer;
  }

  async #judge(
    given: ChannelClick,
    config: SlackConfig,
    click: Click,
    action: Click['actions'][number],
  ): Promise<string | ClickAnswer | undefined> {
    const { tenantId } = given;
    if (action.action_id === TEST) return 'Buttons work.';
    const workspace = click.user.team_id ?? click.team?.id ?? '';
    // Slack Connect brings people of other companies into a channel.
    if (workspace !== config.workspace) return 'Only members of the workspace of this channel can decide here.';
    const [alertId, callHash] = readValue(action.value);
    const account = { workspace, user: click.user.id };
    const ts = click.container?.message_ts ?? null;
    const clicker = alertId === undefined ? UNKNOWN : await this.#readClicker(given, alertId, account, ts);
    if (alertId === undefined || !clicker.shown) return 'This button belongs to no approval of this channel.';
    const { key_id: keyId, name, person_id: personId } = clicker;
    if (keyId === null || name === null) return this.#invite(tenantId, workspace, click.user.id);
    const voter = this.#findVoter(clicker, keyId);
    if (voter === undefined)
      return 'The key with which this account was linked may no longer review. Link the account again.';
    const author = {
      ...{ keyId, keyName: name, via: 'slack' as const },
      ...(personId === null ? {} : { person: name, personId }),
    };
    const verb = action.action_id === APPROVE ? ('approve' as const) : ('deny' as const);
    const verdict = { tenantId, alertId, verb, callHash, voter, author, by: `${name}, slack` };
    const decided = await this.dependencies.decisions.decide(verdict);
    if (decided.ok) {
      if (isOpen(decided.value)) return 'Your vote counts. More votes are needed.';
      const text = `Approval ${outcomeText(decided.value)}: ${decided.value.title}`;
      return clicker.is_stray ? { text, replaces: true } : undefined;
    }
    const { error, hint, details = [] } = decided.problem;
    const text = [error, ...details.map(({ message }) => message), hint ?? ''].filter((part) => part !== '').join('. ');
    // Of the refusals, only that of an approval which is decided names its status.
    return { text, replaces: clicker.is_stray && details.some(({ path }) => path === 'status') };
  }

  #invite(tenantId: string, workspace: string, user: string): string {
    const { secrets, publicUrl, now } = this.dependencies;
    const token = secrets.seal(JSON.stringify({ tenantId, workspace, user, untilMs: now() + LINK_MS }), LINK_CONTEXT);
    if (publicUrl === undefined) return `Your Slack account is not linked. Run: agentlens channels link ${token}`;
    return `Your Slack account is not linked. Sign in and link it within 10 minutes: ${publicUrl.replace(/\/+$/, '')}/link/slack#${encodeURIComponent(token)}`;
  }

  #openLink(token: string): z.output<typeof Link> | undefined {
    try {
      return Link.parse(JSON.parse(this.dependencies.secrets.open(token, LINK_CONTEXT)));
    } catch {
      // Altered, or of another installation.
      return undefined;
    }
  }

  /** The link of the account, its key as it is now, and whether the channel shows the approval, in this message. */
  async #readClicker(
    { tenantId, channelId }: ChannelClick,
    alertId: string,
    account: Account,
    ts: string | null,
  ): Promise<Clicker> {
    const { rows } = await sql<Clicker>`
      select l.person_id, l.key_id, l.name, k.scopes, k.revoked_at, k.expires_at,
        exists (select from notice_alerts a join notices n using (tenant_id, notice_id)
          where a.tenant_id = ${tenantId} and a.alert_id = ${alertId} and n.channel_id = ${channelId}) as shown,
        ${ts}::text is not null and exists (
          select from notice_alerts a join notices n using (tenant_id, notice_id) join deliveries d using (tenant_id, delivery_id)
          where a.tenant_id = ${tenantId} and a.alert_id = ${alertId} and n.channel_id = ${channelId}
          having count(d.receipt) > 0 and count(*) filter (where d.receipt = ${ts}::text) = 0) as is_stray
      from (select 1) as one
        left join chat_links l on l.tenant_id = ${tenantId} and l.workspace = ${account.workspace} and l.chat_user = ${account.user}
        left join api_keys k on k.tenant_id = l.tenant_id and k.key_id = l.key_id
    `.execute(this.dependencies.db);
    return rows[0] ?? UNKNOWN;
  }

  /** A person is judged by roles and teams; a key by its scopes now. */
  #findVoter({ person_id, scopes, revoked_at, expires_at }: Clicker, keyId: string): VoterRef | undefined {
    if (person_id !== null) return { keyId, personId: person_id, isAgent: false, via: 'slack' };
    if (scopes === null || revoked_at !== null) return undefined;
    if (expires_at !== null && Date.parse(expires_at) <= this.dependencies.now()) return undefined;
    const isAdmin = scopes.includes('admin');
    if (!isAdmin && !scopes.includes('review')) return undefined;
    const isAgent = !isAdmin && scopes.some((scope) => scope === 'ingest' || scope === 'decide');
    return { keyId, isAgent, via: 'slack' };
  }

  /** The address is Slack's, so nothing else may be called. */
  async #reply({ apiUrl }: SlackConfig, { response_url }: Click, { text, replaces }: ClickAnswer): Promise<void> {
    const url = URL.parse(response_url ?? '');
    const isSlack =
      url?.origin === 'https://hooks.slack.com' || (apiUrl !== undefined && url?.origin === URL.parse(apiUrl)?.origin);
    if (url === null || !isSlack) return;
    const { egress, onError } = this.dependencies;
    const place =
      replaces === true ? { replace_original: true } : { response_type: 'ephemeral', replace_original: false };
    const body = JSON.stringify({ ...place, text: replaces === true ? slackText(text, 500) : visible(text) });
    try {
      const headers = { 'content-type': 'application/json' };
      const sent = await egress.send({ method: 'POST', url: url.href, headers, body, timeoutMs: REPLY_TIMEOUT_MS });
      if (sent.kind !== 'answered') onError(new Error(`Slack did not take the answer to a click: ${sent.reason}`));
    } catch (error) {
      onError(error);
    }
  }
}

const NOT_TAKEN = 'AgentLens could not take this click. Press the button again.';
const UNSIGNED: CommandAnswer<never> = refusal(401, 'The request is not signed by Slack');
