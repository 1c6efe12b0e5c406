import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { noticeWords } from '../../../../libs/guardrails/src/words/change-words.ts';
import { client } from '../api/client.ts';
import type { Delivery, Rule, WholeDelivery } from '../api/model.ts';
import { duration } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useSteady } from '../live-data/steady.ts';
import { useRulesById } from '../rules/use-rules.ts';
import { Page } from '../shell/page.tsx';
import { Act } from '../ui/act.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Empty, Failed, FilteredEmpty, Loading } from '../ui/faces.tsx';
import { NewRows } from '../ui/filters.tsx';
import { Icon } from '../ui/icon.tsx';
import { actionMark, State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { usePages } from '../ui/use-pages.ts';
import { stringifySearch } from '../url/search.ts';

type Name = 'result' | 'rule' | 'id';
const RESULTS = [
  { id: 'failed', name: 'Failed' },
  { id: 'retrying,pending', name: 'Under way' },
  { id: 'success', name: 'Done' },
] as const;

const MARKS: Readonly<Record<Delivery['result'], { icon: string; tone: string; word: string }>> = {
  success: { icon: 's-succeeded', tone: 'succeeded', word: 'Done' },
  failed: { icon: 's-failed', tone: 'failed', word: 'Failed' },
  retrying: { icon: 's-waiting', tone: 'waiting', word: 'Retrying' },
  pending: { icon: 's-waiting', tone: 'waiting', word: 'Waits' },
  dry_run: { icon: 'v-shadow', tone: 'shadow-v', word: 'Shadow' },
  cooldown: { icon: 's-idle', tone: 'idle', word: 'Rested' },
  superseded: { icon: 'v-no', tone: 'no', word: 'Superseded' },
};
const idOf = (delivery: Delivery) => delivery.id;

export function DeliveriesPage() {
  const { search, change, clear } = useListSearch<Name>();
  const [following, setFollowing] = useState(true);
  const rules = useRulesById();
  const key = stringifySearch({ ...search, id: undefined });
  const list = usePages(
    ['deliveries', key],
    (cursor, signal) =>
      client.listDeliveries({ query: { result: search.result, ruleId: search.rule, limit: 100, cursor }, signal }),
    ({ deliveries }) => deliveries,
  );
  const { rows, waiting, showNew } = useSteady(list.rows ?? [], idOf, key, following);
  const chosen = rows.find(({ id }) => id === search.id);
  return (
    <Page name="deliveries" title="Deliveries" time="All time">
      <div className="bar0">
        <div className="seg" role="group" aria-label="Result">
          <button
            type="button"
            aria-pressed={search.result === undefined}
            onClick={() => change({ result: undefined })}
          >
            All
          </button>
          {RESULTS.map(({ id, name }) => (
            <button key={id} type="button" aria-pressed={search.result === id} onClick={() => change({ result: id })}>
              {name}
            </button>
          ))}
        </div>
        <span className="sp" />
        <NewRows waiting={waiting} onShow={showNew} />
      </div>
      {list.rows === undefined ? (
        list.error === null ? (
          <Loading rows={12} />
        ) : (
          <Failed what="Deliveries" error={list.error} onRetry={() => void list.refetch()} />
        )
      ) : rows.length > 0 ? (
        <div className={chosen === undefined ? 'list' : 'with-side'}>
          <DataTable
            label="Deliveries"
            rows={rows}
            columns={columns(rules).filter(({ id }) => chosen === undefined || BESIDE_PANEL.has(id))}
            idOf={idOf}
            current={chosen?.id}
            onOpen={(delivery) => change({ id: delivery.id })}
            onEnd={list.more}
            onFollowing={setFollowing}
            rowHeight={32}
            narrow={(delivery) => <Narrow delivery={delivery} rule={rules.get(delivery.ruleId)} />}
          />
          {chosen !== undefined && (
            <Panel delivery={chosen} rule={rules.get(chosen.ruleId)} onClose={() => change({ id: undefined })} />
          )}
        </div>
      ) : (
        <div className="pad">
          {search.result === undefined && search.rule === undefined ? (
            <Empty
              title="No deliveries yet."
              act={
                <Link className="b" to="/guardrails/new">
                  Create a rule with an action
                </Link>
              }
            >
              Pauses, webhooks and alerts of rules appear here with every attempt.
            </Empty>
          ) : (
            <FilteredEmpty
              what="deliveries"
              filter={RESULTS.find(({ id }) => id === search.result)?.name ?? 'one rule'}
              onClear={clear}
            />
          )}
        </div>
      )}
    </Page>
  );
}

function Narrow({ delivery, rule }: { delivery: Delivery; rule: Rule | undefined }) {
  return (
    <>
      <span className="row">
        <State mark={MARKS[delivery.result]} />
        <span className="ml t3">
          <Moment at={delivery.createdAt} short />
        </span>
      </span>
      <span className="clip strong">{forWhom(delivery, rule)}</span>
      <span className="clip t2">{whatOf(delivery)}</span>
    </>
  );
}

/** Who is notified, or the rule whose action it is. */
function forWhom({ webhookId, webhook }: Delivery, rule: Rule | undefined): string {
  if (webhookId === undefined) return rule?.name ?? 'a deleted rule';
  const { name, host } = webhook ?? {};
  if (host === undefined) return 'a deleted webhook';
  return name === undefined ? host : `${name}, ${host}`;
}

/** The agent, and what the message said: `canary-bot: killed`. */
function whatOf({ agentId, webhook }: Delivery): string {
  return visible(noticeWords({ ...webhook, agentId }));
}

/** Columns that stay while a delivery is open beside the list; the panel has the others. */
const BESIDE_PANEL: ReadonlySet<string> = new Set(['result', 'rule', 'about', 'at']);

const columns = (rules: ReadonlyMap<string, Rule>): readonly Column<Delivery>[] => [
  { id: 'result', head: 'Result', width: '120px', cell: (delivery) => <State mark={MARKS[delivery.result]} /> },
  {
    id: 'does',
    head: 'Does',
    width: '150px',
    cell: (delivery) => <State mark={{ ...actionMark(delivery.actionType), tone: 'no' }} />,
  },
  {
    id: 'rule',
    head: 'Rule or webhook',
    width: 'minmax(120px, 1fr)',
    cell: (delivery) => <span className="strong">{forWhom(delivery, rules.get(delivery.ruleId))}</span>,
  },
  {
    id: 'about',
    head: 'About',
    width: 'minmax(150px, 1.2fr)',
    cell: (delivery) => <bdi title={whatOf(delivery)}>{whatOf(delivery)}</bdi>,
  },
  {
    id: 'why',
    head: 'Cause',
    width: 'minmax(90px, 0.7fr)',
    cell: (delivery) => <span className={delivery.result === 'failed' ? 'bad' : 't3'}>{delivery.detail ?? ''}</span>,
  },
  {
    id: 'attempts',
    head: 'Attempts',
    width: '78px',
    right: true,
    cell: (delivery) => <span className="num">{delivery.attemptCount}</span>,
  },
  {
    id: 'at',
    head: 'Triggered',
    width: '132px',
    right: true,
    cell: (delivery) => <Moment at={delivery.triggeredAt} />,
  },
];

/** The body of the last attempt that made a call, as the platform kept it: redacted and cut. */
function bodyOf(delivery: WholeDelivery | undefined): string | undefined {
  return delivery?.attempts.findLast(({ request }) => request !== undefined)?.request?.body ?? undefined;
}

const OUTCOMES = { delivered: 'allow', retry: 'ask', rejected: 'block' } as const;

function Panel({ delivery, rule, onClose }: { delivery: Delivery; rule: Rule | undefined; onClose: () => void }) {
  const queries = useQueryClient();
  const whole = useRead(['delivery', delivery.id, delivery.attemptCount], (signal) =>
    client.getDelivery({ params: { id: delivery.id }, signal }),
  ).data;
  const again = async () => {
    try {
      await client.redeliver({ params: { id: delivery.id } });
      await queries.invalidateQueries();
      toast('Redelivery started with the same id');
    } catch (error) {
      toastError('Redelivery failed', error);
    }
  };
  return (
    <aside className="side-panel" aria-label="Delivery">
      <div className="row">
        <h2 className="strong grow clip">
          {delivery.webhookId === undefined ? actionMark(delivery.actionType).word : forWhom(delivery, rule)}
        </h2>
        <button type="button" className="b quiet ico sm" aria-label="Close" onClick={onClose}>
          <Icon name="x" size={14} />
        </button>
      </div>
      <Facts
        facts={[
          ['Result', <State key="r" mark={MARKS[delivery.result]} />],
          delivery.detail !== undefined && ['Cause', delivery.detail],
          delivery.webhook?.event !== undefined && [
            'Event',
            [delivery.webhook.event, delivery.webhook.status].filter((word) => word !== undefined).join(' '),
          ],
          delivery.webhook?.host !== undefined && ['Receiver', delivery.webhook.host],
          delivery.ruleId !== '' && [
            'Rule',
            rule === undefined ? (
              'deleted'
            ) : (
              <Link key="u" className="link" to="/guardrails/$id" params={{ id: rule.id }}>
                {rule.name}
              </Link>
            ),
          ],
          delivery.agentId !== '' && [
            'Agent',
            <Link key="a" className="link" to="/agents/$id" params={{ id: delivery.agentId }}>
              {visibleName(delivery.agentId)}
            </Link>,
          ],
          ['Triggered', <Moment key="t" at={delivery.triggeredAt} ms />],
          delivery.nextAttemptAt !== undefined && ['Next attempt', <Moment key="n" at={delivery.nextAttemptAt} />],
          [
            'Id',
            <span key="i" className="mono">
              {delivery.id}
            </span>,
          ],
        ]}
      />
      <Section title="Attempts" note={delivery.attemptCount}>
        {delivery.attempts.map((attempt) => (
          <div key={attempt.attempt} className="attempt">
            <span className="t3 num">{attempt.attempt}</span>
            <span>
              <span className={`st ${OUTCOMES[attempt.outcome]}`}>
                <Icon name={`v-${OUTCOMES[attempt.outcome]}`} size={14} /> {attempt.outcome}
                {attempt.httpStatus !== undefined && `, HTTP ${attempt.httpStatus}`}
              </span>
              {attempt.detail !== undefined && attempt.detail !== `HTTP ${attempt.httpStatus}` && (
                <span className="plain t2 vv"> {attempt.detail}</span>
              )}
            </span>
            <span className="t3 num">{duration(Date.parse(attempt.finishedAt) - Date.parse(attempt.startedAt))}</span>
          </div>
        ))}
        {delivery.attempts.length === 0 && <p className="hint topped">No attempt yet.</p>}
      </Section>
      {bodyOf(whole) !== undefined && (
        <Section title="Body sent">
          <pre className="well plain">{visible(bodyOf(whole) ?? '')}</pre>
        </Section>
      )}
      <div className="btns">
        <Act scope="admin" onPress={() => void again()}>
          Do it again
        </Act>
      </div>
      <p className="hint">It is sent with the same id, so receivers that deduplicate handle it once.</p>
    </aside>
  );
}
