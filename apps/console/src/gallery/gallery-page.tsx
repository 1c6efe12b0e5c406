import { DAY_MS, HOUR_MS } from '../../../../libs/contracts/src/times.ts';
import { Chart } from '../charts/chart.tsx';
import { categoryTone, UNITS } from '../charts/data.ts';
import { Page } from '../shell/page.tsx';
import { Empty, Failed, FilteredEmpty, Loading } from '../ui/faces.tsx';
import { Gauge } from '../ui/gauge.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { ModeChip, RunState, VERDICTS, VerdictMark } from '../ui/marks.tsx';
import { Section } from '../ui/section.tsx';
import { Spark, Strip } from '../ui/strips.tsx';

const RUN_STATES = [
  'running',
  'waiting',
  'paused',
  'killed',
  'failed',
  'timed_out',
  'succeeded',
  'lost',
  'idle',
  'cancelled',
];
const JSON_SAMPLE = {
  tool: 'issue_refund',
  call: { amount: 412.5, currency: 'EUR', card: '[credit_card]', items: ['blender'] },
};
const nothing = () => undefined;

const CHART_FROM = Date.UTC(2026, 10, 24, 6);
const FIVE_MINUTES = 300_000;
const CHART_RANGE = { from: CHART_FROM, to: CHART_FROM + DAY_MS };
/** Half an hour is missing, and the night is quiet. */
const CHART_ROWS = Array.from({ length: 288 }, (_, index) => ({
  at: CHART_FROM + index * FIVE_MINUTES,
  calls: Math.max(0, Math.round(40 + 34 * Math.sin(index / 24) + (index % 7))),
  blocked: index % 48 < 9 ? (index % 9) + 3 : 0,
  p50: 0.8 + Math.sin(index / 20) / 3,
  p99: index % 60 === 0 ? null : 5 + 3 * Math.sin(index / 9),
})).filter((_, index) => index < 120 || index > 140);
const rowAt = (row: (typeof CHART_ROWS)[number]) => row.at;

function Charts() {
  return (
    <div className="two topped">
      <Chart
        title="Calls"
        rows={CHART_ROWS}
        at={rowAt}
        bucketMs={FIVE_MINUTES}
        range={CHART_RANGE}
        unit={UNITS.count}
        series={[
          { id: 'blocked', name: 'Blocked', tone: 'bad', shape: 'bar', value: (row) => row.blocked },
          { id: 'allowed', name: 'Allowed', tone: 'accent', shape: 'bar', value: (row) => row.calls },
        ]}
        lines={[{ value: 60, label: 'Usual', tone: 'mute' }]}
        markers={[{ at: CHART_FROM + 5 * HOUR_MS, label: 'Rule changed', href: 'guardrails' }]}
        onBrush={nothing}
      />
      <Chart
        title="Latency of decisions"
        rows={CHART_ROWS}
        at={rowAt}
        bucketMs={FIVE_MINUTES}
        range={CHART_RANGE}
        unit={UNITS.ms}
        series={[
          { id: 'p50', name: 'p50', tone: 'category-1', shape: 'line', value: (row) => row.p50 },
          { id: 'p99', name: 'p99', tone: 'category-2', shape: 'line', value: (row) => row.p99 },
        ]}
        lines={[{ value: 10, label: 'Target', tone: 'bad' }]}
      />
      <Chart
        title="Spend by model"
        rows={CHART_ROWS}
        at={rowAt}
        bucketMs={FIVE_MINUTES}
        range={CHART_RANGE}
        unit={UNITS.usd}
        series={[0, 1, 2, 3].map((index) => ({
          id: `model-${index}`,
          name: `model-${index}`,
          tone: categoryTone(index),
          shape: 'area' as const,
          value: ({ calls }: (typeof CHART_ROWS)[number]) => (calls * (index + 1)) / 900,
        }))}
        height={140}
      />
      <Chart
        title="Nothing recorded"
        rows={[] as typeof CHART_ROWS}
        at={rowAt}
        bucketMs={FIVE_MINUTES}
        range={CHART_RANGE}
        unit={UNITS.count}
        series={[{ id: 'calls', name: 'Calls', tone: 'accent', shape: 'bar', value: (row) => row.calls }]}
        height={140}
      />
    </div>
  );
}

/** Every part of the console with fixed data: what pictures and tests of parts are made from. */
export function GalleryPage() {
  return (
    <Page name="gallery" title="Parts" time="Fixed data">
      <div className="gal">
        <Section title="States" first>
          <div className="row">
            {RUN_STATES.map((status) => (
              <RunState key={status} status={status} />
            ))}
          </div>
          <div className="row topped">
            {Object.entries(VERDICTS).map(([name, mark]) => (
              <VerdictMark key={name} mark={mark} />
            ))}
          </div>
          <div className="row topped">
            {['off', 'shadow', 'enforce'].map((mode) => (
              <ModeChip key={mode} mode={mode} />
            ))}
            <span className="tag">sub-run</span>
            <span className="tag bad">4 blocked</span>
            <span className="tag warn">1 waits</span>
            <span className="tag ghost">1 shadow hit</span>
            <span className="tag good">can block</span>
          </div>
        </Section>
        <Section title="Buttons">
          <div className="row topped">
            <button type="button" className="b pri">
              Save as shadow
            </button>
            <button type="button" className="b">
              Resume…
            </button>
            <button type="button" className="b" aria-disabled="true">
              Reset…
            </button>
            <button type="button" className="b quiet">
              Discard
            </button>
            <button type="button" className="b danger">
              Kill…
            </button>
            <button type="button" className="b danger solid">
              Kill 4 runs
            </button>
          </div>
        </Section>
        <Section title="Gauges and strips">
          <div className="two topped">
            <Gauge value={0.42} label="42 of 100" />
            <Gauge value={0.4} projected={0.78} label="38, on course for 78" />
            <Gauge value={0.86} label="over 80 %" />
            <Gauge value={0.7} projected={1.2} label="before its period ends" />
            <Gauge value={1.2} label="6 of 5" />
            <Gauge value={1.4} shadow label="over, in shadow" />
          </div>
          <div className="row topped">
            <Strip values={[0, 2, 5, 3, 0, 8, 13]} tone="block" label="Blocked" />
            <Strip values={[1, 2, 5, 3, 4, 2, 1]} tone="ask" label="Asked" />
            <Strip values={[3, 1, 4, 2, 0, 5, 6]} tone="shadow-v" label="Would have" />
            <Spark values={[0, 0, 1, 3, 2, 6, 4, 8]} label="Rising" />
          </div>
        </Section>
        <Section title="Charts">
          <Charts />
        </Section>
        <Section title="Three faces">
          <div className="two topped">
            <Empty title="Nothing waits for you.">Calls that need a human appear here.</Empty>
            <FilteredEmpty
              what="runs in the last 24 h"
              filter="failed, research-agent"
              onClear={nothing}
              widen={{ name: '7 days', go: nothing }}
            />
            <Failed what="Runs" error={new Error('The store did not answer in 6.5 s')} onRetry={nothing} />
            <Loading rows={4} />
          </div>
        </Section>
        <Section title="JSON">
          <JsonView label="Call" value={JSON_SAMPLE} />
        </Section>
      </div>
    </Page>
  );
}
