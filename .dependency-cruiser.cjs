/** The arrow of imports: shared <- runtime <- worker <- ui <- demo; inside runtime, engine knows no GPU and backends no requests. */
const TESTS = '\\.test\\.ts$|/testing/';
const forbid = (name, from, to, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from, pathNot: TESTS },
  to: { path: to },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    forbid('shared-imports-nothing-of-ours', '^src/shared/', '^src/(?!shared/)|^demo/', 'shared is the bottom layer'),
    forbid('runtime-below-worker', '^src/runtime/', '^src/(worker|ui)/|^demo/', 'runtime knows no worker and no page'),
    forbid('worker-below-ui', '^src/worker/', '^src/ui/|^demo/', 'the worker layer knows no elements'),
    forbid('ui-below-demo', '^src/ui/', '^demo/', 'elements know no demo'),
    forbid(
      'engine-knows-no-gpu',
      '^src/runtime/engine/',
      '^src/runtime/backends/(?!backend\\.ts|testing/)',
      'engine sees the Backend contract only',
    ),
    forbid(
      'backends-know-no-requests',
      '^src/runtime/backends/',
      '^src/runtime/(load|request|engine|faces|metrics|bench)/',
      'backends see tokens only',
    ),
    forbid(
      'metrics-are-given-events',
      '^src/runtime/metrics/',
      '^src/runtime/(load|request|engine|faces|backends|text|models|prefix-cache)/',
      'metrics never reach into engine or backends',
    ),
    forbid(
      'request-is-what-every-engine-needs',
      '^src/runtime/request/',
      '^src/runtime/(load|faces|backends|adapters|models|bench)/',
      'a request knows neither the engine that answers it nor who asks',
    ),
    forbid(
      'text-knows-no-engine',
      '^src/runtime/text/',
      '^src/runtime/(load|request|engine|faces|backends|adapters|prefix-cache|metrics|bench)/',
      'text is ids and strings',
    ),
    forbid(
      'composition-is-on-top',
      '^src/runtime/(engine|faces|text|models|prefix-cache|backends|adapters|metrics|request)/',
      '^src/runtime/load/',
      'only the worker and the bench lab compose engines',
    ),
    {
      name: 'no-test-code-in-product',
      severity: 'error',
      from: { path: '^src/', pathNot: TESTS },
      to: { path: TESTS },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true, pathNot: '\\?' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['import', 'browser', 'default'], exportsFields: ['exports'] },
  },
};
