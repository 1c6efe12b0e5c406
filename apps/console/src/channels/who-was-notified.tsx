import { Link } from '@tanstack/react-router';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { noticeWords } from '../../../../libs/guardrails/src/words/change-words.ts';
import { client } from '../api/client.ts';
import type { AlertNotice, Delivery } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { Read } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { type Mark, State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Note, Section } from '../ui/section.tsx';

const STATES: Readonly<Record<string, Mark>> = {
  success: { icon: 's-succeeded', tone: 'succeeded', word: 'Accepted' },
  pending: { icon: 's-waiting', tone: 'waiting', word: 'Waiting' },
  retrying: { icon: 's-waiting', tone: 'waiting', word: 'Trying again' },
  failed: { icon: 's-failed', tone: 'failed', word: 'Given up' },
  superseded: { icon: 'v-no', tone: 'no', word: 'Superseded' },
};
const GONE: Mark = { icon: 'v-no', tone: 'no', word: 'Deleted' };

const REASONS: Readonly<Record<AlertNotice['reason'], string>> = {
  ...{ first: 'first', new: 'more alerts', repeat: 'repeated', resolved: 'the end', rerouted: 'moved elsewhere' },
  ...{ approval: 'asked', escalation: 'escalated', changed: 'changed', fallback: 'fallback', test: 'test' },
};

/**
 * Who knows about an alert or approval: every notice of a channel and message of a webhook, with the answer of its
 * receiver, and why channels were left out.
 */
export function WhoWasNotified({ alertId, isOpen }: { readonly alertId: string; readonly isOpen: boolean }) {
  const read = useRead(['alerts', 'notices', alertId], (signal) =>
    client.getAlertNotices({ params: { id: alertId }, signal }),
  );
  const { data } = useRead(['deliveries', 'of', alertId], (signal) =>
    client.listDeliveries({ query: { triggerId: alertId, limit: 50 }, signal }),
  );
  const messages = (data?.deliveries ?? []).filter(({ webhookId }) => webhookId !== undefined).toReversed();
  return (
    <Section title="Who was notified">
      <Read read={read} what="Notices" rows={2}>
        {({ notices, channels, accepted }) => (
          <>
            {isOpen && notices.length + messages.length > 0 && !accepted && !messages.some(isDelivered) && (
              <Note tone="warn" icon={<Icon name="alerts" size={14} />}>
                No receiver has accepted this yet.
              </Note>
            )}
            {notices.length + messages.length === 0 && data !== undefined && (
              <p className="hint topped">No channel or webhook was notified.</p>
            )}
            <ul className="sim">
              {notices.map((notice) => (
                <Notice key={notice.id} notice={notice} />
              ))}
              {messages.map((message) => (
                <Message key={message.id} message={message} />
              ))}
              {channels
                .filter(({ notified }) => !notified)
                .map(({ channel, because }) => (
                  <li key={channel} className="t3">
                    <span className="strong">{channel}</span> {visible(because)}
                  </li>
                ))}
            </ul>
          </>
        )}
      </Read>
    </Section>
  );
}

const isDelivered = ({ result }: Delivery) => result === 'success';

/** A message that a webhook of the tenant received. */
function Message({ message: { id, webhook, result, detail, createdAt } }: { readonly message: Delivery }) {
  const receiver = webhook?.name ?? webhook?.host ?? 'a deleted webhook';
  return (
    <li>
      <span className="row wrap">
        <Moment at={createdAt} short />{' '}
        <Link className="strong" to="/deliveries" search={{ id }}>
          {visible(receiver)}
        </Link>{' '}
        <span className="t3">{noticeWords({ ...webhook, agentId: '' })}</span> <State mark={STATES[result] ?? GONE} />
      </span>
      {result !== 'success' && detail !== undefined && <span className="clip t3">{visible(detail)}</span>}
    </li>
  );
}

function Notice({ notice: { channel, reason, at, delivery } }: { readonly notice: AlertNotice }) {
  const detail = delivery?.receipt ?? delivery?.error;
  return (
    <li>
      <span className="row wrap">
        <Moment at={at} short /> <span className="strong">{channel}</span> <span className="t3">{REASONS[reason]}</span>{' '}
        <State mark={delivery === null ? GONE : (STATES[delivery.status] ?? GONE)} />
      </span>
      {detail !== undefined && <span className="clip t3">{visible(detail)}</span>}
      {delivery?.status === 'retrying' && delivery.nextAttemptAt !== undefined && (
        <span className="t3">
          Next attempt <Moment at={delivery.nextAttemptAt} />
        </span>
      )}
    </li>
  );
}
