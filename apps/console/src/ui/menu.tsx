import type { ReactNode } from 'react';
import { Menu as AriaMenu, Button, MenuItem, MenuTrigger, Popover } from 'react-aria-components';

export interface Choice {
  readonly id: string;
  readonly name: ReactNode;
  readonly hint?: string;
}

/** A button with a menu of actions or choices. */
export function Menu({
  label,
  className = 'chip',
  children,
  choices,
  onChoose,
  selected,
}: {
  label: string;
  className?: string;
  children: ReactNode;
  choices: readonly Choice[];
  onChoose: (id: string) => void;
  selected?: string;
}) {
  return (
    <MenuTrigger>
      <Button className={className} aria-label={label}>
        {children}
      </Button>
      <Popover className="pop">
        <AriaMenu className="menu" aria-label={label} onAction={(key) => onChoose(String(key))}>
          {choices.map(({ id, name, hint }) => (
            <MenuItem
              key={id}
              id={id}
              textValue={typeof name === 'string' ? name : id}
              className={id === selected ? 'mi on' : 'mi'}
            >
              {name}
              {hint !== undefined && <span className="t3 mih">{hint}</span>}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
