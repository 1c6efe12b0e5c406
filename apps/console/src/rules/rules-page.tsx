import { Link, useNavigate } from '@tanstack/react-router';
import { ruleWords } from '../../../../libs/guardrails/src/words/rule-words.ts';
import { client } from '../api/client.ts';
import type { Rule, RuleSummary } from '../api/model.ts';
import { count, counted, money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { Empty, FilteredEmpty, Read } from '../ui/faces.tsx';
import { FilterChip, FilterField } from '../ui/filters.tsx';
import { Gauge } from '../ui/gauge.tsx';
import { Icon } from '../ui/icon.tsx';
import { ACTIONS, MODE_NAMES, ModeChip, State } from '../ui/marks.tsx';
import { Ago } from '../ui/moment.tsx';
import { Strip } from '../ui/strips.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { RuleSentence } from './rule-sentence.tsx';
import { thresholdOf } from './threshold.ts';
import { chipOf, modeOf, ruleMark, scopeOf, useRules } from './use-rules.ts';
import './rules.css';

type Name = 'mode' | 'q' | 'agent' | 'action';
const MODES = ['enforce', 'canary', 'shadow', 'suspended', 'off'] as const;

export function RulesPage() {
  const rules = useRules();
  const summaries = useRead(['summaries'], (signal) => client.listRuleSummaries({ signal }));
  const byRule = new Map((summaries.data?.summaries ?? []).map((one) => [one.ruleId, one]));
  return (
    <Page name="rules" title="Rules" time="Last 7 days">
      <Read read={rules} what="Rules" rows={14}>
        {(data) => <List rules={data.rules} summaries={byRule} />}
      </Read>
    </Page>
  );
}

function List({ rules, summaries }: { rules: readonly Rule[]; summaries: ReadonlyMap<string, RuleSummary> }) {
  const { search, change, clear } = useListSearch<Name>();
  const modes = MODES.map((mode) => ({ mode, rules: rules.filter((rule) => modeOf(rule) === mode).length }));
  const shown = rules
    .filter(
      (rule) =>
        (search.mode === undefined || modeOf(rule) === search.mode) &&
        (search.agent === undefined || rule.agentId === search.agent) &&
        (search.action === undefined || rule.actionType === search.action),
    )
    .filter(
      (rule) =>
        search.q === undefined ||
        `${rule.name} ${rule.description ?? ''} ${ruleWords(rule)}`.toLowerCase().includes(search.q.toLowerCase()),
    )
    .toSorted((a, b) => total(summaries.get(b.id)) - total(summaries.get(a.id)) || (a.name < b.name ? -1 : 1));
  const agents = [...new Set(rules.flatMap(({ agentId }) => agentId ?? []))].sort().map((id) => ({ id, name: id }));
  const actions = [...new Set(rules.map(({ actionType }) => actionType))].map((id) => ({
    id,
    name: ACTIONS[id]?.word ?? id,
  }));
  if (rules.length === 0) return <NoRules />;
  return (
    <>
      <div className="bar0">
        <div className="seg" role="group" aria-label="Mode">
          <button type="button" aria-pressed={search.mode === undefined} onClick={() => change({ mode: undefined })}>
            All <span className="n num">{rules.length}</span>
          </button>
          {modes.map(({ mode, rules: many }) => (
            <button key={mode} type="button" aria-pressed={search.mode === mode} onClick={() => change({ mode })}>
              {MODE_NAMES[mode]} <span className="n num">{many}</span>
            </button>
          ))}
        </div>
        <FilterField label="Filter rules" value={search.q ?? ''} onChange={(q) => change({ q }, true)} />
        <FilterChip name="Agent" value={search.agent} choices={agents} onChange={(agent) => change({ agent })} />
        <FilterChip name="Action" value={search.action} choices={actions} onChange={(action) => change({ action })} />
        <span className="sp" />
        <Link className="b pri" to="/guardrails/new">
          <Icon name="plus" size={14} />
          New rule
        </Link>
      </div>
      <UnaskedNotice rules={rules.filter(passesUnasked)} />
      {shown.length === 0 ? (
        <div className="pad">
          <FilteredEmpty what="rules" filter={Object.values(search).join(', ')} onClear={clear} />
        </div>
      ) : (
        <>
          <Table rules={shown} summaries={summaries} />
          <Cards rules={shown} summaries={summaries} />
        </>
      )}
    </>
  );
}

const sum = (values: readonly number[] | undefined) => (values ?? []).reduce((all, one) => all + one, 0);
const total = (summary: RuleSummary | undefined) => sum(summary?.fired) + sum(summary?.wouldHave);

function tone(rule: Rule): string {
  if (modeOf(rule) === 'shadow') return 'shadow-v';
  if (rule.actionType === 'block' || rule.actionType === 'terminate_run') return 'block';
  return rule.actionType === 'require_approval' || rule.actionType === 'pause_agent' ? 'ask' : 'alert';
}

/** Older rules that require approval may let a call pass if the approval cannot be requested. New ones block it. */
function passesUnasked(rule: Rule): boolean {
  const isEnforced = modeOf(rule) === 'enforce' || modeOf(rule) === 'canary';
  return isEnforced && rule.actionType === 'require_approval' && rule.onUnavailable === 'allow';
}

function UnaskedNotice({ rules }: { rules: readonly Rule[] }) {
  if (rules.length === 0) return null;
  return (
    <p className="pad t2" role="note">
      Calls pass if approval cannot be requested:{' '}
      {rules.map(({ id, name }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          <Link to="/guardrails/$id" params={{ id }}>
            <bdi>{name}</bdi>
          </Link>
        </span>
      ))}
      . Set “if the rule cannot be evaluated in time” to block.
    </p>
  );
}

function PassesUnasked() {
  return (
    <span className="dg">
      <Icon name="v-bypass" size={12} />
      Calls pass if approval cannot be requested
    </span>
  );
}

function Does({ rule }: { rule: Rule }) {
  return <State mark={ruleMark(rule)} />;
}

function Table({ rules, summaries }: { rules: readonly Rule[]; summaries: ReadonlyMap<string, RuleSummary> }) {
  const navigate = useNavigate();
  return (
    <table className="tb">
      <thead>
        <tr>
          <th>Mode</th>
          <th>Rule</th>
          <th>Does</th>
          <th colSpan={2}>Fired, 7 days</th>
          <th className="r">Last</th>
          <th>Now, highest</th>
        </tr>
      </thead>
      <tbody>
        {rules.map((rule) => {
          const summary = summaries.get(rule.id);
          const mode = modeOf(rule);
          const fired = mode === 'shadow' ? summary?.wouldHave : summary?.fired;
          return (
            <tr
              key={rule.id}
              className={mode === 'off' ? 'offr' : ''}
              onClick={(event) =>
                event.target instanceof Element &&
                event.target.closest('a') === null &&
                void navigate({ to: '/guardrails/$id', params: { id: rule.id } })
              }
            >
              <td>
                <ModeChip {...chipOf(rule)} />
              </td>
              <td className="rn clip">
                <Link to="/guardrails/$id" params={{ id: rule.id }}>
                  <bdi>{rule.name}</bdi>
                </Link>
                <RuleSentence rule={rule} />
                {mode === 'shadow' && sum(summary?.wouldHave) > 0 && (
                  <span className="dg gh">
                    <Icon name="v-shadow" size={12} />
                    Would have acted {counted(sum(summary?.wouldHave), 'time')} in 7 days
                  </span>
                )}
                {passesUnasked(rule) && <PassesUnasked />}
                {summary?.degradedReason !== undefined && (
                  <span className="dg">
                    <Icon name="v-bypass" size={12} />
                    {summary.degradedReason}
                  </span>
                )}
              </td>
              <td>
                <Does rule={rule} />
              </td>
              <td>
                <Strip values={fired ?? [0, 0, 0, 0, 0, 0, 0]} tone={tone(rule)} label={`${rule.name}, by day`} />
              </td>
              <td className="r num">{count(sum(fired))}</td>
              <td className="r t2">
                {summary?.lastAt === undefined ? <span className="t3">never</span> : <Ago at={summary.lastAt} bare />}
              </td>
              <td className="vc">
                <Highest rule={rule} summary={summary} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Highest({ rule, summary }: { rule: Rule; summary: RuleSummary | undefined }) {
  const threshold = thresholdOf(rule);
  if (threshold === undefined || summary?.highest === undefined) return null;
  const { value, agentId } = summary.highest;
  const show =
    threshold.unit === 'USD'
      ? money
      : (number: number) => `${Number(number.toPrecision(4))}${threshold.unit === '%' ? ' %' : ''}`;
  return (
    <span title={agentId}>
      <span className="num">
        {show(value)} <span className="t3">limit {show(threshold.value)}</span>
      </span>
      <Gauge
        value={threshold.value === 0 ? 0 : value / threshold.value}
        shadow={modeOf(rule) === 'shadow'}
        label={`${show(value)}, limit ${show(threshold.value)}, ${agentId}`}
      />
    </span>
  );
}

function Cards({ rules, summaries }: { rules: readonly Rule[]; summaries: ReadonlyMap<string, RuleSummary> }) {
  return (
    <ul className="rcards">
      {rules.map((rule) => (
        <li key={rule.id}>
          <span className="row">
            <ModeChip {...chipOf(rule)} />
            <Link className="strong clip" to="/guardrails/$id" params={{ id: rule.id }}>
              {rule.name}
            </Link>
            <b className="ml num">{count(total(summaries.get(rule.id)))}</b>
          </span>
          <span className="row">
            <Does rule={rule} />
            <span className="ml t3 clip">{scopeOf(rule)}</span>
          </span>
          <RuleSentence rule={rule} />
          {passesUnasked(rule) && <PassesUnasked />}
        </li>
      ))}
    </ul>
  );
}

function NoRules() {
  return (
    <div className="pad">
      <Empty
        title="No rule yet."
        act={
          <>
            <Link className="b pri" to="/guardrails/new">
              New rule
            </Link>
            <Link className="b" to="/connect">
              Try the demo agent
            </Link>
          </>
        }
      >
        A rule blocks a call, asks a human, pauses an agent or raises an alert. A new one starts in shadow: it only
        counts what it would have done.
      </Empty>
    </div>
  );
}
