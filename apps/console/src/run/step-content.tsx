import { lazy, Suspense } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import type { StoredEvent } from '../api/model.ts';
import { bytes, duration, money } from '../figures/figures.ts';
import { Loading } from '../ui/faces.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Facts } from '../ui/section.tsx';
import { CodeChange, CodeOutcome } from './code-change.tsx';
import { callArgsOf, textOf } from './payload-text.ts';
import type { Step } from './story.ts';
import type { Opened } from './use-opened.ts';

/** Loaded when the first decision is opened, with the words of rules. */
const Why = lazy(() => import('./why.tsx').then(({ Why: view }) => ({ default: view })));

export const TABS = ['call', 'result', 'why', 'price', 'raw'] as const;
export type Tab = (typeof TABS)[number];

/** One tab of a loaded step. Agent-controlled content is shown as text. */
export function StepContent({ step, opened, tab }: { step: Step; opened: Opened; tab: Tab }) {
  switch (tab) {
    case 'call':
      return step.entry === undefined ? <Call opened={opened} /> : <Said step={step} opened={opened} />;
    case 'result':
      return <Result result={opened.result} />;
    case 'why':
      return opened.decision === undefined ? (
        <p className="hint topped">This decision is past its retention.</p>
      ) : (
        <Suspense fallback={<Loading rows={8} />}>
          <Why decision={opened.decision} alert={opened.alert} />
        </Suspense>
      );
    case 'price':
      return <Price result={opened.result} />;
    case 'raw':
      return <JsonView label="Raw" value={opened} />;
  }
}

function Call({ opened }: { opened: Opened }) {
  const args = callArgsOf(opened);
  if (args !== undefined)
    return (
      <>
        <CodeChange args={args} />
        <JsonView label="Arguments" value={args} />
      </>
    );
  const cut = opened.decision?.argumentsCut;
  return cut === undefined ? (
    <p className="hint topped">No arguments reported.</p>
  ) : (
    <>
      <p className="hint topped">Of {bytes(cut.bytes)} of arguments this is the beginning.</p>
      <pre className="well plain">{visible(cut.start)}</pre>
    </>
  );
}

function Said({ step, opened: { entry } }: { step: Step; opened: Opened }) {
  const payload = isEvent(entry) ? textOf(entry.payload) : step.detail;
  return <p className="plain">{visible(payload) || 'No further details.'}</p>;
}

function isEvent(entry: unknown): entry is StoredEvent {
  return typeof entry === 'object' && entry !== null && 'payload' in entry;
}

function Result({ result }: { result: StoredEvent | undefined }) {
  if (result === undefined) return <p className="hint topped">The result is past its retention.</p>;
  const { payload } = result;
  if (payload.result === undefined && typeof payload.bytes === 'number') return <CodeOutcome payload={payload} />;
  const value = payload.result ?? payload.completion ?? payload.error ?? payload;
  const parsed = typeof value === 'string' && /^\s*[[{]/.test(value) ? jsonIn(value) : undefined;
  return (
    <>
      {result.isError && <p className="bad strong">It failed.</p>}
      {typeof value === 'string' && parsed === undefined ? (
        <pre className="well plain">{visible(value)}</pre>
      ) : (
        <JsonView label="Result" value={parsed ?? value} />
      )}
    </>
  );
}

/** Shows a text as JSON if it is JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not valid JSON, so it is shown as text.
    return undefined;
  }
}

const COUNTED_BY: Readonly<Record<string, string>> = {
  provider: 'the provider',
  adapter: 'the adapter',
  instrumentation: 'the instrumentation',
  client: 'the agent',
  computed: 'computed from the other counts',
  unknown: 'not reported',
};

const APPROXIMATIONS: Readonly<Record<string, string>> = {
  cached_audio: 'how much of the audio was cached is not reported',
  dated_model: 'the table lists the model under another date',
};

/** Where the figures come from. */
function originFacts(origin: StoredEvent['usage']['origin']): [string, string][] {
  if (origin === undefined) return [];
  const { counts, reportedBy, priceRef, approximation, feesUsd } = origin;
  const facts: [string, string][] = [['Counted by', COUNTED_BY[counts] ?? counts]];
  if (reportedBy !== undefined) facts.push(['Reported by', reportedBy]);
  if (priceRef !== undefined) facts.push(['Price list', priceRef]);
  if (approximation !== undefined) facts.push(['Estimated because', APPROXIMATIONS[approximation] ?? approximation]);
  if (feesUsd !== undefined) facts.push(['Fees for searches', money(feesUsd)]);
  return facts;
}

const SOURCES: Readonly<Record<string, string>> = {
  reported: 'reported by the agent',
  priced: 'from the price table',
  unpriced: 'unknown: no price for this model',
};

function Price({ result }: { result: StoredEvent | undefined }) {
  if (result === undefined) return <p className="hint topped">The result is past its retention.</p>;
  const { usage } = result;
  const number = (value: number | null) => (value === null ? 'not known' : value.toLocaleString('en'));
  return (
    <Facts
      facts={[
        ['Model', result.model ?? 'not known'],
        ['Provider', result.provider ?? 'not known'],
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
        ...originFacts(usage.origin),
        ['Took', usage.latencyMs === null ? 'not known' : duration(usage.latencyMs)],
      ]}
    />
  );
}
