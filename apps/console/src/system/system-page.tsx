import { client } from '../api/client.ts';
import { ActivityCharts } from '../charts/activity-charts.tsx';
import { bytes, count, counted, duration } from '../figures/figures.ts';
import { live, useLive, useRead } from '../live-data/live-store.ts';
import { useMay, useMe } from '../shell/me.tsx';
import { useNowRead } from '../shell/nav.tsx';
import { Page } from '../shell/page.tsx';
import { Read } from '../ui/faces.tsx';
import { Ago, Moment, platformNow } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { DecisionPaths } from './decision-paths.tsx';

const DAY = { range: '24h' };

/** Health, load and storage of the platform. */
export function SystemPage() {
  const health = useRead(['system', 'health'], (signal) => client.getServiceHealth({ signal }));
  const prices = useRead(['prices', 'table'], (signal) => client.getPrices({ signal }));
  const stats = useRead(['system', 'stats'], (signal) => client.getStats({ signal }));
  const now = useNowRead();
  const { state, gaps } = useLive();
  const me = useMe();
  const newest = live.events().at(-1);
  const lag =
    newest === undefined ? undefined : Math.max(0, Date.parse(newest.receivedAt) - Date.parse(newest.timestamp));
  const { pulse, deliveries } = now.data ?? {};
  return (
    <Page name="system" title="System" time="Now">
      <div className="pad">
        <Read read={health} what="The platform's health" rows={3}>
          {(data) => <p className="lead1">{data.status === 'ok' ? 'Platform healthy.' : 'Platform unhealthy.'}</p>}
        </Read>
        <Section title="Load" note="last 24 hours">
          <ActivityCharts range={DAY} show={['Events', 'Errors', 'Decision latency']} />
        </Section>
        <div className="two">
          <Section title="Service">
            <Facts
              facts={[
                ['Version', me.version],
                [
                  'Price table',
                  prices.data === undefined ? (
                    'unknown'
                  ) : (
                    <span key="p" className="num">
                      {prices.data.table.version}, {counted(prices.data.table.ageDays, 'day')} old
                    </span>
                  ),
                ],
                [
                  'Database',
                  health.data === undefined ? (
                    'unknown'
                  ) : (
                    <span key="d" className="num">
                      answers in {duration(health.data.db.latencyMs)}
                    </span>
                  ),
                ],
                [
                  'Live stream',
                  <span key="l">
                    {state}
                    {gaps > 0 && <span className="warn">, {gaps} gaps</span>}
                  </span>,
                ],
                [
                  'Newest event',
                  newest === undefined ? (
                    'none since this page was opened'
                  ) : (
                    <span key="n" className="num">
                      <Ago at={newest.receivedAt} />, {duration(lag ?? 0)} after it happened
                    </span>
                  ),
                ],
                [
                  'Clock difference to the platform',
                  <span key="c" className="num">
                    {duration(Math.abs(platformNow() - Date.now()))} apart
                  </span>,
                ],
              ]}
            />
          </Section>
          <Section title="Decisions" note="last hour">
            <Facts
              facts={[
                [
                  'Asked',
                  <span key="a" className="num">
                    {pulse === undefined ? '—' : count(pulse.asked.reduce((sum, one) => sum + one, 0))}
                  </span>,
                ],
                [
                  '99th percentile',
                  <span key="p" className="num">
                    {pulse?.latencyP99Ms == null ? '—' : duration(pulse.latencyP99Ms)}
                  </span>,
                ],
                [
                  'Bypassed',
                  <span key="b" className={`num ${(pulse?.bypassed ?? 0) > 0 ? 'warn' : ''}`}>
                    {pulse?.bypassed ?? '—'}
                  </span>,
                ],
              ]}
            />
          </Section>
          <DecisionPaths />
          <Section title="Deliveries" note="last 24 hours">
            <Facts
              facts={[
                [
                  'Settled',
                  <span key="s" className="num">
                    {deliveries === undefined ? '—' : count(deliveries.settled)}
                  </span>,
                ],
                [
                  'Failed',
                  <span key="f" className={`num ${(deliveries?.failed ?? 0) > 0 ? 'bad' : ''}`}>
                    {deliveries === undefined ? '—' : count(deliveries.failed)}
                  </span>,
                ],
              ]}
            />
          </Section>
          <GivenUp />
          <Section title="Storage">
            <Read read={stats} what="Storage" rows={4}>
              {(data) => (
                <Facts
                  facts={[
                    [
                      'Events',
                      <span key="e" className="num">
                        {count(data.totalEvents)}
                      </span>,
                    ],
                    [
                      'Runs',
                      <span key="r" className="num">
                        {count(data.totalSessions)}
                      </span>,
                    ],
                    [
                      'Agents',
                      <span key="a" className="num">
                        {count(data.totalAgents)}
                      </span>,
                    ],
                    ['Oldest event', data.oldestEvent === null ? 'none' : <Moment key="o" at={data.oldestEvent} />],
                    [
                      'Estimated size',
                      <span key="s" className="num">
                        {bytes(data.storageSizeBytes)}
                      </span>,
                    ],
                  ]}
                />
              )}
            </Read>
          </Section>
        </div>
      </div>
    </Page>
  );
}

const SHOWN = 5;

/** Dead letters of this tenant. */
function GivenUp() {
  const { may, why } = useMay('admin');
  return <Section title="Dead letters">{may ? <Letters /> : <p className="t2">{why}</p>}</Section>;
}

function Letters() {
  const query = { limit: SHOWN };
  const letters = useRead(['system', 'dead-letters'], (signal) => client.listDeadLetters({ query, signal }));
  return (
    <Read read={letters} what="The dead letters" rows={2}>
      {({ deadLetters, total = 0, hasMore }) =>
        deadLetters.length === 0 ? (
          <p className="t2">No dead letters.</p>
        ) : (
          <>
            <Facts
              facts={deadLetters.map(
                ({ group, messageId, reason, failedAt }) =>
                  [
                    `${group}, ${messageId}`,
                    <span key={messageId}>
                      {reason}, <Ago at={failedAt} />
                    </span>,
                  ] as const,
              )}
            />
            {hasMore && <p className="t2">Oldest of {count(total)}.</p>}
          </>
        )
      }
    </Read>
  );
}
