import { lazy, Suspense } from 'react';
import type { Catalog } from '../api/model.ts';
import { asText } from '../ui/as-text.ts';
import { Icon } from '../ui/icon.tsx';
import type { Problem } from './draft.ts';
import { type Schema, SchemaFields, sentence } from './schema-form.tsx';

const CelField = lazy(() => import('./cel-field.tsx').then(({ CelField: field }) => ({ default: field })));

export interface Condition {
  readonly type: string;
  readonly config: Record<string, unknown>;
}

interface ConditionBuilderProps {
  readonly catalog: Catalog;
  readonly value: Condition;
  readonly onChange: (value: Condition) => void;
  readonly path: string;
  readonly problems: readonly Problem[];
  /** Absent: it cannot be taken away. */
  readonly onRemove?: (() => void) | undefined;
  /** What may be chosen. */
  readonly types: readonly string[];
}

const GROUPS: Readonly<Record<string, string>> = {
  all: 'all of these hold',
  any: 'any of these holds',
  not: 'this does not hold',
};

/** One condition, or a group of them; a line at the left shows what belongs together. */
export function ConditionBuilder({ catalog, value, onChange, path, problems, onRemove, types }: ConditionBuilderProps) {
  const entry = catalog.conditions.find(({ type }) => type === value.type);
  const choose = (type: string) => onChange({ type, config: startOf(catalog, type, value) });
  const head = (
    <span className="hdl">
      <select
        className="in sl"
        aria-label="Condition"
        value={value.type}
        onChange={(event) => choose(event.target.value)}
      >
        {types.map((type) => (
          <option key={type} value={type}>
            {GROUPS[type] ?? catalog.conditions.find((one) => one.type === type)?.title ?? type}
          </option>
        ))}
      </select>
      {onRemove !== undefined && (
        <button type="button" className="b quiet ico sm x" aria-label="Remove condition" onClick={onRemove}>
          <Icon name="trash" size={14} />
        </button>
      )}
    </span>
  );
  if (value.type === 'all' || value.type === 'any') {
    const conditions = listOf(value.config.conditions);
    const set = (next: Condition[]) => onChange({ type: value.type, config: { conditions: next } });
    const add = (condition: Condition) => set([...conditions, condition]);
    return (
      <div className="grp">
        {head}
        {conditions.map((condition, index) => (
          <ConditionBuilder
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no names, only places
            key={index}
            catalog={catalog}
            value={condition}
            onChange={(next) => set(conditions.with(index, next))}
            path={`${path}.conditions.${index}.config`}
            problems={problems}
            types={nested(catalog)}
            onRemove={conditions.length > 1 ? () => set(conditions.toSpliced(index, 1)) : undefined}
          />
        ))}
        <span className="hdl">
          <button
            type="button"
            className="b quiet sm"
            onClick={() => add({ type: 'tool_argument', config: exampleOf(catalog, 'tool_argument') })}
          >
            <Icon name="plus" size={14} />
            Condition
          </button>
          <button
            type="button"
            className="b quiet sm"
            onClick={() =>
              add({
                type: 'any',
                config: { conditions: [{ type: 'tool_name', config: exampleOf(catalog, 'tool_name') }] },
              })
            }
          >
            <Icon name="plus" size={14} />
            Group
          </button>
        </span>
      </div>
    );
  }
  if (value.type === 'not') {
    const [inner] = listOf([value.config.condition]);
    return (
      <div className="grp">
        {head}
        {inner !== undefined && (
          <ConditionBuilder
            catalog={catalog}
            value={inner}
            onChange={(condition) => onChange({ type: 'not', config: { condition } })}
            path={`${path}.condition.config`}
            problems={problems}
            types={nested(catalog)}
          />
        )}
      </div>
    );
  }
  const wrong = problems.filter((problem) => problem.path === path);
  return (
    <div className="cond">
      {head}
      {entry !== undefined && <p className="hint">{entry.description}</p>}
      {value.type === 'expression' ? (
        <Suspense fallback={<div className="cel">{asText(value.config.expression)}</div>}>
          <CelField
            value={asText(value.config.expression)}
            onChange={(expression) => onChange({ type: 'expression', config: { expression } })}
            problems={problems.filter((problem) => problem.path.startsWith(path))}
          />
        </Suspense>
      ) : (
        entry !== undefined && (
          <SchemaFields
            schema={entry.schema as Schema}
            value={value.config}
            onChange={(config) => onChange({ type: value.type, config })}
            path={path}
            problems={problems}
          />
        )
      )}
      {wrong.map((problem) => (
        <span key={problem.message} className="hint bad">
          {sentence(problem.message)}
        </span>
      ))}
    </div>
  );
}

function listOf(value: unknown): Condition[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown): Condition[] => {
    if (typeof one !== 'object' || one === null || !('type' in one) || typeof one.type !== 'string') return [];
    const config =
      'config' in one && typeof one.config === 'object' && one.config !== null
        ? (one.config as Record<string, unknown>)
        : {};
    return [{ type: one.type, config }];
  });
}

function exampleOf(catalog: Catalog, type: string): Record<string, unknown> {
  return { ...catalog.conditions.find((one) => one.type === type)?.example };
}

/** Groups take along what was there; anything else begins with its example. */
function startOf(catalog: Catalog, type: string, before: Condition): Record<string, unknown> {
  if (type === 'all' || type === 'any')
    return { conditions: before.type === 'all' || before.type === 'any' ? before.config.conditions : [before] };
  if (type === 'not') return { condition: before };
  return exampleOf(catalog, type);
}

/** What can stand inside a group: everything that is asked about a call. */
function nested(catalog: Catalog): string[] {
  return catalog.conditions.filter(({ phases }) => phases.includes('decision')).map(({ type }) => type);
}
