import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { RunFacets } from '../api/model.ts';
import { count } from '../figures/figures.ts';
import { RunState } from '../ui/marks.tsx';
import { list, toggled } from '../url/search.ts';
import type { RunSearch } from './run-filter.ts';

interface FacetsProps {
  readonly facets: RunFacets | undefined;
  readonly search: RunSearch;
  readonly onChange: (next: {
    status?: string | undefined;
    agent?: string | undefined;
    model?: string | undefined;
  }) => void;
}

/** Filters with the number of matching runs. */
export function Facets({ facets, search, onChange }: FacetsProps) {
  const statuses = facets?.statuses ?? [];
  return (
    <aside className="facs" aria-label="Filters">
      <fieldset className="fac">
        <legend>Status</legend>
        {statuses.map(({ value, runs }) => (
          <label key={value} className={`fi ${list(search.status).includes(value) ? 'on' : ''}`}>
            <input
              type="checkbox"
              className="vh"
              checked={list(search.status).includes(value)}
              onChange={() => onChange({ status: toggled(search.status, value) })}
            />
            <RunState status={value} />
            <span className="n num">{count(runs)}</span>
          </label>
        ))}
        {facets !== undefined && statuses.length === 0 && <p className="hint">no runs</p>}
      </fieldset>
      <Names
        legend="Agent"
        values={facets?.agents ?? []}
        chosen={search.agent}
        onChoose={(agent) => onChange({ agent })}
      />
      <Names
        legend="Model"
        values={facets?.models ?? []}
        chosen={search.model}
        onChoose={(model) => onChange({ model })}
      />
    </aside>
  );
}

function Names({
  legend,
  values,
  chosen,
  onChoose,
}: {
  legend: string;
  values: RunFacets['agents'];
  chosen: string | undefined;
  onChoose: (value: string | undefined) => void;
}) {
  if (values.length === 0) return null;
  return (
    <fieldset className="fac">
      <legend>{legend}</legend>
      {values.map(({ value, runs }) => (
        <label key={value} className={`fi ${chosen === value ? 'on' : ''}`} title={value}>
          <input
            type="checkbox"
            className="vh"
            checked={chosen === value}
            onChange={() => onChoose(chosen === value ? undefined : value)}
          />
          <bdi className="clip">{visibleName(value)}</bdi>
          <span className="n num">{count(runs)}</span>
        </label>
      ))}
    </fieldset>
  );
}
