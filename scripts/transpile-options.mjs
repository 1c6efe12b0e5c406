/** Options of SWC for every place that turns our TypeScript into JavaScript. Decorators and parameter properties need more than Node's type stripping. */
export const TRANSPILE = {
  jsc: {
    target: 'es2024',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
  module: { type: 'es6' },
};
