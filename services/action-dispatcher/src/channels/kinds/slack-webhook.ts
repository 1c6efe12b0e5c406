import { visible } from '@agentlens/contracts/visible';
import { escapeSlack, section } from '../../webhooks/slack-body.ts';
import {
  cutText,
  factsOf,
  type HttpChannelKind,
  headline,
  linkToAlert,
  type Notice,
  outcomeText,
  post,
  readStatus,
  showHost,
} from '../notice.ts';

/** Escapes Slack's control characters, so that text of agents cannot mention a channel, and cuts it. */
export function slackText(text: string, most: number): string {
  return cutText(visible(text), most).replaceAll(/[&<>]/g, escapeSlack);
}

export function linkButton(text: string, url: string) {
  return { type: 'button', text: { type: 'plain_text', text }, url, action_id: 'open' };
}

/** Slack takes 50 blocks and 3,000 characters in each; escapes can make a text five times as long. */
const MAX_SHOWN = 10;
const MAX_LINE = 500;

/** The alerts of a notice as blocks, those that fire first. */
export function slackBlocks(notice: Notice): object[] {
  const { firing, resolved, more } = notice;
  const shown = [
    ...firing.map((alert) => ({
      alert,
      text: `*${slackText(alert.title, 200)}*\n${slackText(alert.message, MAX_LINE)}`,
    })),
    ...resolved.map((alert) => ({
      alert,
      text: `~${slackText(alert.title, 200)}~ ${slackText(outcomeText(alert), 300)}`,
    })),
  ];
  const hidden = Math.max(0, shown.length - MAX_SHOWN) + more;
  return [
    section(`*${slackText(headline(notice), 300)}*`),
    ...shown.slice(0, MAX_SHOWN).flatMap(({ alert, text }) => [
      section(text),
      {
        type: 'context',
        elements: [{ type: 'mrkdwn', text: slackText(`${alert.severity} · ${factsOf(alert)}`, 400) }],
      },
    ]),
    ...(hidden === 0 ? [] : [section(`and ${hidden} more`)]),
  ];
}

/** An incoming webhook of Slack. It can show and link, but not change what it has posted. */
export const slackWebhook: HttpChannelKind<{ readonly url: string }> = {
  secrets: ['url'],
  shows: 'grouped',
  address: ({ url }) => url,
  target: ({ url }) => showHost(url),
  render({ url }, notice) {
    const [alert] = [...notice.firing, ...notice.resolved];
    const link = linkToAlert(notice, alert);
    const buttons = link === undefined ? [] : [{ type: 'actions', elements: [linkButton('Open', link)] }];
    return {
      request: post(url, { text: slackText(headline(notice), 300), blocks: [...slackBlocks(notice), ...buttons] }),
    };
  },
  read: (response, _notice, nowMs) => readStatus(response, nowMs),
};
