import { shortId } from '../figures/figures.ts';
import { Icon } from './icon.tsx';
import { useFlash } from './moment.tsx';

interface CopyProps {
  /** A function if the text is expensive to build. */
  readonly text: string | (() => string);
  readonly label?: string;
  readonly quiet?: boolean;
}

export function Copy({ text, label = 'Copy', quiet = true }: CopyProps) {
  const [done, flash] = useFlash();
  return (
    <button
      type="button"
      className={`b sm ${quiet ? 'quiet' : ''}`}
      onClick={() => void navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(flash)}
    >
      <Icon name={done ? 'check' : 'copy'} size={14} />
      {done ? 'Copied' : label}
    </button>
  );
}

/** A short id with the whole id on hover and on copy. */
export function Id({ id }: { id: string }) {
  return (
    <span className="mono" title={id}>
      {shortId(id)}
    </span>
  );
}
