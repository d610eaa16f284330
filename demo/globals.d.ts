/** Version of the package, put in by the build. */
declare const __TOKENGLASS_VERSION__: string;
