import type { RunDetail } from '../api/model.ts';
import { limitsFor } from '../breakers/limits.ts';
import { useLimits } from '../breakers/use-limits.ts';
import { count, countdown, duration, money } from '../figures/figures.ts';
import { Gauge } from '../ui/gauge.tsx';
import { useNow } from '../ui/moment.tsx';
import { readLimit, readUsage, type Unknown } from './reported-usage.ts';

/** Usage of the run, against the limits of its breaker if they are enforced. */
export function Meters({ run, enforced }: { run: RunDetail; enforced: boolean }) {
  const now = useNow();
  const { data: known } = useLimits();
  // A run that only reports events never meets a breaker.
  const limits =
    enforced && known !== undefined ? limitsFor({ runId: run.id, agentId: run.agentId }, known) : undefined;
  const elapsed = run.status === 'running' ? Math.max(run.durationMs, now - Date.parse(run.startedAt)) : run.durationMs;
  const { totals } = run;
  const usage = readUsage(totals);
  return (
    <div className="mts">
      <Meter name="Cost" value={usage.cost} limit={limits?.maxCostUsd} show={money} />
      <Meter name="Tokens" value={usage.tokens} limit={limits?.maxTokens} show={count} />
      <Meter name="Model calls" value={usage.modelCalls} limit={limits?.maxIterations} show={count} />
      <Meter name="Tool calls" value={totals.toolCalls} limit={undefined} show={count} />
      <Meter name="Errors" value={totals.errors} limit={undefined} show={count} />
      <Meter
        name="Elapsed"
        value={elapsed}
        limit={run.ttlMs}
        show={(ms) => (run.ttlMs === undefined ? duration(ms) : countdown(ms))}
      />
    </div>
  );
}

const SAYS: Readonly<Record<Unknown, string>> = {
  'no price': 'The models of this run have no price.',
  'not reported': 'This agent does not report its model calls.',
};

function Meter({
  name,
  value,
  limit: set,
  show,
}: {
  name: string;
  value: number | Unknown;
  limit: number | undefined;
  show: (value: number) => string;
}) {
  const limit = readLimit(value, set);
  return (
    <div className={`mt ${limit === undefined ? 'bare' : ''}`}>
      <span className="t3">{name}</span>
      <span className="num">
        {typeof value === 'number' ? (
          <b>{show(value)}</b>
        ) : (
          <span className="t3" title={SAYS[value]}>
            {value === 'no price' ? 'unknown' : value}
          </span>
        )}{' '}
        {limit !== undefined && <span className="t3">of {show(limit)}</span>}
      </span>
      {limit !== undefined && typeof value === 'number' && (
        <Gauge value={limit === 0 ? 1.2 : value / limit} label={`${name}: ${show(value)} of ${show(limit)}`} />
      )}
    </div>
  );
}
