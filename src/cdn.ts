/** One module for a `<script type="module">`: the engine and the elements, from any origin, without a bundler or an import map. */
export * from './index.ts';
export * from './ui/index.ts';
