import { useQuery } from '@tanstack/react-query';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { ActivityBucket } from '../api/model.ts';
import './activity-charts.css';
import { useMay } from '../shell/me.tsx';
import { bounds, type Range } from '../time/range.ts';
import { Failed } from '../ui/faces.tsx';
import { changeMarkers } from './changes.ts';
import { Chart } from './chart.tsx';
import { type Marker, type Tone, UNITS, type Unit } from './data.ts';

const REFRESH_MS = 15_000;
const HEIGHT = 109;
const MAX_MARKERS = 50;

interface Part {
  readonly id: string;
  readonly name: string;
  readonly tone: Tone;
  readonly value: (bucket: ActivityBucket) => number | null;
}

interface Plan {
  readonly title: string;
  readonly unit: Unit;
  readonly shape: 'bar' | 'line';
  readonly parts: readonly Part[];
}

const allowed = ({ decisions, blocked, askedHuman }: ActivityBucket) => Math.max(0, decisions - blocked - askedHuman);

const CHARTS: readonly Plan[] = [
  {
    title: 'Events',
    unit: UNITS.count,
    shape: 'bar',
    parts: [{ id: 'events', name: 'Events', tone: 'accent', value: ({ events }) => events }],
  },
  {
    title: 'Decisions',
    unit: UNITS.count,
    shape: 'bar',
    parts: [
      { id: 'blocked', name: 'Blocked', tone: 'bad', value: ({ blocked }) => blocked },
      { id: 'asked', name: 'Needed approval', tone: 'warn', value: ({ askedHuman }) => askedHuman },
      { id: 'allowed', name: 'Allowed', tone: 'mute', value: allowed },
    ],
  },
  {
    title: 'Errors',
    unit: UNITS.count,
    shape: 'bar',
    parts: [{ id: 'errors', name: 'Errors', tone: 'bad', value: ({ errors }) => errors }],
  },
  {
    title: 'Spend',
    unit: UNITS.usd,
    shape: 'bar',
    parts: [{ id: 'cost', name: 'Cost', tone: 'accent', value: ({ costUsd }) => costUsd }],
  },
  {
    title: 'Decision latency',
    unit: UNITS.ms,
    shape: 'line',
    parts: [
      { id: 'p50', name: 'p50', tone: 'accent', value: ({ latencyP50Ms }) => latencyP50Ms },
      { id: 'p99', name: 'p99', tone: 'warn', value: ({ latencyP99Ms }) => latencyP99Ms },
    ],
  },
];

/** Decisions, errors, spend and latency over a range, with deploys and changes of rules and limits as markers. */
export function ActivityCharts({
  range,
  agentId,
  show = ['Decisions', 'Errors', 'Spend', 'Decision latency'],
  onBrush,
}: {
  range: Range;
  agentId?: string;
  /** Titles of the charts. */
  show?: readonly string[];
  onBrush?: (from: string, to: string) => void;
}) {
  const { data, error, refetch } = useQuery({
    queryKey: ['activity', range, agentId],
    queryFn: ({ signal }) => client.getActivity({ query: { ...bounds(range), agentId }, signal }),
    refetchInterval: REFRESH_MS,
    placeholderData: (before) => before,
  });
  const markers = [...useChanges(data, agentId), ...useDeploys(data, agentId)];
  if (error !== null) return <Failed what="Activity" error={error} onRetry={() => void refetch()} />;
  const span = data === undefined ? { from: 0, to: 1 } : { from: Date.parse(data.from), to: Date.parse(data.to) };
  return (
    <div className="activity" aria-busy={data === undefined}>
      {CHARTS.filter(({ title }) => show.includes(title)).map(({ title, unit, shape, parts }) => (
        <Chart
          key={title}
          title={title}
          rows={data?.buckets ?? []}
          at={({ at }) => Date.parse(at)}
          bucketMs={data?.stepMs ?? 1}
          range={span}
          unit={unit}
          series={parts.map((part) => ({ ...part, shape, missing: shape === 'bar' && data !== undefined ? 0 : null }))}
          markers={markers}
          {...(onBrush === undefined
            ? {}
            : {
                onBrush: (from: number, to: number) =>
                  onBrush(new Date(from).toISOString(), new Date(to).toISOString()),
              })}
          height={HEIGHT}
        />
      ))}
    </div>
  );
}

/** Changes of the range from the audit, which only an admin may read. */
function useChanges(
  answer: { readonly from: string; readonly to: string } | undefined,
  agentId: string | undefined,
): readonly Marker[] {
  const { may } = useMay('admin');
  const from = answer?.from.slice(0, 13);
  const { data } = useQuery({
    queryKey: ['audit', 'markers', from],
    queryFn: ({ signal }) =>
      client.listAudit({
        query: { from: answer?.from, target: 'rule,budget,breaker_limits,tree_limits,settings', limit: MAX_MARKERS },
        signal,
      }),
    enabled: may && answer !== undefined,
    staleTime: REFRESH_MS,
  });
  return changeMarkers(data?.entries ?? [], agentId);
}

function useDeploys(
  answer: { readonly from: string; readonly to: string } | undefined,
  agentId: string | undefined,
): readonly Marker[] {
  const { data } = useQuery({
    queryKey: ['deploys', 'markers', answer?.from.slice(0, 13), agentId],
    queryFn: ({ signal }) => client.listDeploys({ query: { from: answer?.from, agentId, limit: MAX_MARKERS }, signal }),
    enabled: answer !== undefined,
    staleTime: REFRESH_MS,
    refetchInterval: REFRESH_MS,
  });
  return (data?.deploys ?? []).map((deploy) => {
    const version = visible(deploy.version);
    const of = deploy.agentId === undefined ? '' : ` of ${visibleName(deploy.agentId)}`;
    return {
      at: Date.parse(deploy.at),
      label: `Deploy ${version}${of}${deploy.note === undefined ? '' : `: ${visible(deploy.note)}`}`,
      tag: version,
      ...(deploy.url === undefined ? {} : { href: deploy.url }),
    };
  });
}
