import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';
import { type Choice, Menu } from './menu.tsx';

/** Filter field of a list; `/` focuses it. */
export function FilterField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <span className="in search">
      <Icon name="search" size={14} />
      <input
        data-filter
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value || undefined)}
      />
      <kbd>/</kbd>
    </span>
  );
}

/** Filter of a list: a menu, or a removable chip if a value is selected. */
export function FilterChip({
  name,
  value,
  choices,
  onChange,
  show,
}: {
  name: string;
  value: string | undefined;
  choices: readonly Choice[];
  onChange: (value: string | undefined) => void;
  show?: ReactNode;
}) {
  if (value !== undefined) {
    return (
      <button
        type="button"
        className="chip on"
        aria-label={`${name} ${value}: remove this filter`}
        onClick={() => onChange(undefined)}
      >
        {name} <b>{show ?? choices.find(({ id }) => id === value)?.name ?? value}</b>
        <span className="x">
          <Icon name="x" size={12} />
        </span>
      </button>
    );
  }
  return (
    <Menu label={`${name}: any`} choices={choices} onChoose={onChange}>
      {name} <b>any</b>
      <Icon name="down" size={12} />
    </Menu>
  );
}

/** Shows the number of new rows that are held back. */
export function NewRows({ waiting, onShow }: { waiting: number; onShow: () => void }) {
  if (waiting === 0) return null;
  return (
    <button type="button" className="b sm new" onClick={onShow}>
      <Icon name="up" size={12} />
      {waiting} new
    </button>
  );
}
