import './connect.css';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { buildNpmInstall } from '../../../../libs/contracts/src/packages.ts';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Run } from '../api/model.ts';
import { counted, money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { Act } from '../ui/act.tsx';
import { Copy } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { type Proposal, proposalFor, startDemo } from './first-rules.ts';
import { OTLP_SNIPPETS, SNIPPETS } from './snippets.ts';

const DOORS = [
  {
    id: 'demo',
    icon: 'play',
    name: 'Try a demo agent',
    text: 'A scripted runaway agent on this server that two rules stop. Takes a minute, nothing to install.',
  },
  {
    id: 'mine',
    icon: 'plug',
    name: 'Connect your agent',
    text: 'A key and a few lines for your framework, or plain HTTP.',
  },
  { id: 'tools', icon: 'term', name: 'From the command line', text: 'Inspect, stop and approve without a browser.' },
] as const;

/** First run: from an empty platform to the first blocked call. The page follows the live stream. */
export function ConnectPage() {
  const { search, change } = useListSearch<'door'>();
  const door = DOORS.find(({ id }) => id === search.door) ?? DOORS[0];
  return (
    <Page name="connect" title="Connect" time="Listening">
      <div className="fr">
        <h2 className="t">Watch your first agent.</h2>
        <p className="ld">
          Send one event and this page turns over by itself. Rules you make start in shadow: they stop nothing until you
          say so. Only the two demo rules act, and only on the demo agent.
        </p>
        <div className="doors">
          <div className="dl">
            {DOORS.map(({ id, icon, name, text }) => (
              <button
                key={id}
                type="button"
                className={id === door.id ? 'on' : ''}
                aria-pressed={id === door.id}
                onClick={() => change({ door: id === 'demo' ? undefined : id }, true)}
              >
                <Icon name={icon} />
                <b>{name}</b>
                <span>{text}</span>
              </button>
            ))}
          </div>
          <div className="dr">{door.id === 'demo' ? <Demo /> : door.id === 'mine' ? <Mine /> : <Terminal />}</div>
        </div>
        <Listener />
        <Gaps />
      </div>
    </Page>
  );
}

function Demo() {
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const start = async () => {
    setBusy(true);
    try {
      const id = await startDemo();
      await queries.invalidateQueries();
      // The run exists with its first event.
      await untilKnown(id);
      void navigate({ to: '/runs/$id', params: { id } });
    } catch (error) {
      toastError('The demo agent did not start', error);
      setBusy(false);
    }
  };
  return (
    <div className="stp">
      <p>
        The demo agent repeats the same search and pays for a model call each time. A rule blocks the fourth search.
        Then it wants to buy a report: that waits for you under Approvals.
      </p>
      <ul className="whatdo">
        <li>Creates two rules that apply to the demo agent only.</li>
        <li>Creates a key that expires within an hour.</li>
        <li>Runs on this server, for about a minute.</li>
      </ul>
      <div className="btns">
        <Act scope="admin" kind="pri lg" disabled={busy} onPress={() => void start()}>
          <Icon name="play" size={14} />
          {busy ? 'Starting' : 'Start the demo agent'}
        </Act>
      </div>
    </div>
  );
}

const TRIES = 40;
const TRY_MS = 250;

async function untilKnown(id: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await client.getRun({ params: { id } }).then(
      () => true,
      () => false,
    );
    if (found) return;
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
  }
}

/** Tab for agents with OpenTelemetry. */
const OTLP = 'otlp';

function Mine() {
  const [key, setKey] = useState<string>();
  const [tab, setTab] = useState(SNIPPETS[0]?.id);
  const [framework, setFramework] = useState(OTLP_SNIPPETS[0]?.id);
  const snippet =
    tab === OTLP ? OTLP_SNIPPETS.find(({ id }) => id === framework) : SNIPPETS.find(({ id }) => id === tab);
  const address = new URL('.', document.baseURI).href.replace(/\/$/, '');
  const make = async () => {
    try {
      setKey((await client.createKey({ body: { name: 'My first agent', scopes: ['ingest', 'decide'] } })).key);
    } catch (error) {
      toastError('The key was not created', error);
    }
  };
  const code = snippet?.code(address, key ?? 'agk_live_…') ?? '';
  return (
    <>
      <div className="tabs" role="tablist" aria-label="Framework">
        {[...SNIPPETS, { id: OTLP, name: 'OpenTelemetry' }].map(({ id, name }) => (
          <button key={id} type="button" role="tab" aria-selected={id === tab} onClick={() => setTab(id)}>
            {name}
          </button>
        ))}
      </div>
      <div className="stp">
        <span className="lab">
          Key <span>may send events and ask; shown this once</span>
        </span>
        {key === undefined ? (
          <div className="btns">
            <Act scope="admin" kind="pri" onPress={() => void make()}>
              Create a key
            </Act>
          </div>
        ) : (
          <div className="well code">
            <pre>{key}</pre>
            <Copy text={key} quiet={false} />
          </div>
        )}
      </div>
      <div className="stp">
        {tab === OTLP && (
          <label className="field">
            <span className="lab">Framework</span>
            <select className="in" value={framework} onChange={(event) => setFramework(event.target.value)}>
              {OTLP_SNIPPETS.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <span className="lab">
          {snippet?.name}{' '}
          {snippet?.blocks === true ? (
            <span className="tag good">can block</span>
          ) : (
            <span className="tag">observes, cannot block</span>
          )}{' '}
          <span>{snippet?.note}</span>
        </span>
        <div className="well code">
          <pre>{code}</pre>
          <Copy text={code} quiet={false} />
        </div>
      </div>
    </>
  );
}

function Terminal() {
  const address = new URL('.', document.baseURI).href.replace(/\/$/, '');
  const code = `export AGENTLENS_URL=${address}
export AGENTLENS_API_KEY=agk_live_…     # Settings, API keys

${buildNpmInstall(['cli'], address, '-g ')}
agentlens tail                  # what happens, live
agentlens approvals watch       # decide waiting calls
agentlens kill agent my-agent   # stop it

# Claude Code, Codex, Cursor and VS Code speak to it over MCP:
claude mcp add --transport http agentlens $AGENTLENS_URL/mcp --header "Authorization: Bearer $AGENTLENS_API_KEY"`;
  return (
    <div className="stp">
      <span className="lab">
        From a terminal <span>The API of this console: /openapi.json</span>
      </span>
      <div className="well code">
        <pre>{code}</pre>
        <Copy text={code} quiet={false} />
      </div>
    </div>
  );
}

/** Follows the first event, reports what is missing, then proposes a rule. */
/** Libraries whose calls arrive with less than the provider answered: their costs are wrong, not $0.00. */
function Gaps() {
  const sources = useRead(['usage', 'sources'], (signal) => client.listUsageSources({ signal }));
  const short = (sources.data?.sources ?? []).filter(({ gaps }) => gaps.length > 0);
  if (short.length === 0) return null;
  return (
    <section aria-label="What is not reported" className="topped">
      <h3>What is not reported</h3>
      <ul className="votes">
        {short.map(({ name, version, gaps }) => (
          <li key={`${name} ${version ?? ''}`}>
            <Icon name="warnt" size={14} />
            <span>
              <span className="mono">{visibleName([name, version].filter(Boolean).join(' '))}</span>{' '}
              {gaps.join(', and ')}.
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Listener() {
  const [since] = useState(() => Date.now());
  const runs = useRead(['first', 'runs'], (signal) => client.listRuns({ query: { limit: 100 }, signal }));
  const first = runs.data?.runs[0];
  if (first === undefined) {
    return (
      <div className="lis" role="status">
        <Icon name="live" />
        <div>
          <p className="t">Waiting for the first event.</p>
          <p className="t3">This page is listening; there is nothing to reload.</p>
        </div>
      </div>
    );
  }
  return <Arrived runs={runs.data?.runs ?? []} first={first} since={since} />;
}

function Arrived({ runs, first, since }: { runs: readonly Run[]; first: Run; since: number }) {
  const agents = new Set(runs.map(({ agentId }) => agentId));
  const events = runs.reduce((sum, run) => sum + run.totals.events, 0);
  const unpriced = [
    ...new Set(runs.filter(({ totals }) => totals.unpricedCalls > 0).map(({ model }) => model ?? 'a model')),
  ];
  const cameAfter = Math.round((Date.parse(first.startedAt) - since) / 1000);
  return (
    <>
      <div className="lis got" role="status">
        <Icon name="check" className="good" />
        <div>
          <p className="t">
            {cameAfter > 0
              ? `First event after ${cameAfter} s, from ${visibleName(first.agentId)}.`
              : `${visibleName(first.agentId)} reports.`}
          </p>
          <p className="gotl num">
            <span>
              {counted(events, 'event')}, {counted(runs.length, 'run')}
            </span>
            <span>{counted(agents.size, 'agent')}</span>
            {runs.every(({ totals }) => totals.llmCalls === 0) && (
              <span className="warn">No model call yet, so costs are unknown</span>
            )}
            {unpriced.length > 0 && <span className="warn">No price for {unpriced.join(', ')}</span>}
            {runs.every(({ actor }) => actor === undefined) && <span>No user reported</span>}
          </p>
        </div>
        <Link className="b" to="/runs/$id" params={{ id: first.id }}>
          See the run
        </Link>
      </div>
      <Propose runs={runs} />
    </>
  );
}

/** A shadow rule that fits the observed runs. */
function Propose({ runs }: { runs: readonly Run[] }) {
  const [made, setMade] = useState<string>();
  const [hidden, setHidden] = useState(false);
  const queries = useQueryClient();
  const proposal: Proposal | undefined = proposalFor(runs);
  if (proposal === undefined || hidden) return null;
  const watch = async () => {
    try {
      const rule = await client.createRule({ body: proposal.draft });
      await queries.invalidateQueries();
      setMade(rule.id);
      toast('Saved in shadow mode');
    } catch (error) {
      toastError('Not saved', error);
    }
  };
  return (
    <div className="prop">
      <h3>
        A run of {visibleName(proposal.agentId)} costs {money(proposal.medianUsd)}. Watch for runs over{' '}
        {money(proposal.limitUsd)}?
      </h3>
      <p className="t2">
        That is {proposal.times} times the dearest run so far. In shadow the rule only counts; you decide later whether
        it may act.
      </p>
      <div className="btns">
        {made === undefined ? (
          <>
            <Act scope="admin" kind="pri" onPress={() => void watch()}>
              Watch in shadow
            </Act>
            <Link className="b" to="/guardrails/new">
              Create another rule
            </Link>
            <button type="button" className="b quiet" onClick={() => setHidden(true)}>
              Not now
            </button>
          </>
        ) : (
          <>
            <Link className="b" to="/guardrails/$id" params={{ id: made }}>
              Open rule
            </Link>
            <span className="t2">Start the agent again to see what the rule would block.</span>
          </>
        )}
      </div>
    </div>
  );
}
