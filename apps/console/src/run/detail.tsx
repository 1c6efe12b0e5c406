import { Link, useNavigate } from '@tanstack/react-router';
import type { RunDetail } from '../api/model.ts';
import { duration, money } from '../figures/figures.ts';
import { Copy } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts } from '../ui/section.tsx';
import { callArgsOf, type Step } from './story.ts';
import { Why } from './why.tsx';

const TABS = ['call', 'result', 'why', 'price', 'raw'] as const;
type Tab = (typeof TABS)[number];
const NAMES: Readonly<Record<Tab, string>> = {
  call: 'Call',
  result: 'Result',
  why: 'Why',
  price: 'Tokens and price',
  raw: 'Raw',
};

interface DetailProps {
  readonly run: RunDetail;
  readonly step: Step;
  readonly tab: string | undefined;
  readonly onTab: (tab: string | undefined) => void;
}

/** Everything about one step. What agents sent is shown as text. */
export function Detail({ run, step, tab, onTab }: DetailProps) {
  const navigate = useNavigate();
  const tabs = TABS.filter((one) => has(step, one));
  const first: Tab = step.decision !== undefined && step.decision.effect !== 'allow' ? 'why' : (tabs[0] ?? 'raw');
  const chosen = tabs.find((one) => one === tab) ?? first;
  const isCall = step.kind === 'tool' || step.kind === 'model';
  const makeRule = () =>
    void navigate({
      to: '/guardrails/new',
      search: { run: run.id, step: step.id, tool: step.kind === 'tool' ? step.name : undefined } as never,
    });
  return (
    <>
      <div className="row">
        <h2 className="clip">
          <bdi>{step.name}</bdi>
        </h2>
        <span className="t3 nowrap">
          <Moment at={new Date(step.startMs).toISOString()} ms />
        </span>
      </div>
      <div className="tabs" role="tablist" aria-label="About this step">
        {tabs.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            aria-selected={one === chosen}
            onClick={() => onTab(one === first ? undefined : one)}
          >
            {NAMES[one]}
          </button>
        ))}
      </div>
      <div role="tabpanel" className="det-tab" aria-label={NAMES[chosen]}>
        <TabContent step={step} tab={chosen} />
      </div>
      {isCall && (
        <div className="btns">
          <button type="button" className="b sm" onClick={makeRule}>
            <Icon name="rules" size={14} />
            Make a rule from this step
          </button>
          <Copy text={JSON.stringify(fixtureOf(run, step), null, 2)} label="Copy as fixture" quiet={false} />
          {step.alert !== undefined && (
            <Link className="b sm" to="/approvals" search={{ id: step.alert.id }}>
              Open approval
            </Link>
          )}
        </div>
      )}
    </>
  );
}

function has(step: Step, tab: Tab): boolean {
  switch (tab) {
    case 'call':
      return callArgsOf(step) !== undefined || step.entry !== undefined;
    case 'result':
      return step.result !== undefined;
    case 'why':
      return step.decision !== undefined;
    case 'price':
      return step.kind === 'model' && step.result !== undefined;
    case 'raw':
      return true;
  }
}

function TabContent({ step, tab }: { step: Step; tab: Tab }) {
  switch (tab) {
    case 'call':
      return step.entry === undefined ? (
        <JsonView label="Arguments" value={callArgsOf(step)} />
      ) : (
        <p className="plain">{step.detail || 'It says nothing more.'}</p>
      );
    case 'result':
      return <Result step={step} />;
    case 'why':
      return step.decision === undefined ? null : <Why decision={step.decision} alert={step.alert} />;
    case 'price':
      return <Price step={step} />;
    case 'raw':
      return (
        <JsonView
          label="Raw"
          value={{
            call: step.call,
            result: step.result,
            decision: step.decision,
            alert: step.alert,
            entry: step.entry,
          }}
        />
      );
  }
}

function Result({ step }: { step: Step }) {
  const payload = step.result?.payload ?? {};
  const value = payload.result ?? payload.completion ?? payload.error ?? payload;
  const parsed = typeof value === 'string' && /^\s*[[{]/.test(value) ? jsonIn(value) : undefined;
  return (
    <>
      {step.result?.isError && <p className="bad strong">It failed.</p>}
      {typeof value === 'string' && parsed === undefined ? (
        <pre className="well plain">{value}</pre>
      ) : (
        <JsonView label="Result" value={parsed ?? value} />
      )}
    </>
  );
}

/** A text that is JSON is shown as such. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It only looked like JSON: it is shown as text.
    return undefined;
  }
}

const SOURCES: Readonly<Record<string, string>> = {
  reported: 'as the agent reported it',
  priced: 'from the price table',
  unpriced: 'not known: no price for this model',
};

function Price({ step }: { step: Step }) {
  const usage = step.result?.usage;
  if (usage === undefined) return null;
  const number = (value: number | null) => (value === null ? 'not known' : value.toLocaleString('en'));
  return (
    <Facts
      facts={[
        ['Model', step.result?.model ?? 'not known'],
        ['Provider', step.result?.provider ?? 'not known'],
        [
          'Tokens in',
          <span key="in" className="num">
            {number(usage.inputTokens)}
          </span>,
        ],
        [
          'Tokens out',
          <span key="out" className="num">
            {number(usage.outputTokens)}
          </span>,
        ],
        [
          'Cost',
          <span key="cost" className="num">
            {usage.costUsd === null ? 'not known' : money(usage.costUsd)}
          </span>,
        ],
        ['Price', SOURCES[usage.costSource ?? ''] ?? 'not known'],
        ['Took', usage.latencyMs === null ? 'not known' : duration(usage.latencyMs)],
      ]}
    />
  );
}

/** A call as a test of a rule takes it. */
export function fixtureOf(run: RunDetail, step: Step) {
  return {
    agentId: run.agentId,
    phase: step.kind === 'tool' ? 'tool.before' : 'llm.before',
    ...(step.kind === 'tool' ? { toolName: step.name } : {}),
    args: callArgsOf(step) ?? {},
    runId: run.id,
    before: new Date(step.startMs).toISOString(),
  };
}
