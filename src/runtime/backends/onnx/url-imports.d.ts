/** `import url from 'x?url'`: the URL at which the build or the test server serves the file x as it is. */
declare module '*?url' {
  const url: string;
  export default url;
}
