import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { DAY_MS } from '../../../../libs/contracts/src/times.ts';
import { argumentLine } from '../../../../libs/contracts/src/argument-line.ts';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { ruleDifferences } from '../../../../libs/guardrails/src/words/rule-words.ts';
import { client } from '../api/client.ts';
import type { Rule, RuleSummary } from '../api/model.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { weekday } from '../time/zone.ts';
import { VerdictMark, verdictOf } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { BacktestPanel } from './backtest-panel.tsx';
import { DayStrip } from './day-strip.tsx';
import { type Draft, draftOf } from './draft.ts';
import { Differences } from './rule-versions.tsx';
import { type TrialCall, TryCall } from './try-call.tsx';

interface EvidenceProps {
  readonly draft: Draft;
  readonly rule: Rule | undefined;
  readonly summary: RuleSummary | undefined;
  readonly call: TrialCall | undefined;
  readonly valid: boolean;
}

type Tab = 'past' | 'days' | 'try' | 'changes';

/** What is known for or against the draft, always beside it. */
export function Evidence({ draft, rule, summary, call, valid }: EvidenceProps) {
  const [tab, setTab] = useState<Tab>(call !== undefined || rule === undefined ? 'try' : 'days');
  const tabs: readonly (readonly [Tab, string])[] = [
    ['past', 'Last 7 days'],
    ...(rule === undefined ? [] : [['days', 'Its record'] as const]),
    ['try', 'Try a call'],
    ...(rule === undefined ? [] : [['changes', `Changes to v${rule.version}`] as const]),
  ];
  return (
    <aside className="ev" aria-label="Evidence">
      <div className="tabs" role="tablist" aria-label="Evidence">
        {tabs.map(([id, name]) => (
          <button key={id} type="button" role="tab" aria-selected={tab === id} onClick={() => setTab(id)}>
            {name}
          </button>
        ))}
      </div>
      {tab === 'try' && <TryCall draft={draft} call={call} valid={valid} />}
      {tab === 'past' && <BacktestPanel draft={draft} rule={rule} valid={valid} />}
      {tab === 'days' && <Days rule={rule} summary={summary} />}
      {tab === 'changes' && rule !== undefined && <Changes draft={draft} rule={rule} />}
    </aside>
  );
}

/** What the rule itself decided and what it would have: facts, where a replay over history has its place later. */
export function Days({ rule, summary }: { rule: Rule | undefined; summary: RuleSummary | undefined }) {
  const decisions = useRead(
    ['decisions', 'rule', rule?.id],
    (signal) => client.listDecisions({ query: { ruleId: rule?.id, limit: 20 }, signal }),
    rule !== undefined,
  );
  if (rule === undefined) {
    return (
      <div className="bt">
        <p className="say2">Nothing is known yet.</p>
        <p>Save it as shadow: it then counts what it would have done, and says so here. Until then try it on a call.</p>
      </div>
    );
  }
  const [fired, would] = [summary?.fired ?? [], summary?.wouldHave ?? []];
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  const days = Array.from({ length: 7 }, (_, day) => {
    const label = weekday(Date.now() - (6 - day) * DAY_MS);
    return { day: label, label, full: fired[day] ?? 0, ghost: would[day] ?? 0 };
  });
  const sentence =
    sum(would) > 0
      ? `Would have acted ${counted(sum(would), 'time')}${sum(fired) > 0 ? `, acted ${counted(sum(fired), 'time')}` : ''}.`
      : sum(fired) > 0
        ? `Acted ${counted(sum(fired), 'time')}.`
        : 'It has not met its condition in 7 days.';
  return (
    <div className="bt">
      <p className="say2">{sentence}</p>
      <p>As the rule stood at the time.</p>
      <DayStrip days={days} words={['acted', 'would have']} />
      <Section
        title="Newest calls it met"
        note={decisions.data?.decisions.length}
        link={
          <span className="row ml">
            <Link to="/decisions" search={{ rule: rule.id, show: 'refused' }}>
              Blocked wrongly?
            </Link>
            <Link to="/decisions" search={{ rule: rule.id }}>
              All
            </Link>
          </span>
        }
      >
        <table className="tb flush ex">
          <tbody>
            {(decisions.data?.decisions ?? []).slice(0, 8).map((decision) => (
              <tr key={decision.id}>
                <td>
                  <VerdictMark mark={verdictOf(decision)} wordless />
                </td>
                <td className="w100 clip" title={visible(argumentLine(decision.arguments))}>
                  <span className="mono">
                    {decision.toolName === undefined ? 'model call' : visibleName(decision.toolName)}
                  </span>{' '}
                  <span className="t3">{visible(argumentLine(decision.arguments))}</span>
                </td>
                <td className="t2">
                  <Link
                    to="/runs/$id"
                    params={{ id: decision.runId }}
                    search={{ step: decision.callId ?? `decision ${decision.id}` }}
                  >
                    {shortId(decision.runId)}
                  </Link>
                </td>
                <td className="r t3">
                  <Moment at={decision.decidedAt} short />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {decisions.data?.decisions.length === 0 && <p className="hint topped">None yet.</p>}
      </Section>
    </div>
  );
}

function Changes({ draft, rule }: { draft: Draft; rule: Rule }) {
  const changes = ruleDifferences({ ...draftOf(rule), mode: draft.mode }, draft);
  return (
    <div className="bt">
      {changes.length === 0 ? (
        <p className="t2">The draft says the same as version {rule.version}.</p>
      ) : (
        <Differences differences={changes} />
      )}
    </div>
  );
}
