import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../api/client.ts';
import type { NewWebhook, Webhook } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Section } from '../ui/section.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { useChange } from '../ui/use-change.ts';
import { NewWebhookDialog } from './new-webhook.tsx';

/** Addresses that receive notifications about the whole tenant. */
export function Webhooks() {
  const queries = useQueryClient();
  const webhooks = useRead(['webhooks'], (signal) => client.listWebhooks({ signal }));
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<NewWebhook>();
  const [ending, setEnding] = useState<Webhook>();
  const run = useChange('webhooks');
  return (
    <Section
      title="Webhooks"
      link={
        <span className="ml">
          <Act scope="admin" kind="sm" onPress={() => setMaking(true)}>
            New webhook…
          </Act>
        </span>
      }
    >
      {made !== undefined && (
        <ShownOnce secret={made.secret} onTaken={() => setMade(undefined)}>
          Signing secret
        </ShownOnce>
      )}
      <Read read={webhooks} what="Webhooks" rows={2}>
        {(data) =>
          data.webhooks.length === 0 ? (
            <Empty title="No webhooks yet.">
              A webhook notifies your systems, or a Slack channel, about approvals, alerts, triggers, orders, breakers
              and budgets.
            </Empty>
          ) : (
            <table className="tb flush">
              <thead>
                <tr>
                  <th>Address</th>
                  <th className="not-s">Notified about</th>
                  <th className="not-s">As</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {data.webhooks.map((webhook) => (
                  <Row key={webhook.id} webhook={webhook} run={run} onEnd={() => setEnding(webhook)} />
                ))}
              </tbody>
            </table>
          )
        }
      </Read>
      {making && (
        <NewWebhookDialog
          onClose={() => setMaking(false)}
          onMade={(webhook) => {
            setMade(webhook);
            setMaking(false);
            void queries.invalidateQueries({ queryKey: ['webhooks'] });
          }}
        />
      )}
      {ending !== undefined && (
        <Dialog
          title="Delete this webhook?"
          open
          onClose={() => setEnding(undefined)}
          acts={
            <>
              <button type="button" className="b" onClick={() => setEnding(undefined)}>
                Keep it
              </button>
              <button
                type="button"
                className="b danger solid"
                onClick={() =>
                  void run('Deleted', () => client.deleteWebhook({ params: { id: ending.id } })).then(() =>
                    setEnding(undefined),
                  )
                }
              >
                Delete webhook
              </button>
            </>
          }
        >
          <p>
            {ending.url} is told of nothing any more. What is still to be delivered is given up; its log stays under
            Deliveries.
          </p>
        </Dialog>
      )}
    </Section>
  );
}

interface RowProps {
  readonly webhook: Webhook;
  readonly run: (what: string, act: () => Promise<unknown>) => Promise<void>;
  readonly onEnd: () => void;
}

function Row({ webhook, run, onEnd }: RowProps) {
  const { id, url, name, events, format, enabled, disabledReason } = webhook;
  return (
    <tr className={enabled ? '' : 'offr'}>
      <td className="w100 clip">
        <span className="strong">{name ?? url}</span> {name !== undefined && <span className="t3">{url}</span>}
        {disabledReason !== undefined && <span className="t3"> · {disabledReason}</span>}
      </td>
      <td className="t2 not-s">{events.join(', ')}</td>
      <td className="t3 not-s">{format}</td>
      <td className="act">
        <span className="btns">
          <Act
            scope="admin"
            kind="sm"
            disabled={!enabled}
            onPress={() =>
              void run('Test sent. See Deliveries for the result.', () => client.testWebhook({ params: { id } }))
            }
          >
            Test
          </Act>
          <Act
            scope="admin"
            kind="sm"
            onPress={() =>
              void run(enabled ? 'Disabled' : 'Enabled', () =>
                client.updateWebhook({ params: { id }, body: { enabled: !enabled } }),
              )
            }
          >
            {enabled ? 'Disable' : 'Enable'}
          </Act>
          <Act scope="admin" kind="sm danger" onPress={onEnd}>
            Delete…
          </Act>
        </span>
      </td>
    </tr>
  );
}
