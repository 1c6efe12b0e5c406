import { useState } from 'react';
import { client } from '../api/client.ts';
import type { NewWebhook, WebhookBody } from '../api/model.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, useRejection } from '../ui/field.tsx';

type Kind = WebhookBody['events'][number];

const KINDS: readonly (readonly [Kind, string])[] = [
  ['approvals', 'Approvals: a call needs approval'],
  ['alerts', 'Alerts'],
  ['triggers', 'Triggers: a rule fired'],
  ['orders', 'Orders: pause, kill or resume'],
  ['breakers', 'Breakers: a breaker opened or closed'],
  ['budgets', 'Budgets: a budget changed or was spent'],
  ['audit', 'Audit: a setting changed'],
];

interface NewWebhookDialogProps {
  readonly onClose: () => void;
  readonly onMade: (webhook: NewWebhook) => void;
}

export function NewWebhookDialog({ onClose, onMade }: NewWebhookDialogProps) {
  const [url, setUrl] = useState('');
  const [format, setFormat] = useState<'standard' | 'slack'>('standard');
  const [events, setEvents] = useState<readonly Kind[]>(['approvals', 'alerts']);
  const ready = url.trim() !== '' && events.length > 0;
  const rejection = useRejection();
  const make = async () => {
    rejection.clear();
    try {
      onMade(await client.createWebhook({ body: { url: url.trim(), format, events: [...events] } }));
    } catch (error) {
      rejection.set(error);
    }
  };
  const toggle = (kind: Kind) =>
    setEvents(events.includes(kind) ? events.filter((one) => one !== kind) : [...events, kind]);
  return (
    <Dialog
      title="New webhook"
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Back
          </button>
          <button
            type="button"
            className="b pri"
            aria-disabled={!ready || undefined}
            onClick={() => ready && void make()}
          >
            Create webhook
          </button>
        </>
      }
    >
      <div className="kd">
        <Field label="Address" wrong={rejection.at('url')}>
          {(input) => (
            <input
              {...input}
              type="url"
              placeholder="https://hooks.slack.com/services/…"
              value={url}
              onChange={(event) => setUrl(event.target.value)}
            />
          )}
        </Field>
        <Field
          label="Format"
          wrong={rejection.at('format')}
          hint={format === 'slack' ? undefined : 'Each message is signed with a secret that is shown once.'}
        >
          {(input) => (
            <select
              {...input}
              value={format}
              onChange={(event) => setFormat(event.target.value === 'slack' ? 'slack' : 'standard')}
            >
              <option value="standard">Signed JSON (Standard Webhooks)</option>
              <option value="slack">Slack message</option>
            </select>
          )}
        </Field>
        <fieldset className="field">
          <legend className="lab">Notify about</legend>
          {KINDS.map(([kind, name]) => (
            <label key={kind} className="row">
              <input type="checkbox" checked={events.includes(kind)} onChange={() => toggle(kind)} />
              <span>{name}</span>
            </label>
          ))}
        </fieldset>
        <FailureLine>{rejection.besides('url', 'format')}</FailureLine>
      </div>
    </Dialog>
  );
}
