import type { Alert, ApprovalCall } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import { readRetryAfter } from '@agentlens/guardrails/actions';
import { section } from '../../webhooks/slack-body.ts';
import {
  type ChannelOutcome,
  cutText,
  type HttpChannelKind,
  headline,
  linkToAlert,
  type Notice,
  post,
  type ReceiverAnswer,
  readStatus,
} from '../notice.ts';
import { linkButton, slackBlocks, slackText } from './slack-webhook.ts';

export interface SlackAppConfig {
  readonly botToken: string;
  readonly signingSecret: string;
  readonly workspace: string;
  readonly channel: string;
  readonly content: 'whole' | 'none';
  readonly apiUrl?: string | undefined;
}

const API_URL = 'https://slack.com/api';

/** Ids of the buttons. Their values name an alert and its call; they grant nothing. */
export const APPROVE = 'agentlens_approve';
export const DENY = 'agentlens_deny';
export const TEST = 'agentlens_test';

/** A call is shown in so many blocks of so many characters, or not at all. */
const MAX_CALL_BLOCKS = 6;
const MAX_BLOCK = 2_900;

/** Errors after which the same request can succeed. */
const PASSING = new Set([
  'ratelimited',
  'rate_limited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
]);
/** Notices that change what was posted instead of adding to it. */
const CHANGING = new Set<Notice['reason']>(['resolved', 'rerouted', 'changed']);
/** Errors of a message that exists and cannot be changed. */
const FIXED = new Set(['cant_update_message', 'edit_window_closed']);

/** A Slack app: it posts, changes what it has posted, and takes clicks. */
export const slackApp: HttpChannelKind<SlackAppConfig> = {
  secrets: ['botToken', 'signingSecret'],
  shows: 'grouped',
  address: ({ apiUrl }) => apiUrl ?? null,
  target: ({ workspace, channel }) => `Slack ${workspace} / ${channel}`,
  render(config, notice) {
    const { prior } = notice;
    const content = {
      channel: config.channel,
      text: slackText(headline(notice), 300),
      blocks: blocksFor(config, notice),
    };
    const base = (config.apiUrl ?? API_URL).replace(/\/+$/, '');
    const headers = { authorization: `Bearer ${config.botToken}`, 'content-type': 'application/json; charset=utf-8' };
    if (prior !== undefined && placeFor(notice) === 'change') {
      return { request: post(`${base}/chat.update`, { ...content, ts: prior }, headers) };
    }
    const thread = placeFor(notice) === 'reply' ? { thread_ts: prior, reply_broadcast: true } : {};
    return { request: post(`${base}/chat.postMessage`, { ...content, ...thread, unfurl_links: false }, headers) };
  },
  read: readSlackAnswer,
  replace: replaceChange,
};

/** A message of its own, a reply in the thread of what was posted, or a change of it. */
function placeFor({ prior, reason, isFixed }: Notice): 'message' | 'reply' | 'change' {
  if (prior === undefined || reason === 'first') return 'message';
  return CHANGING.has(reason) && isFixed !== true ? 'change' : 'reply';
}

/** A change that Slack refuses is posted: below the message, or as a new one if a person deleted that. */
function replaceChange(notice: Notice, response: ReceiverAnswer): Notice | undefined {
  if (placeFor(notice) !== 'change') return undefined;
  const { error } = parseAnswer(response.body);
  if (error === 'message_not_found') return { ...notice, prior: undefined };
  return typeof error === 'string' && FIXED.has(error) ? { ...notice, isFixed: true } : undefined;
}

/** Slack answers 200 also when it refuses. */
function readSlackAnswer(response: ReceiverAnswer, notice: Notice, nowMs: number): ChannelOutcome {
  const { status, body, headers } = response;
  if (status !== 200) return readStatus(response, nowMs);
  const answer = parseAnswer(body);
  if (answer.ok === true && typeof answer.ts === 'string') {
    const receipt = placeFor(notice) === 'message' ? answer.ts : notice.prior;
    return { kind: 'delivered', httpStatus: status, detail: `Slack ts ${answer.ts}`, receipt };
  }
  const error = typeof answer.error === 'string' ? answer.error : 'an answer that is not of Slack';
  const text = `Slack: ${visible(error).slice(0, 100)}`;
  if (!PASSING.has(error)) return { kind: 'rejected', httpStatus: status, reason: text };
  const afterMs = readRetryAfter(headers, nowMs);
  return {
    kind: 'retry',
    httpStatus: status,
    reason: text,
    destinationDown: false,
    ...(afterMs === undefined ? {} : { afterMs }),
  };
}

function parseAnswer(body: string): { readonly ok?: unknown; readonly ts?: unknown; readonly error?: unknown } {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === 'object' && answer !== null ? answer : {};
  } catch {
    return {};
  }
}

function blocksFor({ content }: SlackAppConfig, notice: Notice): object[] {
  const [alert] = [...notice.firing, ...notice.resolved];
  const link = linkToAlert(notice, alert);
  const open = link === undefined ? [] : [linkButton('Open', link)];
  if (notice.reason === 'test') {
    const press = {
      type: 'button',
      action_id: TEST,
      value: 'test',
      text: { type: 'plain_text', text: 'Test the buttons' },
    };
    return [section('*AgentLens can reach this channel.* Press the button to test clicks.'), actions([press])];
  }
  const isOpen = alert?.status === 'pending' || alert?.status === 'acknowledged';
  if (alert?.kind !== 'approval' || !isOpen) return [...slackBlocks(notice), ...linkRow(open)];
  const call = content === 'none' ? undefined : notice.call;
  const shown = call === undefined ? undefined : callBlocks(call);
  const why = noButtons(notice, content, shown !== undefined);
  if (why !== undefined || shown === undefined) {
    return [...slackBlocks(notice), section(`_${slackText(why ?? '', 300)}_`), ...linkRow(open)];
  }
  return [...slackBlocks(notice), ...shown, actions([...decisionButtons(alert), ...open])];
}

/** Why the message has no Approve button; undefined if it has. */
function noButtons(notice: Notice, content: 'whole' | 'none', fits: boolean): string | undefined {
  const { call, mayVote } = notice;
  // Changes go to the message, so buttons of a reply would stay.
  if (placeFor(notice) === 'reply') return 'Decide in the message that this answers.';
  if (!mayVote) return 'The policy of this approval accepts no votes from Slack. Decide in the console.';
  if (content === 'none') return 'This channel does not show calls. Decide in the console.';
  if (call?.cut !== undefined) return 'A part of the call is missing, so it cannot be approved.';
  return fits ? undefined : 'The call is too long to be shown here. Decide in the console.';
}

/** The whole call, or undefined if it does not fit. */
function callBlocks({ arguments: args, result, cut }: ApprovalCall): object[] | undefined {
  if (cut !== undefined) return undefined;
  const text = visible(result === undefined ? args : `${args}\n\nResult:\n${result}`);
  const parts: string[] = [];
  const characters = Array.from(text);
  for (let from = 0; from < characters.length; from += MAX_BLOCK)
    parts.push(characters.slice(from, from + MAX_BLOCK).join(''));
  if (parts.length > MAX_CALL_BLOCKS || parts.some((part) => part.length > 3_000)) return undefined;
  // Preformatted text is not parsed, so the call cannot mention anybody or end the block.
  return parts.map((part) => ({
    type: 'rich_text',
    elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: part }] }],
  }));
}

function decisionButtons(alert: Alert): object[] {
  const value = JSON.stringify([alert.id, alert.approval?.argsHash ?? '']);
  const confirm = {
    title: { type: 'plain_text', text: 'Approve this call?' },
    text: {
      type: 'plain_text',
      text: cutText(visible(`${alert.approval?.toolName ?? ''} of ${alert.agentId}: ${alert.title}`), 290),
    },
    confirm: { type: 'plain_text', text: 'Approve' },
    deny: { type: 'plain_text', text: 'Back' },
  };
  return [
    {
      type: 'button',
      action_id: APPROVE,
      style: 'primary',
      value,
      text: { type: 'plain_text', text: 'Approve' },
      confirm,
    },
    { type: 'button', action_id: DENY, style: 'danger', value, text: { type: 'plain_text', text: 'Deny' } },
  ];
}

function actions(elements: readonly object[]): object {
  return { type: 'actions', elements };
}

function linkRow(elements: readonly object[]): object[] {
  return elements.length === 0 ? [] : [actions(elements)];
}
