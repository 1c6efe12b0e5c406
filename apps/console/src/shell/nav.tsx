import { Link } from '@tanstack/react-router';
import { client } from '../api/client.ts';
import type { Me } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { Icon } from '../ui/icon.tsx';
import { useMe } from './me.tsx';

interface Entry {
  readonly to: string;
  readonly icon: string;
  readonly name: string;
  readonly counter?: keyof Counters;
}

interface Counters {
  readonly approvals: number;
  readonly alerts: number;
  readonly breakers: number;
}

export const PAGES: readonly (Entry | string)[] = [
  { to: '/', icon: 'now', name: 'Now' },
  { to: '/runs', icon: 'runs', name: 'Runs' },
  { to: '/live', icon: 'live', name: 'Live' },
  'Respond',
  { to: '/approvals', icon: 'approvals', name: 'Approvals', counter: 'approvals' },
  { to: '/alerts', icon: 'alerts', name: 'Alerts', counter: 'alerts' },
  { to: '/decisions', icon: 'decisions', name: 'Decisions' },
  'Limits',
  { to: '/guardrails', icon: 'rules', name: 'Rules' },
  { to: '/breakers', icon: 'breakers', name: 'Breakers', counter: 'breakers' },
  { to: '/spend', icon: 'spend', name: 'Spend' },
  'Platform',
  { to: '/agents', icon: 'agents', name: 'Agents' },
  { to: '/model-calls', icon: 'model', name: 'Model calls' },
  { to: '/deliveries', icon: 'deliveries', name: 'Deliveries' },
  { to: '/channels', icon: 'plug', name: 'Channels' },
  { to: '/audit', icon: 'file', name: 'Audit' },
  { to: '/system', icon: 'system', name: 'System' },
];

/** The overview, in one request that all pages share. */
export function useNowRead() {
  return useRead(['now'], (signal) => client.getNow({ signal }));
}

function useCounters(): Counters {
  const { data } = useNowRead();
  return {
    approvals: data?.approvals.length ?? 0,
    alerts: data?.openAlerts ?? 0,
    breakers: data?.openBreakers.length ?? 0,
  };
}

export function Nav({ onSearch }: { onSearch: () => void }) {
  const counters = useCounters();
  const me = useMe();
  return (
    <nav className="nav" aria-label="Pages">
      <Link to="/" className="brand" aria-label={`AgentLens ${me.tenantId}`}>
        <Icon name="mark" />
        <span>AgentLens</span> <span className="env clip">{me.tenantId}</span>
      </Link>
      <button type="button" className="find" title="Search (Ctrl K)" onClick={onSearch}>
        <Icon name="search" size={14} />
        <span>Search</span>
        <kbd>Ctrl K</kbd>
      </button>
      {PAGES.map((page) =>
        typeof page === 'string' ? (
          <div key={page}>
            <hr />
            <h2>{page}</h2>
          </div>
        ) : (
          <NavLink key={page.to} page={page} count={page.counter === undefined ? 0 : counters[page.counter]} />
        ),
      )}
      <div className="sp" />
      <NavLink page={{ to: '/connect', icon: 'plug', name: 'Connect' }} count={0} />
      <NavLink page={{ to: '/settings', icon: 'settings', name: 'Settings' }} count={0} />
      <Link to="/you" className="me" title={`You: ${me.keyName}, ${me.scopes.join(', ')}`}>
        <i aria-hidden="true">{me.keyName.slice(0, 2).toUpperCase()}</i>
        <span className="clip">
          {me.person?.name ?? me.keyName.replace(/ \(\w+\)$/, '')} · {roleText(me)}
        </span>
      </Link>
    </nav>
  );
}

/** Roles of a person, or scopes of a key. */
function roleText({ person, scopes }: Me): string {
  return person === undefined ? scopes.join(', ') : [...new Set(person.grants.map(({ role }) => role))].join(', ');
}

function NavLink({ page, count }: { page: Entry; count: number }) {
  return (
    <Link
      to={page.to}
      className="n"
      title={page.name}
      activeOptions={{ exact: page.to === '/', includeSearch: false }}
      activeProps={{ 'aria-current': 'page' }}
    >
      <Icon name={page.icon} />
      <span>{page.name}</span>
      {count > 0 && (
        <span className={`c ${page.counter === 'approvals' ? 'hot' : 'bad'}`}>{count >= 100 ? '100+' : count}</span>
      )}
    </Link>
  );
}

const TABS: readonly Entry[] = [
  { to: '/', icon: 'now', name: 'Now' },
  { to: '/approvals', icon: 'approvals', name: 'Approvals', counter: 'approvals' },
  { to: '/runs', icon: 'runs', name: 'Runs' },
  { to: '/alerts', icon: 'alerts', name: 'Alerts', counter: 'alerts' },
  { to: '/more', icon: 'menu', name: 'More' },
];

/** Navigation at the bottom of a small screen. */
export function TabBar() {
  const counters = useCounters();
  return (
    <nav className="tabs-s" aria-label="Main pages">
      {TABS.map(({ to, icon, name, counter }) => {
        const waiting = counter === undefined ? 0 : counters[counter];
        return (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            activeProps={{ 'aria-current': 'page' }}
          >
            <Icon name={icon} />
            {name}
            {waiting > 0 && <span className={`c ${counter === 'approvals' ? '' : 'bad'}`}>{waiting}</span>}
          </Link>
        );
      })}
    </nav>
  );
}
