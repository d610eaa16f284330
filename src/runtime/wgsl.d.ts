/** WGSL as text: Vite and the test runner turn `?raw` into the file's content. */
declare module '*.wgsl?raw' {
  const code: string;
  export default code;
}
