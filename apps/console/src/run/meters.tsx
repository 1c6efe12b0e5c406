import type { ReactNode } from 'react';
import type { RunDetail } from '../api/model.ts';
import { limitsFor } from '../breakers/limits.ts';
import { useLimits } from '../breakers/use-limits.ts';
import { count, countdown, duration, money } from '../figures/figures.ts';
import { Gauge } from '../ui/gauge.tsx';
import { useNow } from '../ui/moment.tsx';

/** Usage of the run, against the limits of its breaker if they are enforced. */
export function Meters({ run, enforced }: { run: RunDetail; enforced: boolean }) {
  const now = useNow();
  const { data: known } = useLimits();
  // A run that only reports events never meets a breaker.
  const limits =
    enforced && known !== undefined ? limitsFor({ runId: run.id, agentId: run.agentId }, known) : undefined;
  const elapsed = run.status === 'running' ? Math.max(run.durationMs, now - Date.parse(run.startedAt)) : run.durationMs;
  const { totals } = run;
  return (
    <div className="mts">
      <Meter
        name="Cost"
        value={totals.costUsd}
        limit={limits?.maxCostUsd}
        show={money}
        unknown={totals.costUsd === 0 && totals.unpricedCalls > 0}
      />
      <Meter name="Tokens" value={totals.totalTokens} limit={limits?.maxTokens} show={count} />
      <Meter name="Model calls" value={totals.llmCalls} limit={limits?.maxIterations} show={count} />
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

function Meter({
  name,
  value,
  limit,
  show,
  unknown = false,
}: {
  name: string;
  value: number;
  limit: number | undefined;
  show: (value: number) => string;
  unknown?: boolean;
}) {
  const shown: ReactNode = unknown ? <span className="t3">unknown</span> : <b>{show(value)}</b>;
  return (
    <div className={`mt ${limit === undefined ? 'bare' : ''}`}>
      <span className="t3">{name}</span>
      <span className="num">
        {shown} {limit !== undefined && <span className="t3">of {show(limit)}</span>}
      </span>
      {limit !== undefined && (
        <Gauge value={limit === 0 ? 1.2 : value / limit} label={`${name}: ${show(value)} of ${show(limit)}`} />
      )}
    </div>
  );
}
