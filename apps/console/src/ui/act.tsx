import type { ReactNode } from 'react';
import { type Scope, useMay } from '../shell/me.tsx';

interface ActProps {
  readonly scope?: Scope;
  readonly kind?: string;
  readonly disabled?: boolean;
  readonly onPress: () => void;
  readonly children: ReactNode;
  readonly label?: string;
  readonly title?: string | undefined;
}

/** A button that needs a scope. Without it, the button is visible but disabled, with the reason. */
export function Act({ scope = 'read', kind = '', disabled = false, onPress, children, label, title }: ActProps) {
  const { may, why } = useMay(scope);
  const off = !may || disabled;
  return (
    <button
      type="button"
      className={`b ${kind}`}
      aria-disabled={off || undefined}
      title={why ?? title}
      aria-label={label}
      onClick={() => off || onPress()}
    >
      {children}
    </button>
  );
}
