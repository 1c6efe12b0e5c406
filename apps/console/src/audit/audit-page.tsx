import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { HOUR_MS } from '../../../../libs/contracts/src/times.ts';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { changedName, changeWords } from '../../../../libs/guardrails/src/words/change-words.ts';
import { client } from '../api/client.ts';
import type { AuditEntry } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMay } from '../shell/me.tsx';
import { Page } from '../shell/page.tsx';
import { ExportMenu } from '../ui/export-list.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Menu } from '../ui/menu.tsx';
import { Moment } from '../ui/moment.tsx';
import { saveFile } from '../ui/save-file.ts';
import { toast, toastError } from '../ui/toast.tsx';
import { useListSearch } from '../ui/use-list-search.ts';

type KindOfTarget<Kind> = Kind extends `${infer Target}.${string}` ? Target : never;

/** Name of each target. The compiler reports a target that the API adds. */
const TARGETS: Readonly<Record<KindOfTarget<AuditEntry['kind']>, string>> = {
  approval_policy: 'approval policies',
  channel: 'channels',
  routing: 'routes',
  silence: 'silences',
  chat_link: 'chat accounts',
  grant: 'roles of people',
  person: 'people',
  provider: 'identity providers',
  session: 'sign-ins',
  team: 'teams',
  deputy: 'deputies',
  on_call: 'on-call schedules',
  vote: 'votes',
  rule: 'rules',
  budget: 'budgets',
  price: 'prices',
  price_table: 'price tables',
  reprice: 'reprices',
  breaker: 'breakers',
  breaker_limits: 'breaker limits',
  tree_limits: 'limits of run trees',
  key: 'keys',
  settings: 'settings',
  order: 'orders',
  agent: 'agents',
  alert: 'alerts and approvals',
  delivery: 'deliveries',
  webhook: 'webhooks',
  tenant: 'tenants',
  run: 'deleted runs',
  erasure: 'user erasures',
  saved_view: 'saved views',
  label: 'labels of run trees',
  deploy: 'deploys',
  decision: 'judged refusals',
  model_connection: 'model connections',
};

/** Every change by a person or a program. */
export function AuditPage() {
  const { may, why } = useMay('admin');
  const { search, change } = useListSearch<'target' | 'actor'>();
  return (
    <Page name="audit" title="Audit" time="All time">
      <div className="bar0">
        <label className="row">
          <span className="t2">About</span>
          <select
            className="in"
            value={search.target ?? ''}
            onChange={(event) => change({ target: event.target.value || undefined }, true)}
          >
            <option value="">everything</option>
            {Object.entries(TARGETS).map(([target, word]) => (
              <option key={target} value={target}>
                {word}
              </option>
            ))}
          </select>
        </label>
        <Who given={search.actor} onGiven={(actor) => change({ actor: actor || undefined }, true)} />
        <span className="sp" />
        {may && <IncidentMenu />}
        {may && (
          <ExportMenu
            list={{
              name: 'audit',
              read: async (cursor) => {
                const { target, actor } = search;
                const page = await client.listAudit({ query: { target, actor, limit: 200, cursor } });
                return { ...page, rows: page.entries };
              },
              columns: EXPORTED,
            }}
          />
        )}
      </div>
      <div className="audit-list">
        {may ? (
          <Entries target={search.target} actor={search.actor} />
        ) : (
          <div className="pad">
            <Empty title="The audit needs an admin key.">{why}</Empty>
          </div>
        )}
      </div>
    </Page>
  );
}

const EXPORTED: Readonly<Record<string, (entry: AuditEntry) => unknown>> = {
  id: ({ id }) => id,
  changed: ({ changedAt }) => changedAt,
  kind: ({ kind }) => kind,
  target: ({ target }) => target,
  targetId: ({ targetId }) => targetId,
  person: ({ actor }) => actor?.person,
  key: ({ actor }) => actor?.keyName,
  reason: ({ reason }) => reason,
  before: ({ before }) => (before === null ? '' : JSON.stringify(before)),
  after: ({ after }) => (after === null ? '' : JSON.stringify(after)),
};

const INCIDENTS = [
  { id: '1', name: 'Last hour' },
  { id: '6', name: 'Last 6 hours' },
  { id: '24', name: 'Last 24 hours' },
  { id: '168', name: 'Last 7 days' },
] as const;

/** Downloads the facts of a post-mortem as Markdown and JSON. */
function IncidentMenu() {
  const save = async (hours: string) => {
    try {
      const from = new Date(Date.now() - Number(hours) * HOUR_MS).toISOString();
      const { markdown, ...facts } = await client.getIncident({ query: { from } });
      const name = `incident-${facts.to.slice(0, 19).replaceAll(':', '')}`;
      saveFile(`${name}.md`, 'text/markdown;charset=utf-8', [markdown]);
      saveFile(`${name}.json`, 'application/json', [JSON.stringify(facts, null, 2)]);
      toast('Incident exported as Markdown and JSON');
    } catch (error) {
      toastError('The export failed', error);
    }
  };
  return (
    <Menu label="Incident" className="chip not-s" choices={INCIDENTS} onChoose={(hours) => void save(hours)}>
      Incident
    </Menu>
  );
}

function Who({ given, onGiven }: { given: string | undefined; onGiven: (actor: string) => void }) {
  const [actor, setActor] = useState(given ?? '');
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        onGiven(actor.trim());
      }}
    >
      <label className="row">
        <span className="t2">By</span>
        <input
          className="in"
          placeholder="a person or a key"
          value={actor}
          maxLength={128}
          onChange={(event) => setActor(event.target.value)}
          onBlur={() => actor.trim() !== (given ?? '') && onGiven(actor.trim())}
        />
      </label>
    </form>
  );
}

function Entries({ target, actor }: { target: string | undefined; actor: string | undefined }) {
  const query = { limit: 200, ...(target !== undefined && { target }), ...(actor !== undefined && { actor }) };
  const entries = useRead(['orders', 'audit', target, actor], (signal) => client.listAudit({ query, signal }));
  return (
    <Read read={entries} what="Changes" rows={12}>
      {(data) =>
        data.entries.length === 0 ? (
          <div className="pad">
            <Empty title="No changes match.">
              Changes of rules, budgets, limits, keys, settings, orders and approvals appear here with their author.
            </Empty>
          </div>
        ) : (
          <table className="tb">
            <thead>
              <tr>
                <th>When</th>
                <th className="not-s">Who</th>
                <th>Did</th>
                <th>To</th>
                <th className="not-s">What</th>
              </tr>
            </thead>
            <tbody>
              {data.entries.map((entry) => (
                <tr key={entry.id}>
                  <td className="t3">
                    <Moment at={entry.changedAt} />
                  </td>
                  <td className="not-s" title={entry.actor?.keyName}>
                    {actorOf(entry)}
                  </td>
                  <td>
                    <span className="nowrap">{entry.kind.replace('.', ' ').replaceAll('_', ' ')}</span>
                    <div className="only-s t3">{actorOf(entry)}</div>
                  </td>
                  <td>
                    <Target entry={entry} />
                  </td>
                  <td className="w100 clip t2 not-s" title={visible(didWords(entry).join('\n'))}>
                    {visible(didWords(entry).join(' · '))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Read>
  );
}

function actorOf({ actor }: AuditEntry): string {
  return visible(actor?.person ?? actor?.keyName ?? 'not known');
}

/** What was changed, and why. */
function didWords(entry: AuditEntry): readonly string[] {
  return [...changeWords(entry), ...(entry.reason === null ? [] : [`“${entry.reason}”`])];
}

/** Link to the changed object, if it has a page. */
function Target({ entry }: { entry: AuditEntry }) {
  const { target, targetId } = entry;
  const name = visible(changedName(entry) ?? shortId(targetId.replace(/^\w+:/, '')));
  if (target === 'rule')
    return (
      <Link className="link" to="/guardrails/$id" params={{ id: targetId }}>
        {name}
      </Link>
    );
  if (target === 'budget')
    return (
      <Link className="link" to="/spend" search={{ budget: targetId }}>
        {name}
      </Link>
    );
  if (target === 'key')
    return (
      <Link className="link" to="/settings">
        {name}
      </Link>
    );
  if (target === 'alert')
    return (
      <Link className="link" to="/alerts" search={{ id: targetId }}>
        {name}
      </Link>
    );
  if (targetId.startsWith('run:'))
    return (
      <Link className="link" to="/runs/$id" params={{ id: targetId.slice('run:'.length) }}>
        run {name}
      </Link>
    );
  if (targetId.startsWith('agent:') || target === 'agent')
    return (
      <Link className="link" to="/agents/$id" params={{ id: targetId.replace(/^agent:/, '') }}>
        {name}
      </Link>
    );
  return <span>{name}</span>;
}
