import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { AuditEntry } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMay } from '../shell/me.tsx';
import { Page } from '../shell/page.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Moment } from '../ui/moment.tsx';
import { useListSearch } from '../ui/use-list-search.ts';

type KindOfTarget<Kind> = Kind extends `${infer Target}.${string}` ? Target : never;

/** Name of each target. The compiler reports a target that the API adds. */
const TARGETS: Readonly<Record<KindOfTarget<AuditEntry['kind']>, string>> = {
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
                <th>Who</th>
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
                  <td title={entry.actor?.keyName}>{entry.actor?.person ?? entry.actor?.keyName ?? 'not known'}</td>
                  <td>{entry.kind.replace('.', ' ').replaceAll('_', ' ')}</td>
                  <td>
                    <Target entry={entry} />
                  </td>
                  <td className="w100 clip t2 not-s" title={changesOf(entry).join('\n')}>
                    {visible(entry.reason ?? changesOf(entry).join(' · '))}
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

/** Link to the changed object, if it has a page. */
function Target({ entry: { target, targetId, before, after } }: { entry: AuditEntry }) {
  const named = after?.name ?? before?.name;
  const name = typeof named === 'string' ? named : shortId(targetId.replace(/^\w+:/, ''));
  if (target === 'rule')
    return (
      <Link className="link" to="/guardrails/$id" params={{ id: targetId }}>
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

/** `field: before → after` for each field that differs. */
function changesOf({ before, after }: AuditEntry): readonly string[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields]
    .filter((field) => !/^(version|updatedAt|createdAt|tenantId|id)$/.test(field))
    .map((field) => [field, shown(before?.[field]), shown(after?.[field])] as const)
    .filter(([, was, is]) => was !== is)
    .map(([field, was, is]) => (before === null ? `${field}: ${is}` : `${field}: ${was} → ${is}`));
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
