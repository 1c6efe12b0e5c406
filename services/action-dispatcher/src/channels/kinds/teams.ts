import { visible } from '@agentlens/contracts/visible';
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

/** Teams drops cards of more than 28 kB without an error to the sender. */
const MAX_CARD_BYTES = 24_000;

/**
 * A flow of Teams Workflows that posts an Adaptive Card. The flow cannot prove who pressed a button, so the card only
 * links to the console.
 */
export const teams: HttpChannelKind<{ readonly url: string }> = {
  secrets: ['url'],
  shows: 'grouped',
  address: ({ url }) => url,
  target: ({ url }) => showHost(url),
  render({ url }, notice) {
    const total = notice.firing.length + notice.resolved.length;
    for (let most = Math.min(total, 20); ; most--) {
      const request = post(url, message(notice, most));
      if (most === 0 || Buffer.byteLength(request.body ?? '') <= MAX_CARD_BYTES) return { request };
    }
  },
  read(response, _notice, nowMs) {
    const outcome = readStatus(response, nowMs);
    if (outcome.kind !== 'delivered') return outcome;
    return { ...outcome, detail: 'the flow accepted it; Teams does not report whether it was posted' };
  },
};

function message(notice: Notice, most: number): object {
  const shown = [
    ...notice.firing.map((alert) => ({ alert, text: alert.message })),
    ...notice.resolved.map((alert) => ({ alert, text: outcomeText(alert) })),
  ];
  const [first] = shown;
  const hidden = shown.length - Math.min(most, shown.length) + notice.more;
  const link = linkToAlert(notice, first?.alert);
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      { ...text(headline(notice), 300), weight: 'Bolder', size: 'Medium' },
      ...shown
        .slice(0, most)
        .flatMap(({ alert, text: detail }) => [
          { ...text(alert.title, 200), weight: 'Bolder' },
          text(detail, 1_000),
          { ...text(`${alert.severity} · ${factsOf(alert)}`, 400), isSubtle: true },
        ]),
      ...(hidden === 0 ? [] : [text(`and ${hidden} more`, 50)]),
    ],
    actions: link === undefined ? [] : [{ type: 'Action.OpenUrl', title: 'Open in AgentLens', url: link }],
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content: card }] };
}

/** Text blocks read Markdown; what agents wrote must not become a link. */
function text(content: string, most: number) {
  const plain = cutText(visible(content), most).replaceAll(/[\\`*_[\]<>#|~]/g, (character) => `\\${character}`);
  return { type: 'TextBlock', text: plain, wrap: true };
}
