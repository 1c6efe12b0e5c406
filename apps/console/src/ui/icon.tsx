import sprite from './sprite.svg?raw';

/** All icons of the page. Icons are from Lucide (ISC); state marks are our own. */
export function Sprite() {
  // A constant file of this package without user data.
  // biome-ignore lint/security/noDangerouslySetInnerHtml: a constant
  return <div hidden aria-hidden="true" dangerouslySetInnerHTML={{ __html: sprite }} />;
}

export function Icon({
  name,
  size = 16,
  className = '',
}: {
  name: string;
  size?: 11 | 12 | 14 | 16 | 18 | 20;
  className?: string;
}) {
  const sized = size === 16 ? 'i' : size === 14 ? 'i14' : size === 12 ? 'i12' : 'i';
  return (
    <svg className={`${sized} ${className}`} aria-hidden="true">
      <use href={`#${name}`} />
    </svg>
  );
}
