import tseslint from 'typescript-eslint';

/** Bare errors say nothing a caller can act on: TokenglassError with a code, or TypeError/RangeError for wrong arguments. */
const bareError = {
  selector: "NewExpression[callee.name='Error']",
  message: 'Use TokenglassError with a code, or TypeError / RangeError for a wrong argument.',
};

export default tseslint.config(
  {
    ignores: [
      'tools/types/consumer/',
      'examples/',
      'dist/',
      'dist-demo/',
      'dist-docs/',
      'node_modules/',
      'models/',
      '.cache/',
      '**/*.mjs',
      '**/*.js',
      '**/*.cjs',
      '**/*.tsx',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-non-null-assertion': 'off', // indices of typed arrays whose bounds the loop states
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_', argsIgnorePattern: '^_' }],
      'no-console': ['error', { allow: ['warn', 'error'] }],
      'no-restricted-syntax': ['error', bareError],
    },
  },
  {
    files: ['**/*.test.ts', '**/testing/**', 'tools/**', 'demo/**'],
    rules: { 'no-restricted-syntax': 'off', 'no-console': 'off', '@typescript-eslint/no-unused-expressions': 'off' },
  },
);
