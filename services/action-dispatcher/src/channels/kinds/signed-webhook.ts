import { type HttpChannelKind, linkToAlert, post, readStatus, showHost } from '../notice.ts';

interface SignedWebhookConfig {
  readonly url: string;
  readonly secret?: string | undefined;
}

/** Notices for programs, as Standard Webhooks 1.0. Facts that are not grouped are sent by `/api/webhooks`. */
export const signedWebhook: HttpChannelKind<SignedWebhookConfig> = {
  secrets: ['url', 'secret'],
  shows: 'grouped',
  address: ({ url }) => url,
  target: ({ url }) => showHost(url),
  render({ url, secret }, notice) {
    const { id, reason, route, channelId, group, firing, resolved, deleted = [], more, at } = notice;
    const link = linkToAlert(notice, [...firing, ...resolved][0]);
    const data = { id, reason, route, channel: channelId, group, firing, resolved, deleted, more };
    return { request: post(url, { type: 'notice.sent', timestamp: at, data, url: link }), sign: secret };
  },
  read: (response, _notice, nowMs) => readStatus(response, nowMs),
};
