import { useNavigate } from '@tanstack/react-router';
import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { runQuery } from '../runs/run-filter.ts';
import { useKeys } from '../shell/keys.ts';
import { Icon } from '../ui/icon.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { parseSearch } from '../url/search.ts';

/** Links to the previous and next run of the list that this run was opened from. */
export function RunPager({ id }: { id: string }) {
  const { search } = useListSearch<'list'>();
  const navigate = useNavigate();
  const from = search.list;
  const list = useRead(
    ['runs', 'walk', from],
    (signal) => client.listRuns({ query: { ...runQuery(parseSearch(from ?? '')), limit: 200 }, signal }),
    from !== undefined,
  );
  const runs = list.data?.runs ?? [];
  const at = runs.findIndex((run) => run.id === id);
  const go = (by: number) => {
    const next = runs[at + by];
    if (at >= 0 && next !== undefined)
      void navigate({ to: '/runs/$id', params: { id: next.id }, search: { list: from } });
  };
  useKeys({ '[': () => go(-1), ']': () => go(1) });
  if (from === undefined || at < 0) return null;
  return (
    <span className="row not-s">
      <span className="t3 num nowrap">
        {at + 1} of {runs.length}
      </span>
      <button
        type="button"
        className="b quiet ico"
        aria-label="Previous run ([)"
        disabled={at === 0}
        onClick={() => go(-1)}
      >
        <Icon name="up" />
      </button>
      <button
        type="button"
        className="b quiet ico"
        aria-label="Next run (])"
        disabled={at === runs.length - 1}
        onClick={() => go(1)}
      >
        <Icon name="dn" />
      </button>
    </span>
  );
}
