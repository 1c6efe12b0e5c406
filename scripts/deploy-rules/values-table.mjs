import { isMap, isScalar, parseDocument } from 'yaml';

const HEAD = `# Values of the chart

Generated from \`values.yaml\` by \`node scripts/render-kubernetes.mjs\`. Do not edit. \`values.schema.json\` has the types and rejects
unknown names.

| Value | Default | |
|---|---|---|
`;
const MAX_DEFAULT_CHARS = 120;

/** The table of all values: path, default, and the comment above it or above the map that it is in. */
export function renderValuesTable(text) {
  const document = parseDocument(text);
  return HEAD + collectRows(document.contents, []).map(formatRow).join('');
}

function collectRows(map, path) {
  return map.items.flatMap(({ key, value }) => {
    const at = [...path, key.value];
    const comment = key.commentBefore ?? (map.items[0].key === key ? map.commentBefore : undefined);
    // A map in braces or without entries is one value.
    const isBlock = isMap(value) && !value.flow && value.items.length > 0;
    if (!isBlock) return [{ path: at, value, comment }];
    const rows = collectRows(value, at);
    return comment === undefined ? rows : [{ path: at, comment }, ...rows];
  });
}

function formatRow({ path, value, comment = '' }) {
  // The first comment of the file is about all.
  const said = (comment.split(/\n\s*\n/).at(-1) ?? '')
    .replaceAll('\n', ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll('|', '\\|');
  return `| \`${path.join('.')}\` | ${formatDefault(value)} | ${said} |\n`;
}

function formatDefault(value) {
  if (value === undefined) return '';
  const json = JSON.stringify(isScalar(value) ? value.value : value.toJSON());
  return json.length > MAX_DEFAULT_CHARS ? 'see `values.yaml`' : `\`${json.replaceAll('|', '\\|')}\``;
}
