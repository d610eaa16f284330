// Docstrings that our elements inherit from lit link to `css`, which is lit's and not in our reference.
export function load({ converter }) {
  converter.addUnknownSymbolResolver(({ symbolReference }) =>
    symbolReference?.path?.[0]?.path === 'css' ? 'https://lit.dev/docs/api/styles/#css' : undefined,
  );
}
